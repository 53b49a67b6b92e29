// A test case to paste: complete, for vitest or node:test.
import { basename, extname } from 'node:path';

/** The text of a test that shows a finding again. */
export function testCase({ name, at, framework, shown, factory, kind, talk, path, runner = 'vitest' }) {
  const file = shown ?? 'your-hook.js';
  const identifier = name === undefined || name === 'default' ? at : name.split('.')[0];
  const imported =
    name === 'default' || name === undefined ? `import ${identifier} from` : `import { ${identifier} } from`;
  const source = `./${basename(file).slice(0, -extname(file).length)}${['.ts', '.tsx', '.mts'].includes(extname(file)) ? '' : extname(file)}`;
  const own = /^(.*):(\w+)$/.exec(framework)?.slice(1);
  const made = `${name?.includes('.') ? name : identifier}${factory ? '()' : ''}`;
  return [
    runner === 'vitest' ? "import { test } from 'vitest';" : "import test from 'node:test';",
    "import { checkHook } from '@agentcore/check-hook';",
    `${imported} '${source}';`,
    ...(own ? [`import { ${own[1]} } from '${own[0]}';`] : []),
    '',
    `test('${at} has no ${kind}', async () => {`,
    '  await checkHook({',
    `    framework: ${own ? own[1] : `'${framework}'`},`,
    `    at: '${at}',`,
    `    path: '${path}',`,
    `    hooks: () => ({ ${at}: ${made} }),`,
    `    kinds: ['${kind}'],`,
    ...(kind.startsWith('harmless') ||
    ['not-isolated', 'opaque', 'undetermined', 'not-idempotent'].includes(kind)
      ? ["    failOn: 'note',"]
      : []),
    `    conversations: [${indented(talk)}],`,
    '  });',
    runner === 'vitest' ? '}, 60_000);' : '});',
    '',
  ].join('\n');
}

const indented = (talk) =>
  JSON.stringify(talk, null, 2)
    .split('\n')
    .map((line, index) => (index === 0 ? line : `    ${line}`))
    .join('\n');

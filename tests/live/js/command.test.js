// The command: exit codes, formats, options, suppressions, releases, and what it leaves behind.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after } from 'node:test';
import { packageFile, project, TOY } from './setup.js';

const bin = packageFile('bin/check-hook.js');
const folder = mkdtempSync(join(tmpdir(), 'check-hook-'));
after(() => rmSync(folder, { recursive: true, force: true }));
mkdirSync(join(folder, 'src'));
symlinkSync(join(project(6), 'node_modules'), join(folder, 'node_modules'));
writeFileSync(join(folder, 'package.json'), '{"type": "commonjs"}');

function file(name, text) {
  writeFileSync(join(folder, name), text);
  return name;
}

function run(...argv) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [bin, 'check-hook', ...argv], {
    cwd: folder,
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

const check = (hook, ...more) => run(hook, '--in', 'ai', '--at', 'prepareStep', '--examples', '6', ...more);
const parsed = ({ status, stdout, stderr }) => {
  assert.equal(stderr, '');
  return { ...JSON.parse(stdout), status };
};
const json = (hook, ...more) => parsed(check(hook, '--json', ...more));
// What is alike in all frameworks: a loop that needs no package starts in a third of the time.
const checkToy = (hook, ...more) => run(hook, ...TOY, '--examples', '12', ...more);
const toy = (hook, ...more) => parsed(checkToy(hook, '--json', ...more));

const POLLUTING = file(
  'src/polluting.ts',
  `
import 'server-only';
import type { PrepareStepFunction } from 'ai';
import { mark } from './mark';
import prompt from './prompt.txt';
enum Role { User = 'user' }
export const prepareStep: PrepareStepFunction<any> = ({ messages }) => {
  for (const message of messages) if (message.role === Role.User) mark(message, prompt);
  return {};
};
`,
);
file(
  'src/mark.ts',
  `export function mark(message: any, note: string): void {\n  message.providerOptions = { app: { note } };\n}\n`,
);
file('src/prompt.txt', 'seen');
const WRITING = file(
  'writing.mjs',
  "export function beforeModel({ messages }) {\n  messages[0].note = 'x';\n}\n",
);
const CLEAN = file('clean.cjs', 'exports.prepareStep = ({ messages }) => ({ messages: [...messages] });');

test('a fault is exit 1, with the line in the TypeScript that the hook imports', () => {
  const report = json(`${POLLUTING}#prepareStep`);
  assert.deepEqual([report.status, report.verdict], [1, 'fault']);
  assert.deepEqual([report.findings[0].line.file, report.findings[0].line.line], ['src/mark.ts', 2]);
  assert.equal(report.framework.version, '6.0.134');
});
test('clean is exit 0, also in CommonJS', () => assert.equal(check(`${CLEAN}#prepareStep`).status, 0));
test('nothing is left beside the hook', () =>
  assert.deepEqual(readdirSync(join(folder, 'src')).sort(), ['mark.ts', 'polluting.ts', 'prompt.txt']));

test('wrong usage is exit 2 and says what is wrong', () => {
  for (const [argv, said] of [
    [['nowhere.ts#x', '--in', 'ai', '--at', 'prepareStep'], /nowhere\.ts: there is no such file/],
    [[`${CLEAN}#prepareStep`, '--in', 'ai', '--at', 'prepare'], /it has prepareStep/],
    [[`${CLEAN}#prepareStep`, '--in', 'unknown', '--at', 'prepareStep'], /there is no such framework/],
    [[`${CLEAN}#prepareStep`], /--at is missing/],
    [
      [`${CLEAN}#prepareStep`, '--in', 'ai', '--at', 'prepareStep', '--kinds', 'wrote'],
      /there is no kind wrote/,
    ],
    [[`${CLEAN}#prepareStep`, '--in', 'ai', '--at', 'prepareStep', '--examples', 'many'], /a whole number/],
    [[`${CLEAN}#prepareStep`, '--in', 'ai', '--at', 'prepareStep', '--json', '--sarif'], /only one/],
    [[`${CLEAN}#prepareStep`, '--in', 'ai', '--at', 'prepareStep', '--nonsense'], /nonsense/],
  ]) {
    const { status, stderr } = run(...argv);
    assert.equal(status, 2, argv.join(' '));
    assert.match(stderr, said);
  }
});
test('not judged is exit 3 with the reason and what to do', () => {
  for (const [hook, reason, said] of [
    [`${WRITING}#another`, 'no-hook', /it exports .*beforeModel/],
    [`${file('broken.ts', 'export const beforeModel = (')}#beforeModel`, 'not-loadable', /broken\.ts:1/],
    [`${file('throws.mjs', 'throw new Error("no key")')}#beforeModel`, 'not-loadable', /no key/],
    [`${file('value.mjs', 'export const beforeModel = 5')}#beforeModel`, 'no-hook', /--factory/],
    [
      `${file('maker.mjs', 'export const make = () => ({ messages }) => void messages.pop()')}#make`,
      'no-hook',
      /--factory/,
    ],
  ]) {
    const report = toy(hook);
    assert.deepEqual(
      [report.status, report.verdict, report.not_judged?.reason],
      [3, null, reason],
      JSON.stringify(report.not_judged),
    );
    assert.match(report.not_judged.message, said);
  }
  const elsewhere = json(`${CLEAN}#prepareStep`, '--project', tmpdir());
  assert.deepEqual([elsewhere.status, elsewhere.not_judged.reason], [3, 'no-framework']);
});
test('--list names frameworks, boundaries and versions', () =>
  assert.match(run('--list').stdout, /ai {2}versions tried: 5\.0\.277, 6\.0\.134, 7\.0\.173[^]*middleware/));
test('--project says which release is judged', () => {
  const reminder = file(
    'reminder.mjs',
    "export const prepareStep = ({ messages }) => ({ messages: [...messages, { role: 'user', content: 'be brief' }] });",
  );
  assert.equal(json(`${reminder}#prepareStep`).verdict, 'clean');
  const on7 = json(`${reminder}#prepareStep`, '--project', project(7));
  assert.deepEqual([on7.framework.version, on7.findings[0].kind], ['7.0.173', 'accumulates']);
});

test('hooks come as exports, defaults, members, classes, objects and from factories', () => {
  const forms = file(
    'forms.mjs',
    `
const hook = ({ messages }) => { messages[0].note = 'x'; };
export default hook;
export const settings = { beforeModel: hook };
export const make = () => hook;
export const makeObject = async () => ({ beforeModel: hook });
export class Hook { beforeModel(options) { return this.run(options); } run(options) { return hook(options); } }
`,
  );
  for (const [name, ...more] of [
    ['default'],
    ['settings'],
    ['settings.beforeModel'],
    ['make', '--factory'],
    ['makeObject', '--factory'],
    ['Hook'],
  ]) {
    assert.equal(toy(`${forms}#${name}`, ...more).verdict, 'fault', name);
  }
  assert.equal(toy(forms).verdict, 'fault');
});
test('--kinds counts only these, and --fail-on note makes notes fail', () => {
  const noted = file(
    'noted.mjs',
    'export const prepareStep = ({ messages }) => { messages.push({ role: "user", content: "x" }); return { messages }; };',
  );
  assert.deepEqual([json(`${POLLUTING}#prepareStep`, '--kinds', 'raises,cuts-pair').status], [0]);
  const note = json(`${noted}#prepareStep`);
  assert.deepEqual([note.status, note.verdict], [0, 'note']);
  assert.equal(check(`${noted}#prepareStep`, '--fail-on', 'note').status, 1);
});
test('--texts and --from give what the hook reacts to', () => {
  const reacts = file(
    'reacts.mjs',
    'const hook = ({ messages }) => { for (const m of messages) if (JSON.stringify(m.content).includes("XYZZY")) m.seen = true; }; export { hook as prepareStep, hook as beforeModel };',
  );
  assert.equal(toy(`${reacts}#beforeModel`).verdict, 'clean');
  assert.equal(toy(`${reacts}#beforeModel`, '--texts', 'the word XYZZY').verdict, 'fault');
  file(
    'recorded.json',
    JSON.stringify([
      { role: 'user', content: 'hello' },
      {
        role: 'assistant',
        content: [{ type: 'tool-call', toolCallId: 'c', toolName: 'find', input: { q: 1 } }],
      },
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: 'c',
            toolName: 'find',
            output: { type: 'text', value: 'XYZZY' },
          },
        ],
      },
      { role: 'assistant', content: 'so' },
    ]),
  );
  assert.equal(json(`${reacts}#prepareStep`, '--from', 'recorded.json').verdict, 'fault');
  file(
    'talk.json',
    JSON.stringify({
      format: 1,
      turns: [
        {
          messages: [{ role: 'user', parts: [{ type: 'text', text: 'XYZZY' }] }],
          answers: [{ parts: [{ type: 'text', text: 'so' }] }],
        },
      ],
    }),
  );
  assert.equal(toy(`${reacts}#beforeModel`, '--from', 'talk.json').verdict, 'fault');
  assert.equal(checkToy(`${reacts}#beforeModel`, '--from', 'package.json').status, 2);
});
test('the same seed gives the same report', () => {
  const [one, other] = [1, 2].map(() => toy(`${WRITING}#beforeModel`, '--seed', '40'));
  assert.deepEqual(one.conversations, other.conversations);
  assert.deepEqual(one.findings[0].counts, other.findings[0].counts);
  assert.equal(one.seed, 40);
});

test('a suppression holds for its releases, with a reason; unused ones are reported', () => {
  const text = (comment) =>
    `export const prepareStep = ({ messages }) => {\n  ${comment}\n  messages[0].note = 'x';\n};\n`;
  const suppressed = json(
    `${file('s1.mjs', text('// agentcore: allow write for=ai>=6,<7 -- the note is ours'))}#prepareStep`,
  );
  assert.deepEqual(
    [suppressed.status, suppressed.verdict, suppressed.findings[0].suppressed.reason],
    [0, 'clean', 'the note is ours'],
  );
  const whole = `// agentcore: allow write for=ai>=6,<7 -- the note is ours\n${text('').replace(' => {', ' => {\n\n')}`;
  assert.deepEqual(json(`${file('s0.mjs', whole)}#prepareStep`).verdict, 'clean');
  const outside = json(
    `${file('s2.mjs', text('// agentcore: allow write for=ai<6 -- the note is ours'))}#prepareStep`,
  );
  assert.deepEqual([outside.status, outside.suppressions.unused.length], [1, 1]);
  for (const bad of [
    '// agentcore: allow write -- no releases',
    '// agentcore: allow write for=ai<7',
    '// agentcore: allow everything for=ai<7 -- x',
  ]) {
    assert.equal(check(`${file('s3.mjs', text(bad))}#prepareStep`).status, 2, bad);
  }
});
test('JUnit and SARIF say the same as JSON', () => {
  const junit = checkToy(`${WRITING}#beforeModel`, '--junit');
  assert.equal(junit.status, 1);
  assert.match(
    junit.stdout,
    /<testsuite name="check-hook" tests="1" failures="1" errors="0">[^]*type="write"/,
  );
  const sarif = JSON.parse(checkToy(`${WRITING}#beforeModel`, '--sarif').stdout);
  const [result] = sarif.runs[0].results;
  assert.deepEqual(
    [result.ruleId, result.level, result.locations[0].physicalLocation.region.startLine],
    ['write', 'error', 2],
  );
});
test('the test that is printed fails as long as the hook does', async () => {
  const {
    findings: [{ test: text }],
  } = json(`${POLLUTING}#prepareStep`);
  assert.match(text, /import \{ checkHook \} from '@agentcore\/check-hook';/);
  const asNode = text
    .replace("'vitest'", "'node:test'")
    .replace("'@agentcore/check-hook'", JSON.stringify(packageFile('index.js')))
    .replace("'./polluting'", "'./bundled.mjs'");
  // Only the check itself knows what stands for `server-only` outside of a server.
  const source = readFileSync(join(folder, POLLUTING), 'utf8');
  const plain = file('src/plain.ts', source.replace("import 'server-only';", ''));
  const { esbuild } = await import(packageFile('src/tools.js'));
  await (
    await esbuild()
  ).build({
    entryPoints: [join(folder, plain)],
    bundle: true,
    format: 'esm',
    platform: 'node',
    loader: { '.txt': 'text' },
    packages: 'external',
    outfile: join(folder, 'bundled.mjs'),
    logLevel: 'silent',
  });
  file('printed.mjs', asNode);
  const done = spawnSync(process.execPath, ['--test', 'printed.mjs'], {
    cwd: folder,
    encoding: 'utf8',
    // Node leaves a test run inside of a test out.
    env: { ...process.env, NODE_TEST_CONTEXT: undefined },
  });
  assert.equal(done.status, 1);
  assert.match(done.stdout, /prepareStep writes to|HookFaultError/);
});
test('a module that a killed check left is removed by the next one', async () => {
  const hangs = file('src/hangs.mjs', 'export const prepareStep = () => { for (;;) {} };');
  const child = spawn(process.execPath, [bin, `${hangs}#prepareStep`, '--in', 'ai', '--at', 'prepareStep'], {
    cwd: folder,
    stdio: 'ignore',
  });
  const left = () => readdirSync(join(folder, 'src')).filter((name) => name.startsWith('.agentcore'));
  while (left().length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  child.kill('SIGKILL');
  await new Promise((resolve) => child.once('exit', resolve));
  assert.equal(left().length, 1);
  check(`${POLLUTING}#prepareStep`, '--examples', '1');
  assert.deepEqual(left(), []);
});
test("an adapter of one's own is named by its file", () => {
  const hook = file(
    'own.ts',
    'export class Hook { beforeModel({ messages }: any) { messages.push({ role: "user", content: [] }); } }',
  );
  const own = run(`${hook}#Hook`, ...TOY, '--json');
  assert.deepEqual([own.status, JSON.parse(own.stdout).findings[0].kind], [1, 'write']);
  assert.ok(!existsSync(join(folder, 'x.txt')));
});

test('many conversations are judged in two processes, and their reports are one', () => {
  const check100 = (...more) => {
    const { stdout } = run(`${WRITING}#beforeModel`, ...TOY, '--json', ...more);
    return JSON.parse(stdout);
  };
  const whole = check100('--examples', '100');
  const halves = [check100('--examples', '50'), check100('--examples', '50', '--seed', '50')];
  const sum = (read) => read(halves[0]) + read(halves[1]);
  assert.deepEqual(
    whole.findings.map(({ kind, line }) => [kind, line.line]),
    [['write', 2]],
  );
  const seen = halves.flatMap(({ findings }) => findings[0].seen);
  assert.deepEqual(new Set(whole.findings[0].seen), new Set(seen));
  assert.equal(
    whole.findings[0].counts.affected,
    sum(({ findings }) => findings[0].counts.affected),
  );
  for (const name of ['run', 'judged', 'errors', 'calls'])
    assert.equal(
      whole.conversations[name],
      sum(({ conversations }) => conversations[name]),
    );
});

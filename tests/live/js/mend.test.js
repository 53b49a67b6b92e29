// isolate, strict, the compliance suite on the package's own adapters, and the types.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import test from 'node:test';
import { boundaries } from './hooks.js';
import { complying, judged, majors, packageFile, picked, project, report, types } from './setup.js';

const { isolate, strict } = await import(packageFile('index.js'));
const { compliance } = await import(packageFile('compliance.js'));
const ai = await import(packageFile('adapters/ai.js'));
const { adapter } = await import(packageFile('adapters/skeleton.js'));
const { entryOf } = await import(packageFile('src/in-process.js'));
const { readJson } = await import(packageFile('src/files.js'));

const part = () => ({ type: 'text', text: 'ann@example.com' });
const messages = () => [
  { role: 'user', content: [part()] },
  { role: 'assistant', content: [part()] },
];

test('an isolated hook returns the same and leaves its arguments as they are', () => {
  const given = messages();
  const made = isolate(boundaries.prepareStep.polluting(), { at: 'prepareStep' })({ messages: given });
  assert.equal(made.messages[0].content[0].text, '***');
  assert.deepEqual(given, messages());
});
test("what an isolated hook leaves unchanged is the framework's own object", () => {
  const given = messages();
  const made = isolate(({ messages: [first, ...rest] }) => ({ messages: [...rest, first] }), {
    at: 'prepareStep',
  })({ messages: given });
  assert.equal(made.messages[0], given[1]);
  assert.equal(made.messages[1], given[0]);
});
test('an isolated hook stays async or sync, and its errors are its own', async () => {
  const options = { at: 'prepareStep' };
  assert.equal(isolate(() => 5, options)({}), 5);
  assert.equal(await isolate(async () => 5, options)({}), 5);
  assert.throws(
    () =>
      isolate(() => {
        throw new RangeError('x');
      }, options)({}),
    RangeError,
  );
  await assert.rejects(
    isolate(async () => {
      throw new RangeError('x');
    }, options)({}),
    RangeError,
  );
});
test('strict refuses what writes to bytes, maps, sets and dates, and leaves reading to native functions', () => {
  const given = { image: new Uint8Array([104, 105]), map: new Map(), set: new Set([1]), date: new Date(5) };
  const through = (work) =>
    strict(({ messages: [{ content }] }) => void work(content), { at: 'prepareStep' })({
      messages: [{ role: 'user', content: given }],
    });
  for (const work of [
    ({ image }) => image.fill(0),
    ({ map }) => map.set('key', 1),
    ({ set }) => set.delete(1),
    ({ date }) => date.setTime(0),
  ])
    assert.throws(() => through(work), { name: 'ReadOnlyError', message: /is read-only/ });
  through(({ image, map, set, date }) => {
    assert.equal(new TextDecoder().decode(image), 'hi');
    assert.deepEqual([map.size, [...set], date.getTime()], [0, [1], 5]);
    image.slice().fill(0);
    new Map(map).set('key', 1);
  });
});
test('async generators are isolated item by item', async () => {
  const loop = { ...adapter, boundaries: { around: { when: 'before', params: ['messages', 'next'] } } };
  const given = messages();
  const hook = async function* (own, next) {
    own[0].content[0].text = 'x';
    for await (const item of next(own)) {
      item.seen = true;
      yield item;
    }
  };
  const items = [];
  const chunk = { text: 'a' };
  for await (const item of isolate(hook, { framework: loop, at: 'around' })(given, async function* (own) {
    items.push(own[0].content[0].text);
    yield chunk;
  }))
    items.push(item);
  assert.deepEqual(items, ['x', { text: 'a', seen: true }]);
  assert.deepEqual(given, messages());
  assert.deepEqual(chunk, { text: 'a' });
});
test('handles stay themselves and writes through them are taken back; outlets are taken over', () => {
  const loop = {
    ...adapter,
    boundaries: {
      event: {
        when: 'before',
        handles: ([{ agent }]) => [agent],
        outlets: ([event]) => [[event, 'messages']],
      },
    },
  };
  const event = { agent: { messages: messages() }, messages: messages() };
  isolate(
    (own) => {
      assert.equal(own.agent, event.agent);
      own.agent.messages.pop();
      own.messages = own.messages.slice(1);
      own.messages[0].role = 'system';
    },
    { framework: loop, at: 'event' },
  )(event);
  assert.equal(event.agent.messages.length, 2);
  assert.deepEqual(event.messages, [{ role: 'system', content: [part()] }]);
});
test('copies cost little: no more than the messages that a step adds', () => {
  const given = Array.from({ length: 400 }, messages).flat();
  const hook = isolate(({ messages: all }) => ({ messages: all.slice(-5) }), { at: 'prepareStep' });
  hook({ messages: given });
  const started = performance.now();
  for (let step = 0; step < 20; step++) hook({ messages: [...given, { role: 'user', content: `${step}` }] });
  const each = (performance.now() - started) / 20;
  assert.ok(each < 100, `${each} ms`);
});

for (const [at, { polluting }] of picked(Object.entries(boundaries), 2)) {
  test(`strict names the line of the polluting ${at}`, async () => {
    const {
      findings: [raises],
    } = await report({
      at,
      project: project(6),
      hooks: () => ({ [at]: strict(polluting(), { at }) }),
      texts: ['write to ann@example.com'],
    });
    assert.deepEqual([raises.kind, raises.cause], ['raises', 'throws']);
    assert.match(raises.message, /TypeError/);
    assert.match(raises.line.file, /hooks\.js$/);
  });
}
test('strict finds what is edited after it was returned, and is off in production', async () => {
  const own = { role: 'user', content: 'x' };
  const hook = strict(
    () => {
      own.content += 'y';
      return { messages: [own] };
    },
    { at: 'prepareStep' },
  );
  hook({ messages: [] });
  assert.throws(() => hook({ messages: [] }), TypeError);
  process.env.NODE_ENV = 'production';
  assert.equal(strict(own.call, { at: 'prepareStep' }), own.call);
  delete process.env.NODE_ENV;
});
test('an isolated hook is clean in the check', async () =>
  assert.equal(
    (await judged(() => isolate(boundaries.prepareStep.polluting(), { at: 'prepareStep' }), 7)).verdict,
    'clean',
  ));

test('the skeleton complies', async () =>
  assert.deepEqual(
    (await compliance(adapter)).checks.filter(({ why }) => why),
    [],
  ));
for (const major of picked(majors, 1)) {
  test(`the adapter of ai ${major} complies`, async () => {
    const folder = join(project(major), 'node_modules', 'ai');
    const manifest = readJson(join(folder, 'package.json'));
    const sdk = await import(pathToFileURL(join(folder, entryOf(manifest, folder))));
    assert.deepEqual(
      (await compliance(ai, { sdk, version: manifest.version, examples: complying })).checks.filter(
        ({ why }) => why,
      ),
      [],
    );
  });
}
test('a check that is left out although it passes is a failure', async () => {
  const { checks } = await compliance(adapter, {
    without: { 'beforeModel: a hook that does nothing is clean': 'it has no such hooks' },
  });
  assert.match(checks.find(({ why }) => why).why, /take it back in/);
});

test('read-only types flag the write, and let a right hook pass', () => {
  const folder = mkdtempSync(join(project(6), 'types-'));
  try {
    symlinkSync(packageFile(''), join(folder, 'check-hook'));
    writeFileSync(
      join(folder, 'hooks.ts'),
      `
import type { PrepareStepFunction } from 'ai';
import { readonlyHook, type ReadonlyHook } from './check-hook/index.js';
export const right: ReadonlyHook<PrepareStepFunction<any>> = ({ messages }) => ({ messages: [...messages, { role: 'user', content: 'x' }] });
export const passed: PrepareStepFunction<any> = readonlyHook<PrepareStepFunction<any>>(right);
export const wrong: ReadonlyHook<PrepareStepFunction<any>> = ({ messages }) => {
  messages.push({ role: 'user', content: 'x' });
  messages[0].role = 'user';
  return {};
};
`,
    );
    const { stdout } = spawnSync(
      process.execPath,
      [
        join(types, 'node_modules/typescript/bin/tsc'),
        '--noEmit',
        '--strict',
        '--skipLibCheck',
        '--module',
        'nodenext',
        '--target',
        'es2022',
        join(folder, 'hooks.ts'),
      ],
      { encoding: 'utf8' },
    );
    const lines = [...new Set([...stdout.matchAll(/hooks\.ts\((\d+),/g)].map(([, line]) => Number(line)))];
    assert.deepEqual(lines, [7, 8], stdout);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

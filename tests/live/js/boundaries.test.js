// At every boundary, on every major version, on both paths: a subtle polluting hook and a clean one are told apart. By itself a sample:
// a boundary on each major version, on one path, by turns; with AGENTCORE_WHOLE=1 all.
import assert from 'node:assert/strict';
import test from 'node:test';
import { boundaries, reminder, stateful } from './hooks.js';
import { examples, judged, kindsOf, majors, packageFile, picked, project, report, whole } from './setup.js';

const { isolate } = await import(packageFile('index.js'));

const PATHS = ['generate', 'stream'];
const named = Object.entries(boundaries);

for (const [turn, major] of majors.entries()) {
  // Of a sample every release has its own.
  const cases = picked(
    named.map(([at, hooks]) => [`${at} ${major}`, at, hooks]),
    1,
  );
  for (const [index, [, at, { polluting, clean, place }]] of cases.entries()) {
    for (const path of whole ? PATHS : [PATHS[(turn + index) % 2]]) {
      // Findings are rare in few conversations: a text that the hooks react to is put into many.
      const options = { at, project: project(major), path, texts: ['write to ann@example.com'], examples };
      test(`ai ${major}, ${path}: a polluting ${at} is a fault or a note with its place`, async () => {
        const found = (await report({ ...options, hooks: () => ({ [at]: polluting() }) })).findings;
        assert.equal(found.length, 1);
        assert.ok(['write', 'harmless-write'].includes(found[0].kind));
        assert.match(found[0].place, place);
        assert.ok(found[0].line?.file.endsWith('hooks.js'));
      });
      test(`ai ${major}, ${path}: a clean ${at} is clean`, async () => {
        const { verdict, conversations } = await report({ ...options, hooks: () => ({ [at]: clean() }) });
        assert.equal(verdict, 'clean');
        assert.ok(conversations.calls > 0);
      });
    }
    test(`ai ${major}: isolate makes the polluting ${at} clean`, async () => {
      const { verdict } = await report({
        at,
        project: project(major),
        hooks: () => ({ [at]: isolate(polluting(), { at }) }),
        texts: ['write to ann@example.com'],
      });
      assert.equal(verdict, 'clean');
    });
  }
  test(`ai ${major}: the polluting prepareStep is a fault, seen by the caller`, async () => {
    const {
      findings: [write],
    } = await judged(boundaries.prepareStep.polluting, major, { texts: ['write to ann@example.com'] });
    assert.equal(write.kind, 'write');
    assert.ok(write.seen.includes('caller'));
    assert.ok(!write.seen.includes('this-prompt'));
  });
  test(`ai ${major}: a stateful hook is silent`, async () =>
    assert.equal((await judged(stateful, major)).verdict, 'clean'));
}

test('the documented reminder is clean on ai 6 and accumulates on ai 7', async () => {
  assert.equal((await judged(reminder, 6)).verdict, 'clean');
  const on7 = await judged(reminder, 7);
  assert.deepEqual(kindsOf(on7), ['accumulates']);
  assert.equal(on7.verdict, 'fault');
});

test('a list that is pushed to is seen by this prompt on ai 6, and by later ones on ai 7', async () => {
  const push =
    () =>
    ({ messages }) =>
      void messages.push({ role: 'user', content: 'pushed' });
  for (const [major, seen] of [
    [6, ['this-prompt']],
    [7, ['this-prompt', 'later-prompts']],
  ]) {
    const {
      findings: [write],
    } = await judged(push, major);
    assert.equal(write.kind, 'write');
    assert.deepEqual(write.seen, seen);
  }
});

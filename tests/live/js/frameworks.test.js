// The frameworks other than the AI SDK: at every boundary a subtle polluting hook and a clean one are told apart, documented edits in place
// are clean, writes through live handles are found, and each adapter complies.
import assert from 'node:assert/strict';
import test from 'node:test';
import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { complying, kindsOf, packageFile, picked, report, root } from './setup.js';

const { adapterOf } = await import(packageFile('src/adapters.js'));
const { packageOf } = await import(packageFile('src/in-process.js'));
const { compliance } = await import(packageFile('compliance.js'));

const examples = Number(process.env.AGENTCORE_LIVE_EXAMPLES ?? 10);
// By the folder of tests/live/js/packages that has the release.
const FRAMEWORKS = {
  mastra: 'mastra',
  'langchain-js': 'langchain',
  strands: 'strands',
  'openai-agents-js': 'openai-agents',
};

// Hooks import messages of their framework: they lie where it is found.
async function hooksBeside(project, name) {
  const file = join(project, `hooks-${process.pid}.mjs`);
  copyFileSync(new URL(`./hooks/${name}.js`, import.meta.url), file);
  try {
    return await import(pathToFileURL(file));
  } finally {
    rmSync(file);
  }
}

// Findings are rare in few conversations: a text that the hooks react to is put into many.
const texts = ['write to ann@example.com'];

const tried = picked(Object.keys(FRAMEWORKS), 1);
for (const [name, folder] of Object.entries(FRAMEWORKS)) {
  const project = join(root, folder);
  const adapter = await adapterOf(name);
  const { boundaries, more = {}, stateful } = await hooksBeside(project, name);
  const judged = (at, make) =>
    report({ framework: name, at, project, texts, examples, hooks: () => ({ [at]: make() }) });

  test(`${name}: each boundary has a pair of hooks`, () =>
    assert.deepEqual(Object.keys(boundaries).sort(), Object.keys(adapter.boundaries).sort()));

  for (const [at, { polluting, clean, verdict: wanted = 'fault' }] of picked(Object.entries(boundaries), 1)) {
    test(`${name}: a polluting ${at} is a ${wanted}`, async () => {
      const { findings, verdict } = await judged(at, polluting);
      assert.equal(verdict, wanted);
      const kind = wanted === 'fault' ? 'write' : 'harmless-write';
      const write = findings.find((found) => found.kind === kind);
      assert.ok(write, kindsOf({ findings }).join());
      assert.equal(write.seen.length > 0, wanted === 'fault');
    });
    test(`${name}: a clean ${at} is clean`, async () => {
      const { findings, verdict, conversations } = await judged(at, clean);
      assert.deepEqual([verdict, kindsOf({ findings })], ['clean', []]);
      assert.equal(conversations.judged, conversations.run);
      assert.ok(conversations.calls > 0);
    });
  }
  for (const [at, { documented, handle, harmless }] of picked(Object.entries(more), 1)) {
    if (documented)
      test(`${name}: a documented edit in place at ${at} is clean`, async () =>
        assert.equal((await judged(at, documented)).verdict, 'clean'));
    if (handle)
      test(`${name}: a write through a live handle at ${at} is found`, async () => {
        const { findings } = await judged(at, handle);
        assert.equal(findings[0].kind, 'write');
        assert.match(findings[0].place, /^handle/);
      });
    if (harmless)
      test(`${name}: a write to what the framework copies deeply at ${at} is a note`, async () => {
        const { verdict, findings } = await judged(at, harmless);
        assert.deepEqual([verdict, kindsOf({ findings })], ['note', ['harmless-write']]);
      });
  }
  test(`${name}: a hook with a counter, a cache by identity, ids and clocks is silent`, async () => {
    const [[at, make]] = Object.entries(stateful);
    assert.equal((await judged(at, make)).verdict, 'clean');
  });
  if (tried.includes(name))
    test(`${name}: the adapter complies`, async () => {
      const { sdk, version } = await packageOf(adapter, adapter, project);
      const { checks } = await compliance(adapter, { sdk, version, examples: complying });
      assert.deepEqual(
        checks.filter(({ why }) => why),
        [],
      );
    });
}

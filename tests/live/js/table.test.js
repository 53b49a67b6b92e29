// A table of hooks, subtle ones that pollute and clean ones of the same sort, each with its verdict, places and lines. By itself a sample: for
// five boundaries one clean hook and one of each kind of finding, in one release and on one path, by turns; with AGENTCORE_WHOLE=1 all hooks
// everywhere, isolated and strict as well; AGENTCORE_LIVE_ONLY='6 stream' names releases and paths.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { majors, packageFile, picked, project, report, whole } from './setup.js';

const { isolate, strict } = await import(packageFile('index.js'));
const { boundaries } = await import(packageFile('adapters/ai-boundaries.js'));
const { boundariesOf } = await import('./table/callbacks.js');

const only = process.env.AGENTCORE_LIVE_ONLY;
const examples = Number(process.env.AGENTCORE_LIVE_EXAMPLES ?? 14);
const FILES = {
  prepareStep: 'prepare-step',
  onStepFinish: 'on-step-finish',
  stopWhen: 'stop-when',
  execute: 'execute',
  middleware: 'middleware',
};
const TABLES = [...Object.entries(FILES), ...Object.keys(boundariesOf).map((at) => [at, 'callbacks'])];
const WRITES = ['write', 'harmless-write'];
const general = (place) => place?.replace(/\[\d+\]/g, '[*]');
console.debug = () => {};

/** The lines of a table that a comment `// at` marks, for the hook `name`: its own, or if it is `shared` those of the functions above all hooks. */
function markedLines(text, name, shared) {
  const lines = text.split('\n');
  const first = lines.findIndex((line) => line.startsWith('export const'));
  const at = lines.findIndex((line) => line.trimStart().startsWith(`'${name}':`));
  const indent = lines[at]?.match(/^ */)[0];
  const end = lines.findIndex((line, index) => index > at && line.startsWith(`${indent}'`));
  const [from, to] = shared ? [0, first] : [at, end < 0 ? lines.length : end];
  return lines
    .map((line, index) => [line, index + 1])
    .filter(([line, number]) => line.includes('// at') && number > from && number <= to)
    .map(([, number]) => number);
}

/** The releases and paths at which a hook is tried: all, or one by turns. */
function* whereOf(index, at, { path } = {}) {
  const { majors: known = majors, paths = ['generate', 'stream'] } = boundaries[at];
  const wheres = known.flatMap((major) => (path ? [path] : paths).map((each) => ({ major, path: each })));
  if (only) yield* wheres.filter(({ major, path: each }) => only.includes(`${major} ${each}`));
  else if (whole) yield* wheres;
  else yield wheres[index % wheres.length];
}

/** The hooks to try: all, or the first of each kind of what is expected. */
function sampled(hooks) {
  const kinds = new Map();
  for (const [what, hook] of Object.entries(hooks)) {
    const kind = JSON.stringify(Object.values(hook.is?.place ? [hook.is] : (hook.is ?? {})).map(kindsOf));
    if (!kinds.has(kind)) kinds.set(kind, what);
  }
  const chosen = [...kinds.values()];
  return Object.entries(hooks).filter(([what]) => whole || only || chosen.includes(what));
}

const kindsOf = ({ kind = 'write', also = [] }) => [kind, ...also].sort();

/** What is expected in a release: of all, or those of `{ 5: ..., 6: ..., 7: ... }`. */
const expectedIn = (expected, major) => (major in expected ? expected[major] : expected);

let index = 0;
for (const [at, name] of only ? TABLES : picked(TABLES, 5)) {
  const url = new URL(`table/${name}.js`, import.meta.url);
  const { polluting, clean } = boundariesOf[at] ?? (await import(url));
  const text = readFileSync(url, 'utf8');
  const check = (make, major, path) =>
    report({ at, hooks: () => ({ [at]: make() }), project: project(major), path, examples, shrinking: 0 });

  for (const [what, { make, is, path: limit, shared }] of sampled(polluting)) {
    for (const { major, path } of whereOf(index++, at, { path: limit })) {
      const {
        place,
        places = [place],
        kind = 'write',
        also = [],
        seen = [],
        causes = 1,
      } = expectedIn(is, major);
      test(`ai ${major}, ${path}: a ${at} that ${what}`, async () => {
        const { findings, verdict } = await check(make, major, path);
        const said = JSON.stringify(
          findings.map((each) => [each.kind, each.places, each.seen, each.line?.line, each.message]),
        );
        const writes = findings.filter((each) => WRITES.includes(each.kind));
        if (kind === 'clean') return assert.equal(writes.length, 0, said);
        const expected = [kind, ...also].every((each) => each === 'harmless-write') ? 'note' : 'fault';
        assert.equal(verdict, expected, said);
        const found = writes.find(
          (each) => each.kind === kind && each.places.some((own) => places.includes(general(own))),
        );
        assert.ok(found, said);
        for (const holder of seen) assert.ok(found.seen.includes(holder), `${holder}: ${said}`);
        for (const each of also)
          assert.ok(
            findings.some((other) => other.kind === each),
            `${each}: ${said}`,
          );
        const lines = new Set(writes.map(({ line }) => line?.line));
        assert.ok(
          [...lines].every((line) => markedLines(text, what, shared).includes(line)),
          said,
        );
        assert.ok(lines.size >= causes, said);
      });
    }
    if (whole) {
      const known = boundaries[at].majors ?? majors;
      const major = known[index % known.length];
      const own = expectedIn(is, major);
      test(`ai ${major}: isolated, it has no write: a ${at} that ${what}`, async () => {
        const { findings } = await check(() => isolate(make(), { at }), major, limit);
        assert.deepEqual(
          findings.filter((each) => WRITES.includes(each.kind)).map((each) => each.place),
          [],
        );
      });
      if (own.kind !== 'clean' && !own.quiet)
        test(`ai ${major}: strict names the line: a ${at} that ${what}`, async () => {
          const { findings } = await check(() => strict(make(), { at }), major, limit);
          const lines = findings.filter(({ kind }) => kind === 'raises').map(({ line }) => line?.line);
          assert.ok(
            lines.some((line) => markedLines(text, what, shared).includes(line)),
            JSON.stringify(findings.map((each) => each.message)),
          );
        });
    }
  }
  for (const [what, made] of sampled(clean)) {
    const { make, path: limit } = typeof made === 'function' ? { make: made } : made;
    for (const { major, path } of whereOf(index++, at, { path: limit }))
      test(`ai ${major}, ${path}: a clean ${at}: ${what}`, async () => {
        const { findings, verdict, conversations } = await check(make, major, path);
        const kinds = findings
          .filter(({ kind }) => kind !== 'accumulates')
          .map(({ kind, place }) => `${kind} ${place}`);
        assert.deepEqual(kinds, []);
        assert.ok(conversations.calls > 0 && verdict !== null, JSON.stringify({ verdict, ...conversations }));
      });
  }
}

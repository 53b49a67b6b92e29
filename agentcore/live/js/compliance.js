// What an adapter must show, for adapters of one's own as for those of this package. Levels: 0 what it says, 1 it repeats itself,
// 2 it hides nothing: planted hooks are told apart at each boundary.
import { missingIn, pathsOf, validated } from './src/adapters.js';
import { sampleOf } from './src/collect.js';
import { differ, Judge } from './src/judge.js';
import { install, uninstall } from './src/seeded.js';

/**
 * Runs the suite; resolves to `{level, checks}`, where each check is `{level, name, why}` and `why` is undefined if it passed, else what to fill in.
 * @param {object} adapter
 * @param {{sdk?: object, version?: string, examples?: number, without?: Record<string, string>}} [options] `examples` is how many conversations
 *   each check runs; `without` maps names of checks that do not apply to reasons; one that passes all the same is a failure.
 */
export async function compliance(
  adapter,
  { sdk = {}, version = adapter.version, examples = 25, without = {} } = {},
) {
  const checks = [];
  install();
  try {
    for (const { level, name, run } of suite({ adapter, sdk, version, examples }))
      checks.push({ level, name, why: expected(name, await failure(run), without) });
  } finally {
    uninstall();
  }
  const failed = checks.filter(({ why }) => why !== undefined).map(({ level }) => level);
  return { level: failed.length === 0 ? 2 : Math.min(...failed) - 1, checks };
}

function expected(name, why, without) {
  if (!(name in without)) return why;
  return why === undefined
    ? `it is left out because "${without[name]}", and passes: take it back in`
    : undefined;
}

async function failure(run) {
  try {
    return await run();
  } catch (error) {
    return `${error.name}: ${error.message}`;
  }
}

const sample = (adapter, at, index) =>
  sampleOf(index, { seed: 0, texts: [], recorded: [], paths: pathsOf(adapter, at) });

function* suite(about) {
  const { adapter } = about;
  yield {
    level: 0,
    name: 'the members are there and known',
    run: async () => void validated(adapter, adapter?.name),
  };
  for (const [at, boundary] of Object.entries(adapter?.boundaries ?? {})) {
    if (missingIn(adapter, at, about.version)) continue;
    yield {
      level: 0,
      name: `${at} says when it is called`,
      run: async () =>
        Object.values(boundary.methods ?? { [at]: boundary }).every(({ when }) =>
          ['before', 'after'].includes(when),
        )
          ? undefined
          : "`when` is 'before' or 'after' the model's call",
    };
    yield { level: 1, name: `${at}: two runs without a hook are alike`, run: () => alike(about, at) };
    yield {
      level: 1,
      name: `${at}: prompts and the caller's messages are recorded`,
      run: () => recorded(about, at),
    };
    yield {
      level: 2,
      name: `${at}: a hook that does nothing is clean`,
      run: () => silent(about, at, passive(boundary)),
    };
    yield {
      level: 2,
      name: `${at}: a hook that writes in place is found`,
      run: () => found(about, at, planted(boundary)),
    };
  }
}

const judgeOf = ({ adapter, sdk, version }, at, load) =>
  new Judge({ adapter, sdk, version, at, load: async () => ({ hook: load }) });

async function alike(about, at) {
  const judge = judgeOf(about, at, passive(about.adapter.boundaries[at]));
  for (let index = 0; index < about.examples; index++) {
    const [one, other] = [
      await judge.run(sample(about.adapter, at, index), 'none'),
      await judge.run(sample(about.adapter, at, index), 'none'),
    ];
    if (one.error)
      return `conversation ${index} fails without a hook: ${one.error.name}: ${one.error.message}`;
    const [difference] = differ(one, other);
    if (difference)
      return `conversation ${index} differs in ${difference.holder}${difference.place}: take ids and times from Math.random and Date, or leave them out`;
  }
  return undefined;
}

async function recorded(about, at) {
  const judge = judgeOf(about, at, passive(about.adapter.boundaries[at]));
  const run = await judge.run(sample(about.adapter, at, 0), 'none');
  if (run.prompts.length === 0) return 'no prompt: the scripted model calls session.answer(prompt)';
  if (run.turn < run.talk.turns.length)
    return 'turns are left: run goes on until session.nextTurn() returns undefined';
  return run.holders.caller === undefined || run.holders.result === undefined
    ? 'run returns { caller, result }'
    : undefined;
}

async function silent(about, at, hook) {
  const judge = judgeOf(about, at, hook);
  let calls = 0;
  for (let index = 0; index < about.examples; index++) {
    const { signals, live } = await judge.judge(sample(about.adapter, at, index));
    calls += live.calls.length;
    if (signals.length > 0)
      return `conversation ${index}: ${signals[0].key}: copies are not like originals here; say in \`stay\` what stays itself`;
  }
  return calls === 0
    ? 'the hook was never called: put the hook that run is given at the boundary'
    : undefined;
}

async function found(about, at, hook) {
  const judge = judgeOf(about, at, hook);
  for (let index = 0; index < about.examples; index++) {
    const { signals } = await judge.judge(sample(about.adapter, at, index));
    if (signals.some(({ kind }) => ['write', 'harmless-write', 'not-isolated'].includes(kind)))
      return undefined;
  }
  return 'nothing was found: the arguments of the hook hold no objects that are seen by prompts, caller or result';
}

const eachMethod = (boundary, make) =>
  boundary.methods
    ? Object.fromEntries(Object.entries(boundary.methods).map(([name, spec]) => [name, make(spec)]))
    : make(boundary);

const passive = (boundary) =>
  eachMethod(
    boundary,
    (spec) =>
      (...args) =>
        spec.passive?.(args, standIn(args)),
  );

// A passive hook of tools asks the session for an outcome; as a hook it has none.
const standIn = () => ({ outcome: () => ({ done: true }), call: () => undefined });

const planted = (boundary) =>
  eachMethod(boundary, (spec) => (...args) => {
    args.forEach((arg) => writeInto(arg, new Set()));
    const made = spec.passive?.(args, standIn(args));
    return made instanceof TransformStream ? writing() : made;
  });

const writing = () =>
  new TransformStream({
    transform(chunk, controller) {
      writeInto(chunk, new Set());
      controller.enqueue(chunk);
    },
  });

// Writes to the texts of everything that is reached, the way a careless redaction does.
function writeInto(value, seen) {
  if (typeof value !== 'object' || value === null || seen.has(value)) return;
  seen.add(value);
  for (const key of Object.keys(value)) {
    const held = Object.getOwnPropertyDescriptor(value, key);
    if (typeof held.value === 'string' && ['text', 'content', 'query', 'result', 'output'].includes(key))
      value[key] = `${held.value} (planted)`;
    else if ('value' in held && (Array.isArray(held.value) || isPlain(held.value)))
      writeInto(held.value, seen);
  }
}

const isPlain = (value) => typeof value === 'object' && value !== null && !('doGenerate' in value);

// The runs of a finding: their moments in order, what each of them has, and the bounds.
import assert from 'node:assert/strict';
import test from 'node:test';
import { judged, packageFile, project, report } from './setup.js';

const { adapter: toy } = await import(packageFile('adapters/skeleton.js'));
const { runsOf } = await import(packageFile('src/moments.js'));

const ofToy = async (hook, options = {}) =>
  await report({ framework: toy, at: 'beforeModel', hooks: () => ({ beforeModel: hook }), ...options });
const kinds = ({ moments }) => moments.map(({ kind }) => kind);
const found = ({ findings }, kind) => findings.find((finding) => finding.kind === kind);
const first = ({ moments }, kind) => moments.find((moment) => moment.kind === kind);

test('a finding has both runs moment by moment, and the run as a value leaves the caller as it was', async () => {
  const { runs } = found(
    await judged(
      () =>
        ({ messages }) => {
          if (typeof messages[0].content === 'string') messages[0].content += '!';
          return { messages };
        },
      7,
    ),
    'write',
  );
  const order = ['handed', 'written', 'returned', 'prompt', 'end'];
  assert.deepEqual(
    [kinds(runs.live).slice(0, 4), kinds(runs.value).slice(0, 4)],
    Array(2).fill(order.slice(0, 4)),
  );
  const { content } = first(runs.live, 'handed').value.messages[0];
  assert.deepEqual(first(runs.live, 'written').writes, [
    {
      places: ['messages[0].content'],
      before: JSON.stringify(content),
      after: JSON.stringify(`${content}!`),
    },
  ]);
  assert.deepEqual(first(runs.live, 'prompt').value, first(runs.value, 'prompt').value);
  const left = [runs.live, runs.value].map((run) => first(run, 'end').value.caller[0].content);
  assert.match(left[0], /!$/);
  assert.equal(left[1], content);
  assert.deepEqual(runs.cut, { texts: 0, lists: 0, moments: 0 });
});

test('the most telling fields come first, and what stays itself is left out', async () => {
  const { runs } =
    found(
      await judged(
        () =>
          ({ messages }) =>
            void messages.push({ role: 'user', content: 'x' }),
        7,
      ),
      'write',
    ) ??
    found(
      await judged(
        () =>
          ({ messages }) =>
            void (messages[0].note = 1),
        7,
      ),
      'write',
    );
  const names = Object.keys(first(runs.live, 'handed').value);
  assert.equal(names[0], 'messages');
  assert.ok(!names.includes('runtimeContext'));
});

test('a write of a hook that goes around a call stands before the prompt that shows it', async () => {
  const around = {
    wrapGenerate: ({ doGenerate, params }) => {
      params.prompt[0].content = 'asked';
      return doGenerate();
    },
  };
  const { findings } = await report({
    at: 'middleware',
    path: 'generate',
    hooks: () => ({ middleware: around }),
    project: project(7),
  });
  const { live } = findings.find(({ kind }) => /write/.test(kind)).runs;
  assert.deepEqual(kinds(live).slice(0, 4), ['handed', 'written', 'prompt', 'returned']);
});

test('a hook after the model belongs to the step that has ended', async () => {
  const { findings } = await report({
    at: 'onStepFinish',
    hooks: () => ({ onStepFinish: ({ response }) => void (response.messages[0].note = 'x') }),
    project: project(7),
  });
  const { moments } = findings.find(({ kind }) => /write/.test(kind)).runs.live;
  const asked = new Set();
  for (const { kind, turn, step } of moments) {
    if (kind === 'prompt') asked.add(`${turn} ${step}`);
    assert.ok(asked.has(`${turn} ${step}`), `${kind} ${turn} ${step}`);
  }
});

test('an error of the hook is a moment and ends the run', async () => {
  for (const hook of [
    () => {
      throw new Error('no');
    },
    async () => {
      throw new Error('no');
    },
  ]) {
    const { live } = found(await ofToy(hook), 'raises').runs;
    assert.deepEqual(kinds(live).slice(-2), ['raised', 'end']);
    assert.equal(live.moments.at(-2).value, 'Error: no');
    assert.match(live.error, /no/);
  }
});

test('long texts and lists are cut and counted, and indices stay', async () => {
  const value = [
    { text: `${'x'.repeat(5000)}end` },
    ...Array.from({ length: 100 }, (_, number) => ({ number })),
  ];
  const run = async (log) => {
    const session = {
      prompts: [],
      firstPrompt: 0,
      turn: 0,
      boundary: { when: 'before' },
      answer: async () => {},
    };
    log.attach(session);
    log.around({ hook: (messages) => messages }).hook({ messages: value });
    return { holders: {}, error: undefined };
  };
  const { live, cut } = await runsOf(run, () => true);
  const { messages } = first(live, 'handed').value;
  assert.equal(messages.length, 101);
  assert.match(messages[0].text, /^x{1500}…\(3003 characters\)….*end$/);
  assert.equal(messages.filter((each) => each === '…').length, 41);
  assert.deepEqual(messages.at(-1), { number: 99 });
  assert.deepEqual(cut, { texts: 4, lists: 4, moments: 0 });
});

test('moments beyond the bound of a run have no value', async () => {
  const value = Array.from({ length: 50 }, () => 'y'.repeat(1900));
  const run = async (log) => {
    log.attach({
      prompts: [],
      firstPrompt: 0,
      turn: 0,
      boundary: { when: 'before' },
      answer: async () => {},
    });
    const { hook } = log.around({ hook: () => undefined });
    for (let call = 0; call < 5; call++) hook({ messages: value });
    return { holders: {} };
  };
  const { live, value: other, cut } = await runsOf(run, () => true);
  assert.deepEqual(
    live.moments.map((moment) => moment.value === null),
    [false, false, false, true, true, true],
  );
  assert.deepEqual([kinds(live), cut.moments], [kinds(other), 6]);
});

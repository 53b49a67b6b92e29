// The parts of the core, each by itself.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { packageFile } from './setup.js';

const { Bridge } = await import(packageFile('src/bridge.js'));
const { Snapshot } = await import(packageFile('src/changes.js'));
const { conversation, sizeOf } = await import(packageFile('src/conversation.js'));
const { smallest } = await import(packageFile('src/shrink.js'));
const { cut, losesRequest, piecesAdded, prefixOf } = await import(packageFile('src/rules.js'));
const { frameOf } = await import(packageFile('src/frames.js'));
const { isFor, namesOf, suppressionsIn } = await import(packageFile('src/suppress.js'));
const { Collection, sampleOf } = await import(packageFile('src/collect.js'));
const { Globals } = await import(packageFile('src/intrinsics.js'));
const { Judge } = await import(packageFile('src/judge.js'));
const { Settled } = await import(packageFile('src/settled.js'));
const { adapter: toy } = await import(packageFile('adapters/skeleton.js'));
const { hookOf } = await import(packageFile('src/hooks.js'));
const { boundaries } = await import(packageFile('adapters/ai-boundaries.js'));
const { isolate } = await import(packageFile('index.js'));
const { differences, show } = await import(packageFile('src/show.js'));

const across = (bridge, value) => bridge.enter([['messages', value]])[0];
const back = (bridge, value) => bridge.leave([['returned', value]])[0];
const written = () => {
  const writes = [];
  return [new Bridge({ wrote: (write) => writes.push(write) }), writes];
};

test('what is unchanged is the original again, and what is changed a copy with unchanged children restored', () => {
  const [bridge] = written();
  const messages = [{ content: [{ text: 'a' }] }, { content: [{ text: 'b' }] }];
  const copies = across(bridge, messages);
  assert.notEqual(copies, messages);
  assert.equal(back(bridge, copies), messages);
  copies[1].content[0].text = 'c';
  const changed = back(bridge, copies);
  assert.notEqual(changed, messages);
  assert.equal(changed[0], messages[0]);
  assert.equal(messages[1].content[0].text, 'b');
  assert.equal(changed[1].content[0].text, 'c');
});
test('the same original has the same copy until either is changed', () => {
  const [bridge] = written();
  const message = { content: [{ text: 'a' }] };
  const [first] = across(bridge, [message]);
  assert.equal(across(bridge, [message])[0], first);
  message.content[0].text = 'z';
  const second = across(bridge, [message])[0];
  assert.notEqual(second, first);
  second.note = 1;
  assert.notEqual(across(bridge, [message])[0], second);
});
test('an object that the hook made comes back to it as itself', () => {
  const [bridge] = written();
  const own = { role: 'user' };
  const framework = back(bridge, [own])[0];
  assert.notEqual(framework, own);
  assert.equal(across(bridge, [framework])[0], own);
  assert.equal(back(bridge, [own])[0], framework);
});
test('cycles, sharing, classes, frozenness, maps, sets, dates and bytes are alike in a copy', () => {
  class Step {
    constructor() {
      this.content = [1];
    }
    get first() {
      return this.content[0];
    }
  }
  const part = Object.freeze({ text: 'a' });
  const value = {
    part,
    again: part,
    step: new Step(),
    map: new Map([['k', part]]),
    set: new Set([part]),
    date: new Date(5),
    bytes: new Uint8Array([1, 2]),
    nothing: Object.create(null),
  };
  value.self = value;
  const copy = across(new Bridge(), value);
  assert.equal(copy.self, copy);
  assert.equal(copy.part, copy.again);
  assert.ok(Object.isFrozen(copy.part) && !Object.isFrozen(copy));
  assert.ok(copy.step instanceof Step && copy.step !== value.step && copy.step.first === 1);
  assert.equal(copy.map.get('k'), copy.part);
  assert.ok(copy.set.has(copy.part));
  assert.deepEqual(
    [copy.date.getTime(), [...copy.bytes], Object.getPrototypeOf(copy.nothing)],
    [5, [1, 2], null],
  );
  assert.notEqual(copy.bytes.buffer, value.bytes.buffer);
});
test('what cannot be copied stays itself', () => {
  class Secret {
    #state = 1;
    read() {
      return this.#state;
    }
  }
  const held = {
    call: () => 1,
    promise: Promise.resolve(),
    signal: new AbortController().signal,
    error: new Error('x'),
    model: { specificationVersion: 'v3', doGenerate() {} },
    secret: new Secret(),
  };
  const bridge = new Bridge();
  const copy = across(bridge, held);
  for (const key of Object.keys(held)) assert.equal(copy[key], held[key], key);
  assert.deepEqual([...bridge.opaque], [['messages.secret', 'Secret']]);
});
test('getters are kept and not run', () => {
  let runs = 0;
  const copy = across(new Bridge(), {
    get text() {
      runs++;
      return 'x';
    },
  });
  assert.equal(runs, 0);
  assert.equal(copy.text, 'x');
});
test('writes are found with every path, once, of any sort', () => {
  const part = { text: 'a', tags: ['x'] };
  for (const [write, place] of [
    [
      (copy) => {
        copy[0].part.text = 'b';
      },
      'messages[0].part.text',
    ],
    [
      (copy) => {
        delete copy[0].part.text;
      },
      'messages[0].part.text',
    ],
    [
      (copy) => {
        copy[0].part.more = 1;
      },
      'messages[0].part.more',
    ],
    [
      (copy) => {
        copy[0].part.tags.push('y');
      },
      'messages[0].part.tags[1]',
    ],
    [
      (copy) => {
        copy[0].part.tags.length = 0;
      },
      'messages[0].part.tags',
    ],
    [
      (copy) => {
        copy.reverse();
      },
      'messages',
    ],
    [
      (copy) => {
        copy[0].part.number = Number.NaN;
      },
      'messages[0].part.number',
    ],
  ]) {
    const [bridge, writes] = written();
    write(across(bridge, [{ part }, { part }]));
    bridge.look();
    bridge.look();
    assert.equal(writes.length, 1);
    assert.equal(writes[0].place, place);
  }
  const [bridge, writes] = written();
  across(bridge, [{ part }, { part }])[0].part.text = 'b';
  bridge.look();
  assert.deepEqual(writes[0].places, ['messages[0].part.text', 'messages[1].part.text']);
});
test('a write that is let through reaches the original', () => {
  const bridge = new Bridge({ through: ({ place }) => place.endsWith('.text') });
  const messages = [{ text: 'a', note: 'n' }];
  const copy = across(bridge, messages);
  Object.assign(copy[0], { text: 'b' });
  bridge.look();
  assert.equal(messages[0].text, 'b');
});
test('a snapshot tells writes and takes them back', () => {
  const agent = { messages: [{ content: 'a' }] };
  const snapshot = new Snapshot([['agent', agent]]);
  agent.messages[0].content = 'b';
  agent.messages.push({ content: 'c' });
  assert.deepEqual(
    snapshot
      .writes({ undo: true })
      .map(({ place }) => place)
      .sort(),
    ['agent.messages[0].content', 'agent.messages[1]'],
  );
  assert.deepEqual(agent, { messages: [{ content: 'a' }] });
});

test('a seed repeats its conversation, and seeds differ', () => {
  assert.deepEqual(conversation(7), conversation(7));
  assert.notDeepEqual(conversation(7), conversation(8));
});
test('conversations have long runs, large outputs, images, failing, parallel, approved and denied calls, and several turns', () => {
  const all = Array.from({ length: 300 }, (_, seed) => conversation(seed));
  const answers = all.flatMap(({ turns }) => turns.flatMap((turn) => turn.answers));
  const calls = answers.flatMap(({ parts }) => parts.filter(({ type }) => type === 'call'));
  const counts = {
    long: all.filter(({ turns }) => turns.some((turn) => turn.answers.length > 5)).length,
    large: all.filter((talk) => sizeOf(talk) > 10_000).length,
    turns: all.filter(({ turns }) => turns.length > 1).length,
    images: all.filter((talk) => JSON.stringify(talk).includes('image/png')).length,
    parallel: answers.filter(({ parts }) => parts.filter(({ type }) => type === 'call').length > 1).length,
    failing: calls.filter(({ error }) => error !== undefined).length,
    denied: calls.filter(({ denied }) => denied !== undefined).length,
    approved: calls.filter(({ approval, denied }) => approval && denied === undefined).length,
  };
  for (const [what, count] of Object.entries(counts)) assert.ok(count >= 10, `${what}: ${count}`);
  const ids = all.map(({ turns }) =>
    turns.flatMap(({ messages, answers: said }) =>
      [...messages, ...said].flatMap(({ parts }) =>
        parts.filter(({ type }) => type === 'call').map(({ id }) => id),
      ),
    ),
  );
  for (const own of ids) assert.equal(new Set(own).size, own.length);
});
test('texts that are asked for are in the conversations', () => {
  assert.ok(
    Array.from({ length: 10 }, (_, seed) => JSON.stringify(conversation(seed, ['the trigger']))).every(
      (text) => text.includes('the trigger'),
    ),
  );
});
test('shrinking ends at the smallest conversation that shows it', async () => {
  const shows = async ({ talk }) => JSON.stringify(talk).includes('call-0') || undefined;
  const large = Array.from({ length: 50 }, (_, seed) => conversation(seed)).find(
    (talk) => JSON.stringify(talk).includes('call-0') && sizeOf(talk) > 2000,
  );
  const { sample } = await smallest({ talk: large }, shows, true, 3000);
  assert.ok(sizeOf(sample.talk) < 400, JSON.stringify(sample.talk));
});

test('shrinking takes the plain spelling of messages, which needs fewer of them', async () => {
  // Of variant 2 every second message is a list of parts: the first that is a text is the second.
  const shows = async ({ talk, variant }) =>
    (variant % 3 === 2 ? talk.turns[0].messages.length > 1 : true) || undefined;
  const said = { role: 'user', parts: [{ type: 'text', text: 'so' }] };
  const talk = {
    format: 1,
    name: 'two',
    turns: [{ messages: [said, said], answers: [{ parts: said.parts }] }],
    variant: 2,
  };
  const { sample } = await smallest({ talk, variant: 2 }, shows, true, 3000);
  assert.deepEqual([sample.talk.turns[0].messages.length, sample.variant, sample.talk.variant], [1, 0, 0]);
});

const call = (id, at = 0) => ({ at, id, is: 'call' });
const result = (id, at = 1) => ({ at, id, is: 'result' });
test('only what stands alone after the hook and not before is cut', () => {
  assert.deepEqual(
    cut([call('a'), result('a')], [result('a')]).map(({ id }) => id),
    ['a'],
  );
  assert.deepEqual(cut([call('a')], [call('a')]), []);
  assert.deepEqual(cut([call('a'), result('a')], [result('a'), call('a')]).length, 2);
  assert.deepEqual(cut([call('a'), result('a')], []), []);
});
test('a request is lost only if nothing stands in its place', () => {
  const request = { parts: [{ type: 'text', text: 'please find harbor' }] };
  const [user, other] = [
    { role: 'user', content: 'please find harbor' },
    { role: 'user', content: '***' },
  ];
  assert.ok(losesRequest(request, [user], [{ role: 'assistant', content: 'x' }]));
  assert.ok(!losesRequest(request, [user], [other]));
  assert.ok(!losesRequest(request, [other, user], [user]));
  assert.ok(!losesRequest({ parts: [{ type: 'file' }] }, [user], []));
});
test('pieces are leaves that are new, or what was put before or behind a text', () => {
  assert.deepEqual(piecesAdded([{ content: 'a' }], [{ content: 'a' }, { content: 'new' }]), [
    ['.content', 'new'],
  ]);
  assert.deepEqual(piecesAdded([{ content: 'hello' }], [{ content: 'hello there' }]), [
    ['.content', ' there'],
  ]);
  assert.deepEqual(piecesAdded([{ content: 'a' }, { content: 'b' }], [{ content: 'b' }]), []);
});
test('the prefix is lost from the first message that differs', () => {
  const prompt = (step, ...messages) => ({ turn: 0, step, text: show(messages) });
  assert.equal(prefixOf([prompt(0, 'a'), prompt(1, 'a', 'b')]).lost, 0);
  const broken = prefixOf([prompt(0, 'aaaa', 'bbbb'), prompt(1, 'aaaa', 'cccc')]);
  assert.ok(broken.lost > 0);
  assert.equal(broken.broken.message, 1);
});
test('differences are the topmost places', () => {
  assert.deepEqual(differences({ a: [1, { b: 2 }] }, { a: [1, { b: 3 }, 4] }), ['.a[1].b', '.a[2]']);
  assert.deepEqual(differences([1], { 0: 1 }), ['']);
});
test("a frame is the first one in the person's files", () => {
  const stack =
    'TypeError: x\n    at set (/p/node_modules/lodash/set.js:1:2)\n    at hook (/p/src/agent.ts:8:84)\n    at async run (/p/node_modules/ai/index.js:3:4)';
  assert.deepEqual(frameOf(stack, ['/p/src/agent.ts']), { file: '/p/src/agent.ts', line: 8, column: 84 });
  assert.deepEqual(frameOf(stack), { file: '/p/src/agent.ts', line: 8, column: 84 });
});

const ALLOW = '// agentcore: allow write for=ai>=6 -- the mark is ours';
const above = {
  'a hook': [`${ALLOW}\nexport const hook = () => {};`, { name: 'hook' }, 'whole'],
  'a hook with a description and a decorator': [
    `${ALLOW}\n/** Marks\n * messages. */\n@logged\nexport class hook {}`,
    { name: 'hook' },
    'whole',
  ],
  'a default export': [`${ALLOW}\nexport default async () => {};`, {}, 'whole'],
  'what is exported as the hook': [
    `${ALLOW}\nfunction mine() {}\nexport { mine as hook };`,
    { name: 'hook' },
    'whole',
  ],
  'a CommonJS hook': [`${ALLOW}\nexports.hook = () => {};`, { name: 'hook' }, 'whole'],
  'the method of an object': [
    `export const agent = {\n  ${ALLOW}\n  async prepareStep({ messages }) {},\n};`,
    { name: 'agent.prepareStep' },
    'whole',
  ],
  'the method of another object': [
    `export const other = {\n  ${ALLOW}\n  prepareStep() {},\n};\nexport const agent = {};`,
    { name: 'agent.prepareStep' },
    'foreign',
  ],
  'another hook': [`${ALLOW}\nexport const other = 1;\nexport const hook = 1;`, { name: 'hook' }, 'foreign'],
  'a line of the hook': [`export const hook = () => {\n  ${ALLOW}\n  write();\n};`, { name: 'hook' }, 'line'],
};
test('a suppression right above the hook holds for all of it, and one of another definition does not', () => {
  const folder = mkdtempSync(join(tmpdir(), 'check-hook-'));
  const file = join(folder, 'hook.ts');
  try {
    for (const [what, [text, { name }, expected]] of Object.entries(above)) {
      writeFileSync(file, text);
      const [made] = suppressionsIn([file], () => 'hook.ts', namesOf({ name, at: 'prepareStep' }, {}));
      assert.equal(made.whole ? 'whole' : made.foreign ? 'foreign' : 'line', expected, what);
      const found = { kind: 'write', hook: 'hook', line: { file: 'hook.ts', line: 50 } };
      assert.equal(isFor(made, found), expected === 'whole', what);
      assert.ok(isFor(made, { ...found, line: { file: 'hook.ts', line: made.line + 1 } }), what);
    }
    writeFileSync(file, `export const hook = {\n  ${ALLOW}\n  wrapStream: () => {},\n};`);
    const methods = { methods: { wrapStream: {}, wrapGenerate: {} } };
    const [made] = suppressionsIn(
      [file],
      () => 'hook.ts',
      namesOf({ name: 'hook', at: 'middleware' }, methods),
    );
    const found = (hook) => ({ kind: 'write', hook, line: { file: 'hook.ts', line: 50 } });
    assert.deepEqual(
      [isFor(made, found('hook.wrapStream')), isFor(made, found('hook.wrapGenerate'))],
      [true, false],
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('several conditions, and several middlewares, are one hook', async () => {
  const module = {
    conditions: [() => false, async ({ steps }) => steps.length > 1],
    settings: { stopWhen: [() => false] },
    middlewares: [
      { transformParams: ({ params }) => params },
      { wrapGenerate: ({ doGenerate }) => doGenerate() },
    ],
  };
  const at = 'stopWhen';
  const { hook } = await hookOf(module, { name: 'conditions', at, boundaries });
  assert.deepEqual([await hook({ steps: [1] }), await hook({ steps: [1, 2] })], [false, true]);
  const { hook: inSettings } = await hookOf(module, { name: 'settings', at, boundaries });
  assert.equal(await inSettings({ steps: [] }), false);
  assert.equal(await isolate(module.conditions, { at })({ steps: [1, 2] }), true);
  const several = await hookOf(module, { name: 'middlewares', at: 'middleware', boundaries });
  assert.equal(several.hook, module.middlewares);
  assert.equal(typeof isolate(several.hook, { at: 'middleware' })[1].wrapGenerate, 'function');
  await assert.rejects(hookOf({ hook: [1] }, { name: 'hook', at, boundaries }), /neither a function/);
});

test('a cause is known after twelve conversations with one outcome, and not for other writes', () => {
  const settled = new Settled();
  const write = (index, more) => ({ place: `messages[${index}].note`, ...more });
  const loud = { kind: 'write', key: 'write hook.js:3:5', writes: [write(0), write(4)], seen: ['caller'] };
  for (let times = 0; times < 12; times++) {
    assert.equal(settled.signalsOf([write(1)], ['caller']), undefined);
    settled.add([loud], true);
  }
  const [signal] = settled.signalsOf([write(1), write(2)], ['caller']);
  assert.deepEqual([signal.kind, signal.key, signal.writes.length], ['write', loud.key, 2]);
  assert.equal(settled.signalsOf([write(1)], [])[0].kind, 'harmless-write');
  assert.equal(settled.signalsOf([write(1, { own: true })], ['caller']), undefined);
  assert.equal(settled.signalsOf([write(1), { place: 'messages[0].role' }], ['caller']), undefined);
  assert.equal(settled.signalsOf([write(1)], ['caller', 'result']), undefined);
  settled.add([{ ...loud, kind: 'harmless-write', key: 'harmless-write hook.js:3:5' }], true);
  assert.equal(settled.signalsOf([write(1)], ['caller']), undefined);
});
test('what is known of causes changes no finding', async () => {
  const hook = ({ messages }) => {
    messages[0].note = 'seen';
    if (messages.length % 2 === 0) messages.push({ role: 'user', content: [] });
  };
  const task = { seed: 0, texts: [], recorded: [], paths: ['run'] };
  const found = [];
  for (const apart of [false, true]) {
    const judge = new Judge({ adapter: toy, sdk: {}, at: 'beforeModel', load: async () => ({ hook }) });
    let runs = 0;
    const run = judge.run.bind(judge);
    judge.run = (...args) => (runs++, run(...args));
    if (apart) judge.takeApart();
    const collection = new Collection(judge, { shrinking: 0 });
    for (let index = 0; index < 40; index++) await collection.add(sampleOf(index, task));
    const groups = [...collection.found.values()];
    found.push({
      runs,
      groups: groups.map(({ signal, count, seen }) => [signal.key, count, [...seen].sort()]),
    });
  }
  assert.deepEqual(found[0].groups, found[1].groups);
  assert.ok(found[0].groups.length > 0 && found[0].runs < found[1].runs * 0.8, JSON.stringify(found));
});
test('what a run adds to the global variables, or changes, is taken back', () => {
  globalThis.ofBefore = { value: 1 };
  const { ofBefore } = globalThis;
  const globals = new Globals();
  Object.assign(globalThis, { ofRun: 1, ofBefore: 2 });
  globals.restore();
  assert.deepEqual(['ofRun' in globalThis, globalThis.ofBefore], [false, ofBefore]);
  delete globalThis.ofBefore;
});
// A loop with one model call a turn, whose hook is called at the end with the caller's messages; `known` has these, and stays itself.
const ends = {
  ...toy,
  boundaries: { ends: { ...toy.boundaries.beforeModel, when: 'after', stay: ['known'] } },
  run: (session, hook) =>
    session.converse({ translated: ({ role, parts }) => [{ role, parts }] }, async (messages) => {
      await session.answer(messages.map(({ role, parts }) => ({ role, parts })));
      await hook({ messages, known: new WeakSet(messages) });
      return { result: messages.length };
    }),
};
const twoTurns = {
  path: 'run',
  talk: {
    turns: [0, 1].map(() => ({
      messages: [{ role: 'user', parts: [{ type: 'text', text: 'hello' }] }],
      answers: [{ parts: [{ type: 'text', text: 'yes' }] }],
    })),
  },
};
const judgedAtEnd = (hook) =>
  new Judge({ adapter: ends, sdk: {}, at: 'ends', load: async () => ({ hook }) }).judge(twoTurns);

test('an error of the value run alone is the effect of a write', async () => {
  const needsItsMark = ({ messages }) => {
    if (messages.length > 1 && !messages[0].marked) throw new Error('not marked');
    messages[0].marked = true;
  };
  const { signals, status } = await judgedAtEnd(needsItsMark);
  assert.deepEqual(
    [status, signals.map(({ kind, seen }) => [kind, seen])],
    ['judged', [['write', ['result']]]],
  );
});
test('a hook that throws only where it gets copies is not judged', async () => {
  const takesNoCopies = ({ messages, known }) => {
    if (!known.has(messages[0])) throw new Error('nobody knows this message');
  };
  const { signals, status, foreign } = await judgedAtEnd(takesNoCopies);
  assert.deepEqual([signals, status], [[], 'error']);
  assert.deepEqual(
    [foreign.message, foreign.when],
    ['nobody knows this message', 'only where the hook is given copies'],
  );
});

test('files come as bytes, and not for a hook that cannot take them', async () => {
  const judge = new Judge({
    adapter: toy,
    sdk: {},
    at: 'beforeModel',
    load: async () => ({ hook: () => {} }),
  });
  const part = { type: 'file', mediaType: 'image/png', data: 'AAAA' };
  const talk = { turns: [{ messages: [{ role: 'user', parts: [part] }], answers: [{ parts: [] }] }] };
  const plain = [];
  const run = judge.run.bind(judge);
  judge.run = async (sample, ...rest) => {
    plain.push(sample.plain === true);
    const done = await run(sample, ...rest);
    if (!sample.plain) done.errors.push({ kind: 'throws', name: 'TypeError', message: 'bytes', stack: '' });
    return done;
  };
  const { status, signals } = await judge.judge({ talk, path: 'run', variant: 0 });
  assert.deepEqual([status, signals, plain], ['judged', [], [false, false, true, true]]);
});
test('conversations have messages of one role in a row, and texts as texts and as lists', async () => {
  const { dialect } = await import(packageFile('src/dialect.js'));
  const call = { type: 'call', id: 'id', tool: 'tool', input: 'input' };
  const { translated } = dialect({ call, result: { type: 'result', id: 'id', output: 'output' } });
  const forms = new Set();
  for (let variant = 0; variant < 12; variant++) {
    const { messages } = conversation(variant).turns[0];
    const made = messages.flatMap((message, index) => translated(message, index + variant, variant));
    for (const [index, { role, content }] of made.entries())
      if (role === 'user' && made[index + 1]?.role === 'user')
        forms.add(`${typeof content} ${typeof made[index + 1].content}`);
  }
  assert.ok(forms.has('string string') && forms.has('object object'), [...forms].join());
});

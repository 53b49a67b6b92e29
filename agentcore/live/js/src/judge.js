// Judges one conversation: the runs it needs, the evidence, the effects, and what they come to by kind.
import { differences, tree } from './show.js';
import { accumulation, additions, cut, isKept, losesRequest, prefixOf } from './rules.js';
import { Bridge, REFUSED } from './bridge.js';
import { frameOf } from './frames.js';
import { takeAttempts, takeStrays } from './outcome.js';
import { Session } from './session.js';
import { Settled } from './settled.js';
import { Globals } from './intrinsics.js';
import { within } from './seeded.js';

const RUN_LIMIT = 20_000;
const AGAIN_WHEN_NOISY = 3;

export class Judge {
  /**
   * @param {object} of
   * @param {object} of.adapter The framework.
   * @param {object} of.sdk What its package exports, and `version`.
   * @param {string} of.at The boundary.
   * @param {() => Promise<{hook: unknown, beside?: object}>} of.load Makes a fresh hook, and those beside it.
   * @param {string[]} [of.sources] The person's files, to tell whose an error is.
   * @param {boolean} [of.idempotent] Whether to ask for `not-idempotent`.
   * @param {number} [of.limit] Milliseconds for one call of the hook.
   */
  constructor({ adapter, sdk, version, at, load, sources, idempotent = false, limit = 10_000 }) {
    Object.assign(this, { adapter, sdk, version, at, load, sources, idempotent, limit });
    this.boundary = adapter.boundaries[at];
    this.settled = new Settled();
    this.globals = new Globals();
  }

  /** From now on each conversation is taken apart, whatever was found before. */
  takeApart() {
    this.settled = undefined;
  }

  /** One run of a case `{talk, path, variant}`. */
  async run({ talk, path, variant, plain }, mode, extra = {}) {
    const session = new Session({
      adapter: this.adapter,
      at: this.at,
      limit: this.limit,
      talk,
      path,
      variant,
      plain,
      mode,
      ...extra,
    });
    let [observed, error] = [];
    takeStrays();
    takeAttempts();
    const clone = globalThis.structuredClone;
    if (extra.watch === 'proxy')
      globalThis.structuredClone = (value, options) => clone(withoutProxies(value), options);
    try {
      extra.log?.attach(session);
      const loaded = await this.load();
      const hook = session.wrap(extra.log?.around(loaded) ?? loaded);
      observed = await within(
        Math.max(RUN_LIMIT, 2 * this.limit),
        this.adapter.run(session, hook, this.sdk, this.version),
        undefined,
      );
    } catch (thrown) {
      error = thrown;
    }
    await session.end(observed, error);
    globalThis.structuredClone = clone;
    this.globals.restore();
    Object.assign(session, { strays: takeStrays(), attempts: takeAttempts() });
    return session;
  }

  /** What is found in a case: `{signals, status, live}`; the status is 'judged', 'error' or 'outside'. */
  async judge(sample) {
    const result = await this.#judged(sample);
    // Not every hook has to take files as bytes: what cannot is judged without them.
    const fails = result.signals.some(({ kind, error }) => kind === 'raises' && error?.name !== REFUSED);
    return fails && !sample.plain && hasFile(sample.talk)
      ? await this.#judged({ ...sample, plain: true })
      : result;
  }

  async #judged(sample) {
    const value = await this.run(sample, 'value');
    if (value.errors.some(({ kind }) => kind === 'hangs'))
      return { signals: [raised(value.errors[0])], status: 'error', live: value };
    const live = await this.run(sample, 'live');
    const signals = [
      ...this.#made(sample, value),
      ...(await this.#effects(sample, value, live)),
      ...opaque(value),
      ...untold(live),
    ];
    signals.push(
      ...(await this.#prompts(sample, live, signals)),
      ...(await this.#piledUp(sample, value)),
      ...(await this.#twice(value)),
    );
    const { raises, ...ended } = await this.#ended(sample, live, signals, value);
    return { signals: [...signals, ...raises], ...ended, live, prefix: prefixOf(live.prompts) };
  }

  // Writes and their effects --------------------------------------------------------------------------------------------------------

  async #effects(sample, value, live) {
    let effects = differ(live, value);
    let { writes } = value;
    // An object of the hook's own that it changes later: in the twin, what the framework kept of it comes back as a copy.
    if (effects.length === 0 && writes.some(({ own }) => own))
      effects = differ(live, await this.run(sample, 'value', { twin: true }));
    const known = this.settled?.signalsOf(
      writes,
      effects.map((effect) => this.#holder(effect, writes[0] ?? {})),
    );
    if (known) return known;
    if (effects.length > 0) {
      const second = await this.run(sample, 'live', { guard: writes.length === 0 });
      if (writes.length === 0) writes = second.writes;
      if (differ(live, second).length > 0) {
        effects = await this.#withoutNoise(sample, effects, [live, second], value);
        const noisy = effects.length === 0;
        if (noisy) this.settled = undefined;
        if (noisy)
          return [
            ...groups(writes.filter(({ own }) => !own)).map(([key, found]) => quiet(key, found)),
            { kind: 'undetermined', key: 'undetermined' },
          ];
      }
    }
    const signals = await this.#attributed(
      sample,
      groups(await this.#withFrames(sample, writes)),
      value,
      effects,
    );
    this.settled?.add(signals, effects.length > 0);
    return signals;
  }

  // The writes with the line and column that made them, from a run in which the hook has proxies. A hook that they hinder has none.
  async #withFrames(sample, writes) {
    if (writes.every(({ own, guarded, handle }) => own || guarded || handle)) return writes;
    const { writes: watched } = await this.run(sample, 'value', { watch: 'proxy' });
    const frames = new Map();
    for (const write of watched)
      if (write.by) frames.set(momentOf(write), frameOf(write.by.stack, this.sources));
    return writes.map((write) => ({ ...write, frame: frames.get(momentOf(write)) }));
  }

  // Leaves out the places at which live runs differ among themselves, or value runs do (live.noise).
  async #withoutNoise(sample, effects, lives, value) {
    const noise = new Set();
    for (let again = 0; again < AGAIN_WHEN_NOISY; again++) {
      const [live, other] = [await this.run(sample, 'live'), await this.run(sample, 'value')];
      for (const found of [
        ...differ(lives[0], live),
        ...differ(value, other),
        ...(again === 0 ? differ(...lives) : []),
      ])
        noise.add(`${found.holder} ${found.index} ${found.place}`);
    }
    const noisy = [...noise];
    return effects.filter(
      ({ holder, index, place }) => !noisy.some((found) => covers(found, `${holder} ${index} ${place}`)),
    );
  }

  // Which writes have the effect: with several, each is let through alone.
  async #attributed(sample, found, value, effects) {
    if (effects.length === 0)
      return found.filter(([, writes]) => !writes[0].own).map(([key, writes]) => quiet(key, writes));
    const signals = [];
    for (const [key, writes] of found) {
      const own = await this.#effectOf(sample, value, writes, found, effects);
      if (own.length > 0) signals.push(this.#loud(key, writes, own));
      else if (!writes[0].own) signals.push(quiet(key, writes));
    }
    return signals;
  }

  // Hooks write at each step; who sees a write is told by the first one alone, and by all of them only if nobody sees that.
  async #effectOf(sample, value, writes, found, effects) {
    const [write] = writes;
    const repeated = writes.some(({ call }) => call?.prompt !== write.call?.prompt);
    const alone =
      repeated && !write.own && !write.guarded
        ? await this.#reach(sample, value, writes, found, effects, write.call?.prompt)
        : [];
    return alone.length > 0 ? alone : await this.#reach(sample, value, writes, found, effects);
  }

  // What differs if these writes reach the framework and no others do. Those of the hook's own objects, and those that only the live run
  // shows, cannot be let through: they have the effect that is seen (live.effect).
  async #reach(sample, value, writes, found, effects, prompt) {
    if (writes[0].own || writes[0].guarded) return effects;
    const [own, all] = [writes, found.flatMap(([, each]) => each)].map((each) => new Set(each.map(momentOf)));
    // What lands moves later places: such a write is known by the kind of its place.
    const general = new Set(writes.map(groupOf));
    const isOne = (write) =>
      own.has(momentOf(write)) || (!all.has(momentOf(write)) && general.has(groupOf(write)));
    const through = (write) => isOne(write) && (prompt === undefined || write.call?.prompt === prompt);
    return differ(await this.run(sample, 'value', { through }), value);
  }

  #loud(key, writes, effects) {
    const [write] = writes;
    const seen = effects.map((effect) => ({ ...effect, holder: this.#holder(effect, write) }));
    return {
      kind: 'write',
      key: `write ${key}`,
      write,
      writes,
      seen: [...new Set(seen.map(({ holder }) => holder))],
      first: seen[0],
    };
  }

  // Hooks before the model: the prompt of this step, or later ones; hooks after it: the next one, or later ones.
  #holder({ holder, turn, step, index }, write) {
    if (holder !== 'prompt') return holder;
    if (turn > (write.turn ?? 0)) return 'later-runs';
    if (this.#when(write.call?.name) === 'before')
      return index <= (write.call?.prompt ?? -1) ? 'this-prompt' : 'later-prompts';
    return index > write.prompt || step === undefined ? 'later-prompts' : 'next-prompt';
  }

  #when(name) {
    return (this.boundary.methods?.[name] ?? this.adapter.boundaries[name] ?? this.boundary).when;
  }

  // What the hook makes of messages ---------------------------------------------------------------------------------------------------

  #made({ talk }, value) {
    const signals = [];
    for (const call of value.calls.filter(({ given, made }) => made !== undefined && made !== given)) {
      const alone = this.adapter.pairs
        ? cut(this.adapter.pairs(call.given), this.adapter.pairs(call.made))
        : [];
      if (alone.length > 0)
        signals.push({
          kind: 'cuts-pair',
          key: 'cuts-pair',
          call,
          place: `returned.messages[${alone[0].at}]`,
          alone: alone[0],
          seen: ['this-prompt'],
        });
      const request = talk.turns[call.turn]?.messages.at(-1);
      if (request && losesRequest(request, call.given, call.made))
        signals.push({
          kind: 'loses-request',
          key: 'loses-request',
          call,
          place: 'returned.messages',
          seen: ['this-prompt'],
        });
    }
    return signals.filter(({ kind }, index) => signals.findIndex((other) => other.kind === kind) === index);
  }

  // The same in prompts: for hooks that return no messages, or that cut in place.
  async #prompts(sample, live, known) {
    const { pairs } = this.adapter;
    const wanted = { 'cuts-pair': pairs !== undefined, 'loses-request': true };
    for (const { kind } of known) wanted[kind] = false;
    const suspect = live.prompts
      .map((prompt) => ({ ...prompt, messages: JSON.parse(prompt.text) }))
      .filter(
        ({ messages, turn }) =>
          Array.isArray(messages) &&
          ((wanted['cuts-pair'] && unpairedCount(pairs(messages)) > 0) ||
            (wanted['loses-request'] && lacks(sample.talk.turns[turn], messages))),
      );
    if (suspect.length === 0) return [];
    const plain = await this.run(sample, 'none');
    return suspect
      .flatMap(({ turn, step, messages }) => {
        const other = plain.prompts.find((prompt) => prompt.turn === turn && prompt.step === step);
        if (!other) return [];
        const before = JSON.parse(other.text);
        const call = { turn, step, name: this.at };
        const alone = wanted['cuts-pair'] ? cut(pairs(before), pairs(messages)) : [];
        const lost =
          wanted['loses-request'] && losesRequest(sample.talk.turns[turn].messages.at(-1), before, messages);
        return [
          ...(alone.length > 0
            ? [
                {
                  kind: 'cuts-pair',
                  key: 'cuts-pair',
                  call,
                  place: `prompt[${alone[0].at}]`,
                  alone: alone[0],
                  seen: ['this-prompt'],
                },
              ]
            : []),
          ...(lost
            ? [
                {
                  kind: 'loses-request',
                  key: 'loses-request',
                  call,
                  place: 'prompt',
                  seen: ['this-prompt'],
                },
              ]
            : []),
        ];
      })
      .filter(({ kind }, index, all) => all.findIndex((other) => other.kind === kind) === index);
  }

  async #piledUp(sample, value) {
    const real = value.calls.filter(({ made }) => made !== undefined);
    const added = additions(real);
    if (!added || !isKept(real, added)) return [];
    const shadow = await this.run(sample, 'shadow');
    const found = accumulation(
      real,
      added,
      shadow.calls.filter(({ made }) => made !== undefined),
    );
    if (!found) return [];
    const [label, piece] = found.piece;
    const call = real[found.index];
    return [
      {
        kind: 'accumulates',
        key: 'accumulates',
        call,
        seen: [call.turn > 0 ? 'later-runs' : 'later-prompts'],
        place: 'returned.messages',
        piece: `${label.replace(/^\./, '')} ${JSON.stringify(piece)}`,
        surplus: found.surplus,
      },
    ];
  }

  async #twice(value) {
    if (!this.idempotent) return [];
    for (const call of value.calls.filter(
      ({ given, made, spec, beside }) => !beside && spec.again && made !== undefined && made !== given,
    )) {
      const session = new Session({
        adapter: this.adapter,
        at: this.at,
        talk: value.talk,
        path: value.path,
        variant: value.variant,
        mode: 'live',
        limit: this.limit,
      });
      const { hook } = await this.load();
      const messages = structuredClone(call.output);
      const again = call.spec.output(
        await session.seeded.asHook(() => hook(...call.spec.again(call.args, messages))),
      );
      if (again !== undefined && differences(tree(again), call.made).length > 0)
        return [{ kind: 'not-idempotent', key: 'not-idempotent', call, place: 'returned.messages' }];
    }
    return [];
  }

  // How it ended ------------------------------------------------------------------------------------------------------------------------

  async #ended(sample, live, signals, value) {
    // Errors of generators pass by the live run's hook: the framework takes what it yields.
    const thrown = live.errors[0] ?? value.errors.find(({ yielding }) => yielding);
    if (thrown?.kind === 'outside') return { status: 'outside', raises: [], outside: thrown };
    if (thrown) return { status: 'error', raises: [raised(thrown)] };
    const hidden = live.attempts.find(({ kind }) => kind !== 'outside');
    if (hidden)
      return {
        status: 'judged',
        raises: [
          raised({
            kind: hidden.kind,
            name: 'BlockedError',
            message: `${hidden.what} was called, and the refusal caught`,
            stack: '',
            call: live.calls.at(-1),
          }),
        ],
      };
    const stray = live.strays.find(({ stack }) => frameOf(this.sources ? stack : topOf(stack), this.sources));
    if (stray && !live.error)
      return {
        status: 'judged',
        raises: [
          raised({
            ...stray,
            message: `${stray.message} (nobody catches it: thrown after the hook had returned)`,
            call: live.calls.at(-1),
          }),
        ],
      };
    if (!live.error) return { ...endedAsValue(value, signals), raises: [] };
    // What the framework refuses is what was cut, or what a write left there: without the write it takes what the hook returns.
    const isTold = ({ kind }) =>
      kind === 'cuts-pair' || kind === 'loses-request' || (kind === 'write' && !value.error);
    if (signals.some(isTold)) return { status: 'judged', raises: [] };
    const plain = await this.run(sample, 'none');
    if (plain.error)
      return { status: 'error', raises: [], foreign: { ...plain.error, when: 'without the hook, too' } };
    return {
      status: 'error',
      raises: [
        {
          kind: 'raises',
          cause: 'refused',
          key: `raises refused ${live.error.name}`,
          error: live.error,
          call: live.calls.at(-1),
        },
      ],
    };
  }
}

// Where the value run alone fails, and no write tells why, nothing can be compared: the hook may be one that no copies do for (live.ended).
function endedAsValue(value, signals) {
  const error = value.errors[0] ?? value.error;
  const isTold = signals.some(({ kind }) => kind === 'write' || kind === 'undetermined');
  if (!error || isTold) return { status: 'judged' };
  return { status: 'error', foreign: { ...error, when: 'only where the hook is given copies' } };
}

// Without the hook's files, only an error that is thrown outside of packages is the hook's.
const topOf = (stack) => stack.split('\n').find((line) => /^\s+at /.test(line)) ?? '';

const hasFile = ({ turns }) =>
  turns.some(({ messages }) => messages.some(({ parts }) => parts.some(({ type }) => type === 'file')));

const lacks = (turn, messages) =>
  losesRequest(turn.messages.at(-1), [...messages, { role: 'user' }], messages);
const unpairedCount = (items) => cut([], items).length;
const raised = (error) => ({
  kind: 'raises',
  cause: error.kind,
  key: `raises ${error.kind} ${error.name}`,
  error,
  call: error.call,
});
const opaque = (value) =>
  [...value.bridge.opaque]
    .slice(0, 1)
    .map(([place, type]) => ({ kind: 'opaque', key: `opaque ${type}`, place, type }));
// Where the hook caught the refusal, what it would do outside of a check is not known; nor if it replaced what the check relies on.
function untold({ replaced, attempts, errors }) {
  const outside = errors.length === 0 && attempts.find(({ kind }) => kind === 'outside');
  return [
    ...(replaced
      ? [{ kind: 'undetermined', key: 'undetermined built-ins', why: `it replaces the built-in ${replaced}` }]
      : []),
    ...(outside
      ? [
          {
            kind: 'undetermined',
            key: 'undetermined outside',
            why: `it called ${outside.what}, which a check does not allow; only what it does without is judged`,
          },
        ]
      : []),
  ];
}
const quiet = (key, writes) => {
  const kind = writes[0].handle ? 'not-isolated' : 'harmless-write';
  return { kind, key: `${kind} ${key}`, write: writes[0], writes, seen: [] };
};

const covers = (noise, place) =>
  noise === place || place.startsWith(`${noise}.`) || place.startsWith(`${noise}[`);

const PAYLOADS =
  /(\.(?:input|output|args|arguments|result|providerOptions|providerMetadata|response|value))\b.*$/;

/** A place without indices and without what is inside a payload: the same for all writes of one cause. */
export function groupOf({ place, own, turn: _ }) {
  const general = place.replace(/\[\d+\]/g, '[*]').replace(PAYLOADS, '$1');
  return own ? `own ${general}` : general;
}

const withoutProxies = (value) => new Bridge().enter([['', value]])[0];

// The same write in another run of the same conversation.
const momentOf = ({ place, call, late }) => `${call?.prompt} ${call?.name} ${late === true} ${place}`;

const causeOf = (write) =>
  write.frame ? `${write.frame.file}:${write.frame.line}:${write.frame.column}` : groupOf(write);

// Writes by their causes: those of one line and column, else those of one place (live.cause).
function groups(writes) {
  const found = new Map();
  for (const write of writes) {
    const key = causeOf(write);
    found.has(key) ? found.get(key).push(write) : found.set(key, [write]);
  }
  return [...found];
}

/**
 * The places at which two runs differ, by holder; prompts with their turn and step, in order. Where an error ended one of them alone, the
 * prompts that both have are compared, and the result differs (live.ended).
 */
export function differ(one, other) {
  if (!one.error !== !other.error) return differInError(...(one.error ? [one, other] : [other, one]));
  const found = [];
  for (let index = 0; index < Math.max(one.prompts.length, other.prompts.length); index++) {
    const [a, b] = [one.prompts[index], other.prompts[index]];
    if (a?.text === b?.text) continue;
    const { turn, step } = a ?? b;
    const places = a && b ? differences(JSON.parse(a.text), JSON.parse(b.text)) : [''];
    found.push(...places.map((place) => ({ holder: 'prompt', index, turn, step, place })));
  }
  for (const [holder, text] of Object.entries(one.holders)) {
    const against = other.holders[holder];
    if (text === against) continue;
    const places = text && against ? differences(JSON.parse(text), JSON.parse(against)) : [''];
    found.push(
      ...places.map((place) => ({ holder, index: 0, turn: one.talk.turns.length - 1, step: null, place })),
    );
  }
  return found;
}

// What the ended run would have gone on with is no effect; the prompt that the framework refused to make is one, and the missing result.
function differInError(ended, other) {
  const common = ended.prompts.length;
  const found = differ(
    { prompts: ended.prompts, holders: {} },
    { prompts: other.prompts.slice(0, common), holders: {} },
  );
  const refused = other.prompts[common];
  if (refused)
    found.push({ holder: 'prompt', index: common, turn: refused.turn, step: refused.step, place: '' });
  return [...found, { holder: 'result', index: 0, turn: ended.turn, step: null, place: '' }];
}

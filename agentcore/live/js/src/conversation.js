// Conversations: what the caller says, what the scripted model answers, what tools return. They belong to no framework
// (schemas/conversation.schema.json).
import { Random } from './random.js';

const WORDS = [
  'amber',
  'basalt',
  'cedar',
  'delta',
  'ember',
  'fjord',
  'garnet',
  'harbor',
  'indigo',
  'juniper',
  'kelp',
  'lagoon',
  'marble',
  'nectar',
  'opal',
  'pebble',
];
const SENSITIVE = [
  'write to ann@example.com',
  'call +1 555 010 9999',
  'the api_key is sk-live-4242',
  'password: hunter2',
  'card 4111 1111 1111 1111',
  'secret token abc123',
];
const TOOLS = ['search', 'get_weather', 'read_file', 'run_code'];
const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** Makes the random conversation number `seed`; `texts` are put into it where a hook may look for them. */
export function conversation(seed, texts = []) {
  return new Maker(seed, texts).make(`seed ${seed}`);
}

/** Continues the recorded conversation `base`: the first time as it is, then cut and with random turns added. */
export function continued(base, seed, texts = []) {
  const maker = new Maker(seed, texts);
  const turns = structuredClone(base.turns);
  if (maker.random.chance(0.3)) turns[0].messages = afterCut(turns[0].messages, maker.random);
  maker.calls = 1000;
  return { ...base, name: `${base.name ?? 'recorded'}, seed ${seed}`, turns: [...turns, maker.turn(1)] };
}

// Drops some of the first messages, the request never.
function afterCut(messages, random) {
  return messages.slice(random.between(0, messages.length - 1));
}

class Maker {
  constructor(seed, texts) {
    this.random = new Random(seed);
    this.seed = seed;
    this.texts = texts;
    this.calls = 0;
    this.marks = 0;
    this.large = this.random.chance(0.12);
    this.long = this.random.chance(0.12);
  }

  make(name) {
    const turns = this.random.chance(0.3) ? this.random.between(2, 3) : 1;
    return {
      format: 1,
      name,
      ...(this.random.chance(0.5) ? { instructions: `You are a helper. ${this.sentence()}` } : {}),
      turns: Array.from({ length: turns }, (_, index) => this.turn(index)),
    };
  }

  turn(index) {
    const history = index > 0 ? [] : this.history();
    // Some people write twice before they are answered.
    const before = this.seed % 5 < 2 ? [{ role: 'user', parts: [this.text()] }] : [];
    return { messages: [...history, ...before, this.request()], answers: this.answers() };
  }

  history() {
    const rounds = this.long ? this.random.between(6, 14) : this.random.between(0, 2);
    return Array.from({ length: rounds }, () => [this.request(), this.reply()]).flat();
  }

  reply() {
    const parts = this.random.chance(0.5) ? this.callParts() : [];
    return {
      role: 'assistant',
      parts: [...parts, ...(parts.length === 0 || this.random.chance(0.3) ? [this.text()] : [])],
    };
  }

  request() {
    const parts = [this.text(), ...(this.random.chance(0.25) ? [this.text()] : [])];
    if (this.random.chance(0.2)) parts.push({ type: 'file', mediaType: 'image/png', data: PIXEL });
    return { role: 'user', parts };
  }

  answers() {
    const steps = this.long ? this.random.between(4, 9) : this.random.choice([0, 1, 1, 2, 2, 3]);
    const working = Array.from({ length: steps }, () => ({
      parts: [
        ...(this.random.chance(0.15) ? [{ type: 'reasoning', text: this.sentence() }] : []),
        ...(this.random.chance(0.4) ? [this.text()] : []),
        ...this.callParts(),
      ],
    }));
    return [...working, { parts: [this.text()] }];
  }

  callParts() {
    return this.random.times(1, this.random.chance(0.3) ? 3 : 1, () => this.call());
  }

  call() {
    const call = {
      type: 'call',
      id: `call-${this.calls++}`,
      tool: this.random.choice(TOOLS),
      input: this.input(),
    };
    const kind = this.random.next();
    if (kind < 0.1) return { ...call, error: `failed: ${this.sentence()}` };
    if (kind < 0.16) return { ...call, approval: true, output: this.output() };
    if (kind < 0.2) return { ...call, approval: true, denied: this.sentence() };
    return { ...call, output: this.output() };
  }

  input() {
    return {
      query: this.sentence(),
      ...(this.random.chance(0.5)
        ? { options: { limit: this.random.between(1, 50), tags: [this.word()] } }
        : {}),
    };
  }

  output() {
    if (this.large && this.random.chance(0.6)) return { rows: this.lines(this.random.between(40, 400)) };
    return this.random.choice([
      () => ({
        result: this.sentence(),
        items: this.random.times(1, 3, (id) => ({ id, text: this.sentence() })),
      }),
      () => this.sentence(),
      () => [this.sentence(), { nested: { note: this.sentence() } }],
      () => ({ result: this.sentence(), count: this.random.between(0, 9), ok: this.random.chance(0.5) }),
    ])();
  }

  lines(count) {
    return Array.from(
      { length: count },
      (_, line) => `${line}: ${this.word()} ${this.word()} ${this.word()}`,
    );
  }

  text() {
    const text = this.large && this.random.chance(0.2) ? this.lines(80).join('\n') : this.sentence();
    return { type: 'text', text };
  }

  // Each sentence has words of its own, so that it is known where a text came from.
  sentence() {
    const own = `${this.word()}-${this.seed}-${this.marks++}`;
    const sentence = `${this.random.choice(['please', 'we', 'it', 'now'])} ${this.word()} ${own} ${this.word()}`;
    if (this.texts.length > 0 && this.random.chance(0.4))
      return `${sentence}: ${this.random.choice(this.texts)}`;
    return this.random.chance(0.15) ? `${sentence}, ${this.random.choice(SENSITIVE)}` : sentence;
  }

  word() {
    return this.random.choice(WORDS);
  }
}

/** All calls of tools in `parts`. */
export const callsOf = (parts) => parts.filter((part) => part.type === 'call');

/** All calls of tools in a conversation, by id. */
export function callsById(talk) {
  const calls = talk.turns.flatMap(({ messages, answers }) =>
    [...messages, ...answers].flatMap(({ parts }) => callsOf(parts)),
  );
  return new Map(calls.map((call) => [call.id, call]));
}

/** The names of all tools in a conversation. */
export const toolNames = (talk) => [...new Set([...callsById(talk).values()].map((call) => call.tool))];

/** How large a conversation is: what shrinking makes smaller. */
export const sizeOf = (talk) => JSON.stringify({ ...talk, name: '' }).length;

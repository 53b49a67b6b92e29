// The moments of a run, for those who look at a finding: what the hook got, wrote and returned, and each prompt. What is recorded is
// bounded, and what was cut is counted (`runs` in schemas/findings.schema.json).
import { Snapshot } from './changes.js';
import { staying } from './crossing.js';
import { tree } from './show.js';

const LONGEST = 2000;
const END = 500;
const MOST = 500;
const FIRST = 10;
const LAST = 50;
const DEEPEST = 40;
const WHOLE = 300_000;
const LEFT_OUT = '…';

/**
 * Runs a sample twice more, live and as a value; resolves to what each shows moment by moment.
 * @param {(log: Log, mode: string) => Promise<object>} run Runs it with a log; resolves to the session.
 * @param {(place: string) => boolean} isWanted Whether writes at a place are recorded.
 */
export async function runsOf(run, isWanted) {
  const cut = { texts: 0, lists: 0, moments: 0 };
  const made = {};
  for (const mode of ['live', 'value']) {
    const log = new Log(isWanted);
    made[mode] = log.run(await run(log, mode), cut);
  }
  return { ...made, cut };
}

class Log {
  constructor(isWanted) {
    Object.assign(this, { isWanted, open: new Set(), moments: [] });
  }

  /** Begins with a session: its prompts are moments from now on. */
  attach(session) {
    this.session = session;
    const answer = session.answer.bind(session);
    session.answer = (prompt) => {
      for (const call of this.open) this.#look(call);
      const answered = answer(prompt);
      const { turn, step, text } = session.prompts.at(-1);
      this.#add('prompt', { turn, step }, JSON.parse(text));
      return answered;
    };
  }

  /** What was loaded, with this log around the hook. */
  around(loaded) {
    const { boundary } = this.session;
    return { ...loaded, hook: this.#around(loaded.hook, boundary) };
  }

  #around(hook, boundary) {
    if (!boundary.methods) return this.#wrapped(hook, boundary);
    if (Array.isArray(hook)) return hook.map((each) => this.#around(each, boundary));
    const methods = Object.entries(boundary.methods)
      .filter(([name]) => typeof hook[name] === 'function')
      .map(([name, spec]) => [name, this.#wrapped(hook[name].bind(hook), spec)]);
    return Object.assign(Object.create(hook), Object.fromEntries(methods));
  }

  #wrapped(hook, spec) {
    const log = this;
    return function logged(...args) {
      const call = log.#begin(args, spec);
      let made;
      try {
        made = hook.apply(this, args);
      } catch (error) {
        throw log.#fail(call, error);
      }
      if (typeof made?.then !== 'function') return log.#end(call, made);
      return Promise.resolve(made).then(
        (value) => log.#end(call, value),
        (error) => {
          throw log.#fail(call, error);
        },
      );
    };
  }

  /** The moments of the run, which has ended. */
  run({ holders, error }, cut) {
    for (const call of this.open) this.#look(call);
    const held = {};
    for (const [name, text] of Object.entries(holders)) if (text !== undefined) held[name] = JSON.parse(text);
    const { turn, step } = this.moments.at(-1) ?? { turn: 0, step: 0 };
    this.#add('end', { turn, step }, held);
    return { moments: boundAll(this.moments, cut), error: error ? shorten(textOf(error), cut) : null };
  }

  // One call --------------------------------------------------------------------------------------------------------------------------

  #begin(args, spec) {
    const { turn, prompts, firstPrompt } = this.session;
    const asked = prompts.length - firstPrompt;
    // After the model, the step's own prompt has been counted already.
    const step = spec.when === 'after' && asked > 0 ? asked - 1 : asked;
    const held = heldOf(args, spec);
    const call = { turn: Math.max(0, turn), step, held, snapshot: new Snapshot(Object.entries(held)) };
    this.open.add(call);
    this.#add('handed', call, tree(held));
    return call;
  }

  #end(call, made) {
    this.#close(call);
    if (made !== undefined) this.#add('returned', call, tree(made));
    return made;
  }

  #fail(call, error) {
    this.#close(call);
    this.#add('raised', call, textOf(error));
    return error;
  }

  #close(call) {
    this.#look(call);
    this.open.delete(call);
  }

  // Adds the writes since the last look, those at the places that are wanted.
  #look(call) {
    const writes = call.snapshot.writes().filter(({ place }) => this.isWanted(place));
    if (writes.length === 0) return;
    call.snapshot = new Snapshot(Object.entries(call.held));
    const written = writes.map(({ places, before, after }) => ({ places, before, after }));
    this.#add('written', call, tree(call.held), { writes: written });
  }

  #add(kind, { turn, step }, value, more = {}) {
    this.moments.push({ kind, turn, step, value, ...more });
  }
}

const textOf = (error) => (error?.name ? `${error.name}: ${error.message}` : String(error));

// What the hook is given, by name: arguments that have names, else the fields of the one argument. What stays itself is no conversation.
function heldOf(args, spec) {
  const stay = new Set(staying(args, spec.stay));
  const named = spec.params
    ? args.map((arg, index) => [spec.params[index] ?? `argument ${index}`, arg])
    : [
        ...fieldsOf(args[0], spec.first),
        ...args.slice(1).map((arg, index) => [`argument ${index + 1}`, arg]),
      ];
  const isData = ([, value]) => value !== undefined && typeof value !== 'function' && !stay.has(value);
  const handles = spec.handles?.(args) ?? [];
  return {
    ...Object.fromEntries(named.filter(isData)),
    ...(handles.length > 0 ? { handle: [...handles] } : {}),
  };
}

// The most telling fields first. Getters are not run.
function fieldsOf(value, first = []) {
  if (typeof value !== 'object' || value === null) return value === undefined ? [] : [['argument', value]];
  const found = Object.entries(Object.getOwnPropertyDescriptors(value))
    .filter(([, property]) => 'value' in property)
    .map(([name, property]) => [name, property.value]);
  const rank = ([name]) => (first.includes(name) ? first.indexOf(name) : first.length);
  return found.sort((one, other) => rank(one) - rank(other));
}

// Bounds ------------------------------------------------------------------------------------------------------------------------------

// The moments with bounded values, and without values from where the whole would be too long.
function boundAll(moments, cut) {
  let whole = 0;
  return moments.map((moment) => {
    let value = bound(moment.value, cut);
    whole += JSON.stringify(value).length;
    if (whole > WHOLE) {
      cut.moments++;
      value = null;
    }
    return { ...moment, value };
  });
}

function bound(value, cut, depth = 0) {
  if (typeof value === 'string') return shorten(value, cut);
  if (typeof value !== 'object' || value === null) return value;
  if (depth > DEEPEST) return LEFT_OUT;
  if (!Array.isArray(value))
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => [shorten(key, cut), bound(each, cut, depth + 1)]),
    );
  if (value.length > FIRST + LAST) cut.lists++;
  // Those in the middle keep their places, so that indices stay right.
  const end = value.length - LAST;
  const made = value
    .slice(0, MOST)
    .map((each, index) => (index >= FIRST && index < end ? LEFT_OUT : bound(each, cut, depth + 1)));
  return value.length > MOST ? [...made, `${LEFT_OUT} ${value.length - MOST} more`] : made;
}

function shorten(text, cut) {
  if (text.length <= LONGEST) return text;
  cut.texts++;
  return `${text.slice(0, LONGEST - END)}${LEFT_OUT}(${text.length - LONGEST} characters)${LEFT_OUT}${text.slice(-END)}`;
}

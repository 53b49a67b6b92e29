// Who sees a write, measured: one conversation, each place that a hook can reach, one write at one call of the hook, and a look into
// prompts and everything that others hold (spec/contracts.md). The rules are those of ../../probe.py.
import { missingIn, adapterOf, pathsOf } from './adapters.js';
import { Bridge } from './bridge.js';
import { staying } from './crossing.js';
import { readJson } from './files.js';
import { marked, shapesOf, Texts, Walk, write } from './places.js';
import { install, within } from './seeded.js';
import { Session } from './session.js';
import { show } from './show.js';

const RUN_LIMIT = 20_000;
const LATE = Symbol('late');
const COPIES = new Set(['returned', 'passed']);
const VARIANT = 2; // texts now as texts, now as parts
const HOLDERS = ['caller', 'result', 'steps', 'store', 'observers'];

class ProbeSession extends Session {
  constructor(of) {
    super({ ...of, variant: VARIANT, mode: 'none' });
    this.mark = of.mark;
    this.held = new Set();
  }

  get count() {
    return this.prompts.length - this.firstPrompt;
  }

  // At the end of the first turn the holders are looked through: later the caller's list has the result in it.
  converse(dialect, turn) {
    return super.converse(dialect, async (given) => {
      if (this.turn === 0) this.shapes ??= shapesOf(given);
      const reply = await turn(given);
      if (this.turn === 0) {
        const holders = { ...reply, caller: given };
        for (const name of HOLDERS)
          if (holders[name] !== undefined && show(holders[name]).includes(this.mark)) this.held.add(name);
      }
      return reply;
    });
  }

  /** Who has the mark, given that `count` prompts had been made when it was written. */
  seen(count, isAfter) {
    const found = new Set(this.held);
    for (const { turn, step, text } of this.prompts) {
      if (!text.includes(this.mark)) continue;
      if (turn > 0) found.add('later-runs');
      else if (step > count) found.add('later-prompts');
      else if (step === count) found.add(isAfter ? 'next-prompt' : 'this-prompt');
      else found.add('earlier-prompts');
    }
    return found;
  }
}

class Probe {
  constructor({ adapter, sdk, version, rules }) {
    Object.assign(this, { adapter, sdk, version, rules });
    this.texts = new Texts(rules.conversation);
    this.runs = 0;
    this.rows = new Map();
    this.answers = new Map();
    this.unmeasured = [];
  }

  async measure(at, path) {
    const missing = missingIn(this.adapter, at, this.version);
    const { methods } = this.adapter.boundaries[at];
    for (const method of missing ? [undefined] : methods ? Object.keys(methods) : [undefined]) {
      const of = { at, method, path, name: method ? `${at}.${method}` : at };
      of.spec = method ? methods[method] : this.adapter.boundaries[at];
      if (missing) this.#unmeasured(of, missing);
      else await this.#measured(of);
    }
  }

  #unmeasured({ path, name }, why) {
    this.unmeasured.push({ path, boundary: name, why });
  }

  async #measured(of) {
    const calls = [];
    const { error } = await this.#run(of, (call) => {
      calls.push(call);
      call.places = this.#placesOf(call, of.spec);
      return this.#returned(call, of.spec, (value, made) => {
        call.places.push(...this.#returnedPlaces(value, call, of.spec));
        return made;
      });
    });
    if (error) return this.#unmeasured(of, `the run without a write ends with: ${error.message}`);
    const own = calls.filter(({ turn }) => turn === 0);
    if (own.length === 0) return this.#unmeasured(of, 'the hook is not called');
    const isAfter = of.spec.when === 'after';
    const wanted = this.rules.step + (isAfter ? 1 : 0);
    const last = own.at(-1).count;
    const count = own.some((call) => call.count === wanted) ? wanted : last;
    const chosen = own.filter((call) => call.count === count).slice(0, this.rules.most_calls);
    const found = new Map();
    for (const call of chosen)
      for (const place of call.places) {
        const key = JSON.stringify(rowOf(of, place));
        if (!found.has(key)) found.set(key, new Map());
        const names = found.get(key);
        if (!names.has(place.name)) names.set(place.name, [call, place]);
      }
    for (const places of found.values())
      for (const [call, place] of someOf([...places.values()], this.rules.most_places))
        await this.#probe(of, call, place, isAfter);
    this.answers.clear();
    for (const name of new Set(chosen.flatMap((call) => call.opaque)))
      this.unmeasured.push({ path: of.path, boundary: of.name, root: name, why: 'it cannot be looked into' });
    if (found.size === 0) this.#unmeasured(of, 'nothing of the conversation is in what the hook is given');
  }

  #walkOf(call, spec) {
    const { session, args } = call;
    const stay = new Set([...staying(args, spec.stay), ...(spec.handles?.(args) ?? [])].filter(Object));
    return { texts: this.texts, shapes: session.shapes ?? [], stay, first: spec.first };
  }

  #placesOf(call, spec) {
    const of = this.#walkOf(call, spec);
    const walk = new Walk(rootsOf(call.args, spec), of);
    call.opaque = walk.opaque;
    const handles = behind(call.args, spec);
    const known = new Set(of.stay);
    for (const [, handle] of handles) known.delete(handle);
    const beyond = new Walk(handles, { ...of, stay: known });
    return [
      ...walk.places.map((place) => ({ ...place, side: 'given' })),
      ...beyond.places.map((place) => ({ ...place, side: 'handle' })),
      ...this.#firstOf('passed', this.#passed(call, spec), of).map((place) => ({ ...place, side: 'passed' })),
    ];
  }

  // What the hook makes when it does nothing, after `look` has seen it: `look` returns what is made instead.
  #returned({ args, session }, spec, look) {
    const made = spec.passive?.(args, session);
    return typeof made?.then === 'function' ? made.then((value) => look(value, made)) : look(made, made);
  }

  // Places in what comes back from a function that the hook calls to go on, and in what the hook returns.
  #returnedPlaces(value, call, spec) {
    const of = this.#walkOf(call, spec);
    const goesOn = spec.next !== undefined || call.args.some((arg) => typeof arg === 'function');
    const results = goesOn && isObject(value) ? new Walk([['result', value]], of).places : [];
    const returned = this.#firstOf('returned', [this.#withMessages(value, call.args, spec)], of);
    return [
      ...results.map((place) => ({ ...place, side: 'result' })),
      ...returned.map((place) => ({ ...place, side: 'returned', isLate: goesOn })),
    ];
  }

  // The first text of each owner, and the first list of messages.
  #firstOf(name, values, of) {
    const found = new Map();
    for (const place of new Walk([['', values]], of).places)
      if (place.act === 'change' || (place.act === 'push' && place.place === 'list'))
        if (!found.has(place.act + place.owner)) found.set(place.act + place.owner, place);
    return [...found.values()].map((place) => ({ ...place, root: '', role: '', place: name }));
  }

  // What a hook that does nothing passes to the function that it is given to go on.
  #passed({ args, session }, spec) {
    const passed = [];
    const noted = args.map((arg) =>
      typeof arg === 'function' ? (...given) => void passed.push(given) : arg,
    );
    if (args.every((arg, index) => arg === noted[index])) return [];
    Promise.resolve(spec.passive?.(noted, session)).catch(() => {}); // it got no answer
    return passed[0] ?? [];
  }

  // The form in which messages are returned, if doing nothing returns none: the field of the argument that `output` reads.
  #withMessages(value, args, spec) {
    if (!spec.output || (isObject(value) && spec.output(value) !== undefined)) return value;
    const messages = spec.messages?.(args);
    const key = Object.keys(args[0] ?? {}).find((each) => isObject(messages) && args[0][each] === messages);
    return key !== undefined && spec.output({ [key]: messages }) === messages ? { [key]: messages } : value;
  }

  // One object may be reached in several ways: it is written once.
  async #probe(of, call, place, isAfter) {
    const key = `${call.index} ${place.side} ${place.target}`;
    if (!this.answers.has(key)) this.answers.set(key, await this.#answer(of, call, place, isAfter));
    this.#add(of, place, this.answers.get(key));
  }

  async #answer(of, call, place, isAfter) {
    let undone = { result: 'unknown', why: 'the call did not come again' };
    let count = call.count;
    const { session, error } = await this.#run(of, (again) => {
      if (again.index !== call.index) return this.#returned(again, of.spec, (value, made) => made);
      const walk = this.#walkOf(again, of.spec);
      const does = (args) => {
        count = again.session.count;
        undone = write(args, place, this.rules.mark, walk, COPIES.has(place.side));
      };
      const copied = (value) => new Bridge().enter([['copy', value]], walk.stay)[0];
      const passing = (next) => {
        if (typeof next !== 'function' || place.side !== 'passed') return next;
        return (...given) => {
          const copy = copied(given);
          does([copy]);
          return next(...copy);
        };
      };
      if (place.side === 'handle') does(behind(again.args, of.spec).map(([, handle]) => handle));
      else if (place.side === 'given') does(again.args);
      return this.#returned({ ...again, args: again.args.map(passing) }, of.spec, (value, made) => {
        if (place.side === 'result') does([value]);
        if (place.side !== 'returned') return made;
        const copy = copied([this.#withMessages(value, again.args, of.spec)]);
        does([copy]);
        return copy[0];
      });
    });
    const seen = session.seen(count, isAfter || place.side === 'result' || place.isLate);
    if (seen.has('earlier-prompts') && !undone)
      undone = { result: 'unknown', why: 'a prompt that was made before the write has the mark' };
    if (undone) return undone;
    if (error) return { result: 'breaks', why: error.message.split('\n')[0].slice(0, 200) };
    return { result: 'seen', seen: Object.keys(this.rules.holders).filter((name) => seen.has(name)) };
  }

  #add(of, place, answer) {
    const row = rowOf(of, place);
    const id = JSON.stringify(row);
    if (!this.rows.has(id)) this.rows.set(id, { ...row, answers: [] });
    const { answers } = this.rows.get(id);
    const key = ({ result, seen }) => JSON.stringify([result, seen]);
    const same = answers.find((each) => key(each) === key(answer));
    if (same) same.places.push(place.name);
    else answers.push({ ...answer, places: [place.name] });
  }

  async #run({ at, method, path, spec }, called) {
    this.runs++;
    const session = new ProbeSession({
      adapter: this.adapter,
      at,
      talk: structuredClone(this.rules.conversation),
      path,
      mark: this.rules.mark,
    });
    let index = 0;
    const hook = (...args) =>
      called({ index: index++, args, session, turn: session.turn, count: session.count });
    const { methods } = this.adapter.boundaries[at];
    let error;
    try {
      const running = this.adapter.run(session, methods ? { [method]: hook } : hook, this.sdk, this.version);
      if ((await within(RUN_LIMIT, running, LATE)) === LATE) error = new Error('the run does not end');
    } catch (thrown) {
      error = thrown instanceof Error ? thrown : new Error(String(thrown));
    }
    return { session, error, spec };
  }
}

const rowOf = ({ path, name }, { root, owner, role, place, act }) => ({
  path,
  boundary: name,
  root,
  owner,
  role,
  place,
  act,
});

// The first, the last, and some between.
const someOf = (items, most) =>
  items.length <= most
    ? items
    : Array.from(
        { length: most },
        (_, index) => items[Math.round((index * (items.length - 1)) / (most - 1))],
      );

const isObject = (value) => typeof value === 'object' && value !== null;

// Conversation data that is reached by what stays itself, with names: a list itself, where `handles` has what is in it.
const behind = (args, { handles, reaches }) =>
  reaches?.(args) ?? (handles?.(args) ?? []).map((handle, index) => [`handle${index || ''}`, handle]);

// A single argument is known by its fields, several by their names.
const rootsOf = (args, { params }) => args.map((arg, index) => [params?.[index] ?? '', arg]);

/** Measures what the job on standard input asks for, and writes it as JSON; `load` imports a module of the framework. */
export async function main(load) {
  const chunks = [];
  for await (const chunk of process.stdin) chunks.push(chunk);
  const job = JSON.parse(Buffer.concat(chunks));
  install();
  const adapter = await adapterOf(job.framework);
  const sdk = Object.assign({}, ...(await Promise.all(adapter.packages.map(load))));
  const version = readJson(job.manifest).version;
  const probe = new Probe({ adapter, sdk, version, rules: job.rules });
  for (const at of job.at ? [job.at] : Object.keys(adapter.boundaries))
    for (const path of pathsOf(adapter, at))
      if (!job.path || path === job.path) await probe.measure(at, path);
  const { rows, unmeasured, runs } = probe;
  const when = Object.fromEntries(
    Object.entries(adapter.boundaries).flatMap(([at, { methods, when: is }]) =>
      methods ? Object.entries(methods).map(([method, spec]) => [`${at}.${method}`, spec.when]) : [[at, is]],
    ),
  );
  process.stdout.write(JSON.stringify({ version, when, rows: [...rows.values()], unmeasured, runs }));
}

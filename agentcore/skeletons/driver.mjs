// A driver for an agent loop in JavaScript: it speaks version 1 of agentcore's driver protocol.
//
// Fill in the three places marked FILL IN. Nothing else has to change, and no other file is needed.

// FILL IN: what runs the programs, and the format of those that it takes (`agentcore frameworks`).
const IMPLEMENTATION = { name: 'my-loop', version: '0.0.0' };
const FORMATS = ['ai-sdk'];

// FILL IN: features that your loop does not have, such as "op freeze"; programs with one can be left out.
const UNSUPPORTED = [];

// Waits as long as a tool that `takes` so many moments, after its ops; then it returns or throws. A loop that runs the calls of a
// step at once shows by that in which order it takes their results.
const moments = (count = 0) => new Promise((resolve) => { setTimeout(resolve, count * 10); });

// The loop cannot run this program; the text says why.
class Unsupported extends Error {}

// FILL IN: runs the program on your loop and gives its trace.
//
// Make of the program what your loop takes: its messages; a model that answers with `script[0]` to the first call, `script[1]` to
// the second; its tools, which `await moments(tool.takes)`; hooks that do `hooks.do(ops, argument)`. Write down copies (`shown`)
// of what the loop hands to each, before the ops. Throw Unsupported for what it cannot do.
async function run(program) {
  const hooks = new Hooks(program.messages);
  hooks.do([], {});
  shown(program.messages ?? []);
  await moments();
  throw new Unsupported('this driver is a skeleton; fill in `run`');
}

// A copy of what is there now, as a trace has it.
function shown(value) {
  try {
    return JSON.parse(JSON.stringify(value));
  } catch (error) {
    throw new Unsupported(`a value that is no JSON: ${error.message}`);
  }
}

class Nowhere extends Error {}
const isObject = (value) => value !== null && typeof value === 'object';

// Does the ops of a program's hooks on live objects; `errors` are those that led nowhere.
class Hooks {
  constructor(caller) {
    this.kept = { $caller: caller };
    this.errors = [];
  }

  // Does the ops of one hook, in order, on its argument; throws what they throw.
  do(ops, argument) {
    for (const op of ops ?? []) {
      try {
        this.#do(op, argument);
      } catch (error) {
        if (!(error instanceof Nowhere)) throw error;
        this.errors.push(error.message);
      }
    }
  }

  #do(op, argument) {
    const [name, ...below] = op.append ?? [];
    if (below.length === 0 && Array.isArray(this.kept[name])) return void this.kept[name].push(this.#value(op.with, argument));
    const path = op.set ?? op.append ?? op.delete;
    const place = path && this.#at(path.slice(0, -1), argument);
    if ('set' in op) {
      place[this.#key(place, path.at(-1), path.length > 1 || !path[0].startsWith('$'))] = this.#value(op.to, argument);
    } else if ('append' in op) {
      const key = this.#key(place, path.at(-1));
      const added = this.#value(op.with, argument);
      if (Array.isArray(place[key])) place[key].push(added);
      else if (typeof place[key] === 'string') place[key] += added;
      else throw new Unsupported('append to what is no list and no text');
    } else if ('clear' in op) {
      const list = this.#at(op.clear, argument);
      if (!Array.isArray(list)) throw new Unsupported('clear of what is no list');
      list.length = 0;
    } else if ('delete' in op) {
      const key = this.#key(place, path.at(-1));
      if (Array.isArray(place)) place.splice(key, 1);
      else delete place[key];
    } else if ('keep' in op) {
      this.kept[`$${op.as}`] = this.#at(op.keep, argument);
    } else if ('throw' in op) {
      throw new Error(op.throw);
    } else {
      throw new Unsupported(`the op ${Object.keys(op)[0]}`);
    }
  }

  #at(path, argument) {
    let place = String(path[0]).startsWith('$') ? this.kept : argument;
    for (const key of path) place = place[this.#key(place, key)];
    return place;
  }

  #key(place, key, fresh = false) {
    const at = Array.isArray(place) && key < 0 ? place.length + key : key;
    const isElement = Array.isArray(place) && Number.isInteger(at) && at >= 0 && at < place.length;
    const isField = isObject(place) && !Array.isArray(place) && typeof key === 'string' && (fresh || Object.hasOwn(place, key));
    if (!isElement && !isField) throw new Nowhere(`nothing is at ${key}`);
    return at;
  }

  #value(value, argument) {
    if (!isObject(value)) return value;
    if ('$ref' in value) return this.#at(value.$ref, argument);
    if ('$clone' in value) return structuredClone(this.#at(value.$clone, argument));
    if (Array.isArray(value)) return value.map((item) => this.#value(item, argument));
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.#value(item, argument)]));
  }
}

// The trace of a program, or why there is none.
async function answer(program) {
  if (!isObject(program) || Array.isArray(program)) return { error: { name: 'BadProgram', message: 'a program is an object' } };
  try {
    return { trace: await run(program) };
  } catch (error) {
    if (error instanceof Unsupported) return { unsupported: error.message };
    throw error;
  }
}

function parsed(line) {
  try { return JSON.parse(line); } catch { return undefined; }
}

// Standard output is for answers alone: what the loop prints goes to standard error.
const write = process.stdout.write.bind(process.stdout);
console.log = console.info = console.debug = console.error;

// Lines end at \n and nowhere else; node:readline ends them at \r too, which is white space to JSON.
let begun = '';
reading: for await (const chunk of process.stdin.setEncoding('utf8')) {
  const lines = (begun + chunk).split('\n');
  begun = lines.pop();
  for (const line of lines.filter((each) => each.trim() !== '')) {
    const { cmd, seq, program } = parsed(line) ?? {};
    if (cmd === 'stop') break reading;
    let said = { seq: null, error: { name: 'BadRequest', message: 'start, run or stop' } };
    if (cmd === 'start') said = { version: 1, implementation: IMPLEMENTATION, formats: FORMATS, unsupported: UNSUPPORTED };
    if (cmd === 'run' && seq !== undefined && program !== undefined) said = { seq, ...(await answer(program)) };
    write(`${JSON.stringify(said)}\n`);
  }
}

// The ops of the program format (spec/program-format.md), on live JavaScript objects.
// A hook is a list of ops run in order on the hook's argument and the kept references.

import { below, isObject, Nowhere, Slot, slot, write } from './writes.mjs';

class Thrown extends Error {}

// Languages word their refusals differently, and the text can reach a prompt as a tool's error: here it is one text.
const REFUSED = 'the object refuses the op';

function deepFreeze(value, seen = new Set()) {
  if (!isObject(value) || seen.has(value)) return value;
  seen.add(value);
  for (const child of Object.values(value)) deepFreeze(child, seen);
  return Object.freeze(value);
}

// Whether a path names a kept value as a whole, which stands in no container.
const isReference = (path) => path.length < 2 && path[0].startsWith('$');

function array(value) {
  if (!Array.isArray(value)) throw new TypeError('the op changes an array, and this is none');
  return value;
}

const WORDS = new Set(['set', 'append', 'clear', 'delete', 'keep', 'freeze', 'throw']);
const SPELLING = {
  set: { means: 'set', path: 'set', value: 'to' },
  delete: { means: 'delete', path: 'delete' },
  clear: { means: 'clear', path: 'clear' },
};

export { deepFreeze };

export class Ops {
  constructor({ makeModel }) {
    this.makeModel = makeModel;
    this.kept = Object.create(null);
    this.errors = [];
  }

  // Runs a hook's ops; gives what the hook returns, or throws what the hook throws.
  run(ops, argument, where) {
    for (const [number, op] of (ops ?? []).entries()) {
      try {
        if ('return' in op) return this.result(op, argument);
        this.apply(op, argument);
      } catch (error) {
        if (error instanceof Thrown) throw new Error(error.message);
        if (!(error instanceof Nowhere)) throw new TypeError(REFUSED, { cause: error });
        this.errors.push(`${where}, op ${number}: ${error.message}`);
      }
    }
    return undefined;
  }

  apply(op, argument) {
    const word = Object.keys(op).find((key) => WORDS.has(key));
    if (write(this.turn(argument), SPELLING, word, op)) return;
    if (word === 'append') this.append(op.append, op.with, argument);
    else if (word === 'keep') this.kept[op.as] = this.at(op.keep, argument);
    else if (word === 'freeze') deepFreeze(this.at(op.freeze, argument));
    else throw new Thrown(op.throw);
  }

  turn(argument) {
    return {
      at: (_, path) => this.at(path, argument),
      field: (_, path, options) => this.field(path, argument, options),
      items: array,
      value: (op, { value }) => this.value(op[value], argument),
    };
  }

  // Pushes to an array, which may be a kept one, or adds to the text of a field.
  append(path, json, argument) {
    const kept = isReference(path) ? this.at(path, argument) : undefined;
    if (Array.isArray(kept)) {
      kept.push(this.value(json, argument));
      return;
    }
    const field = this.field(path, argument);
    const added = this.value(json, argument);
    if (typeof field.get() === 'string') field.put(field.get() + added);
    else array(field.get()).push(added);
  }

  // Where a path ends. A kept reference stands in no container: it cannot be assigned itself.
  field(path, argument, options) {
    if (isReference(path)) throw new Nowhere(`${path[0]} is a reference, not a field`);
    const container = path.length < 2 ? argument : this.at(path.slice(0, -1), argument);
    return new Slot(container, slot(container, path.at(-1), options));
  }

  at([first, ...keys], argument) {
    return below(first.startsWith('$') ? this.reference(first.slice(1)) : argument[slot(argument, first)], keys);
  }

  reference(name) {
    if (!(name in this.kept)) throw new Nowhere(`nothing is kept as ${name}`);
    return this.kept[name];
  }

  value(json, argument) {
    if (Array.isArray(json)) return json.map((item) => this.value(item, argument));
    if (!isObject(json)) return json;
    if ('$ref' in json) return this.at(json.$ref, argument);
    if ('$clone' in json) return structuredClone(this.at(json.$clone, argument));
    return Object.fromEntries(Object.entries(json).map(([key, item]) => [key, this.value(item, argument)]));
  }

  result(op, argument) {
    if (op.return === null) return null;
    const result = {};
    for (const [field, json] of Object.entries(op.return)) {
      if (field === 'messages' && Array.isArray(json)) {
        result.messages = json.reduce((list, stage) => this.stage(list, stage, argument), argument.messages);
      } else if (field === 'model' && typeof json === 'string') {
        result.model = this.makeModel(json);
      } else {
        result[field] = this.value(json, argument);
      }
    }
    if (op.keep) this.kept[op.keep] = result.messages ?? result;
    return result;
  }

  stage(list, stage, argument) {
    if (stage === 'copy') return [...list];
    if (stage === 'clone') return structuredClone(list);
    if (stage.keepRoles) return list.filter((message) => stage.keepRoles.includes(message.role));
    if (stage.dropRoles) return list.filter((message) => !stage.dropRoles.includes(message.role));
    if (stage.replace) {
      const index = slot(list, stage.replace.at);
      const replacement = { ...list[index], ...this.value(stage.replace.with, argument) };
      return list.map((message, i) => (i === index ? replacement : message));
    }
    if (stage.append) return [...list, ...this.value(stage.append, argument)];
    if (stage.prepend) return [...this.value(stage.prepend, argument), ...list];
    if (stage.slice) return list.slice(...stage.slice);
    return this.value(stage.literal, argument);
  }
}

// A value as it is in a trace: undefined and functions are dropped, a URL is its text, bytes are {bytes}, an error is its name and
// message, an object inside itself is {cycle: levels up}; ids and times that the implementation draws are left out.
export function plain(value, { drawn } = {}, above = []) {
  if (typeof value === 'function' || typeof value === 'symbol' || value instanceof Date || drawn?.has(value)) return undefined;
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'number' && !Number.isFinite(value)) return null;
  if (!isObject(value)) return value;
  if (value instanceof URL) return value.href;
  if (ArrayBuffer.isView(value)) return { bytes: Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64') };
  if (value instanceof Error) return { name: value.name, message: value.message };
  const level = above.lastIndexOf(value);
  if (level >= 0) return { cycle: above.length - level };
  const inside = [...above, value];
  if (Array.isArray(value)) return value.map((item) => plain(item, { drawn }, inside) ?? null);
  const fields = Object.entries(value).map(([key, item]) => [key, plain(item, { drawn }, inside)]);
  return Object.fromEntries(fields.filter(([, item]) => item !== undefined));
}

// Where the ops of all formats lead in live JavaScript objects, and what they write there. An element may be counted from the end, a field is
// one of the object's own. (agentcore/kit/ops.py is the same in Python.)

// A path leads to nothing, or to where the op cannot be done.
export class Nowhere extends Error {}

export const isObject = (value) => value !== null && typeof value === 'object';

// The index of the element that a key names; undefined where there is none.
export function indexIn(list, key) {
  if (!Number.isInteger(key)) return undefined;
  const index = key < 0 ? list.length + key : key;
  return index >= 0 && index < list.length ? index : undefined;
}

// The key as the container has it. `fresh`: a field that the object lacks will do.
export function slot(container, key, { fresh = false } = {}) {
  if (!isObject(container)) throw new Nowhere(`${JSON.stringify(key)} of something that is not an object`);
  if (Array.isArray(container)) {
    const index = indexIn(container, key);
    if (index === undefined) throw new Nowhere(`no element ${JSON.stringify(key)}`);
    return index;
  }
  if (typeof key !== 'string') throw new Nowhere(`${key} of an object`);
  if (!fresh && !(has(container, key) && container[key] !== undefined)) throw new Nowhere(`no field ${JSON.stringify(key)}`);
  return key;
}

// What a path leads to.
export function below(value, path) {
  let found = value;
  for (const key of path) found = found[slot(found, key)];
  return found;
}

// An own field, or an accessor of a class such as the step result's `toolCalls`; not what every object inherits.
function has(object, key) {
  if (Object.hasOwn(object, key)) return true;
  const prototype = Object.getPrototypeOf(object);
  return prototype !== Object.prototype && Object.getOwnPropertyDescriptor(prototype ?? {}, key)?.get !== undefined;
}

// A field or an element that takes any value.
export class Slot {
  constructor(container, key) {
    Object.assign(this, { container, key });
  }
  get() {
    return this.container[this.key];
  }
  put(value) {
    this.container[this.key] = value;
  }
  drop() {
    if (Array.isArray(this.container)) this.container.splice(this.key, 1);
    else delete this.container[this.key];
  }
}

// What ops do. A turn says where they lead: `at(op, path)` is a live object, `field(op, path, {fresh})` where to write, `items(live, what)` a list to
// change; and what is written: `value(op, spelling)`, `item(item)`.
const ALGEBRA = {
  set(turn, spelling, op) {
    const field = turn.field(op, op[spelling.path], { fresh: true });
    field.put(turn.value(op, spelling));
  },
  delete: (turn, { path }, op) => turn.field(op, op[path]).drop(),
  addText(turn, spelling, op) {
    const field = turn.field(op, op[spelling.path]);
    if (typeof field.get() !== 'string') throw new Nowhere('only a string can be appended to');
    field.put(field.get() + turn.value(op, spelling));
  },
  push: (turn, spelling, op) => itemsOf(turn, spelling, op, 'what is pushed to').push(turn.value(op, spelling)),
  splice(turn, spelling, op) {
    const items = itemsOf(turn, spelling, op, 'what is spliced');
    items.splice(op.start ?? 0, op.count ?? items.length, ...(op.items ?? []).map((item) => turn.item(item)));
  },
  reverse: (turn, spelling, op) => itemsOf(turn, spelling, op, 'what is reversed').reverse(),
  clear(turn, spelling, op) {
    itemsOf(turn, spelling, op, 'what is cleared').length = 0;
  },
};

const itemsOf = (turn, { path }, op, what) => turn.items(turn.at(op, op[path] ?? []), what);

// Does an op that writes. `spelling` says for a format's words which of these each means, and which fields of the op have its path and its value.
// False where the word is none of them.
export function write(turn, spelling, word, op) {
  if (!Object.hasOwn(spelling, word)) return false;
  ALGEBRA[spelling[word].means](turn, spelling[word], op);
  return true;
}

// Where the ops of all formats lead in live JavaScript objects: an element may be counted from the end, a field is one of the object's own.
// (agentcore/kit/ops.py is the same in Python.)

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

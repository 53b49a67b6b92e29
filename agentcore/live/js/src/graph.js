// Objects as nodes with slots: what can be copied, how to make a copy, what changed. No code of the objects is run.
import { types } from 'node:util';

const plainPrototypes = new Set([Object.prototype, null]);
const privateState = /#[A-Za-z_$]|__classPrivateField/;
// `fields.set(this, ...)`: private fields in a WeakMap beside the class. A collection of a method's own holds no state.
const besides = /([\w$]+)\.(?:set|add)\(this\b/g;
const isBeside = (source) =>
  Array.from(source.matchAll(besides), ([, name]) => name).some(
    (name) => !new RegExp(`\\b(?:const|let|var)\\s+${name.replaceAll('$', '\\$')}\\b`).test(source),
  );
const classVerdicts = new WeakMap();

// A class with private state breaks if its fields are copied: private names are not copied with them, and a WeakMap does not know the copy.
function hidesState(prototype) {
  for (let at = prototype; !plainPrototypes.has(at); at = Object.getPrototypeOf(at)) {
    const maker = Object.getOwnPropertyDescriptor(at, 'constructor')?.value;
    if (typeof maker !== 'function') return true;
    const source = Function.prototype.toString.call(maker);
    if (privateState.test(source) || isBeside(source) || /\[native code\]\s*}$/.test(source)) return true;
  }
  return false;
}

function copyableClass(prototype) {
  let verdict = classVerdicts.get(prototype);
  if (verdict === undefined) classVerdicts.set(prototype, (verdict = !hidesState(prototype)));
  return verdict;
}

// Models and schemas are found by their members: they are tools of the program, not data of the conversation. What merely carries a model's
// functions, as the argument of a middleware does, is data.
const isTool = (value) =>
  ('doGenerate' in value && 'specificationVersion' in value) ||
  '_zod' in value ||
  '~standard' in value ||
  typeof value.then === 'function';

/**
 * What `value` is: 'array', 'object', 'instance', 'map', 'set', 'date', 'bytes'; undefined if it stays itself; 'opaque' if it stays
 * itself and may hold data that nobody can look into.
 */
export function kindOf(value) {
  if (typeof value !== 'object' || value === null) return undefined;
  if (Array.isArray(value)) return 'array';
  const prototype = Object.getPrototypeOf(value);
  if (plainPrototypes.has(prototype)) return isTool(value) ? undefined : 'object';
  if (ArrayBuffer.isView(value)) return 'bytes';
  if (types.isMap(value)) return 'map';
  if (types.isSet(value)) return 'set';
  if (types.isDate(value)) return 'date';
  return kindOfInstance(value, prototype);
}

const standing = [
  URL,
  RegExp,
  AbortSignal,
  AbortController,
  ReadableStream,
  WritableStream,
  TransformStream,
  Headers,
  Request,
  Response,
  Blob,
  ArrayBuffer,
];

function kindOfInstance(value, prototype) {
  if (types.isNativeError(value) || types.isProxy(value) || types.isPromise(value) || isTool(value))
    return undefined;
  if (standing.some((type) => value instanceof type) || types.isWeakMap(value) || types.isWeakSet(value))
    return undefined;
  return copyableClass(prototype) ? 'instance' : 'opaque';
}

/** The slots of a node: keys and values in order. Getters are values of their own kind and are never run. */
export function slotsOf(node, kind) {
  if (kind === 'array' && isDense(node))
    return { keys: undefined, values: node.slice(), accessors: undefined };
  if (kind === 'map') return { keys: [...node.keys()], values: [...node.values()], accessors: undefined };
  if (kind === 'set') return { keys: undefined, values: [...node], accessors: undefined };
  if (kind === 'date') return { keys: undefined, values: [node.getTime()], accessors: undefined };
  if (kind === 'bytes')
    return {
      keys: undefined,
      values: [Buffer.from(node.buffer, node.byteOffset, node.byteLength).toString('latin1')],
      accessors: undefined,
    };
  return slotsOfObject(node, kind);
}

const isDense = (array) => Object.keys(array).length === array.length;

function slotsOfObject(node, kind) {
  const keys = Reflect.ownKeys(node);
  if (kind === 'array') keys.splice(keys.indexOf('length'), 1);
  const values = new Array(keys.length);
  let accessors;
  for (let index = 0; index < keys.length; index++) {
    const property = Object.getOwnPropertyDescriptor(node, keys[index]);
    if (property.get || property.set) (accessors ??= new Map()).set(keys[index], property);
    values[index] = property.get ?? property.set ?? property.value;
  }
  return {
    keys,
    values,
    accessors,
    plain: accessors === undefined && Object.keys(node).length === keys.length,
  };
}

/**
 * Whether a node is as `slots` tells, without a new reading where its fields are plain: for programs that run, where an accessor in the place
 * of a field would be read as one.
 */
export function stillSame(node, kind, slots) {
  const { keys, values } = slots;
  if (kind === 'array' && keys === undefined)
    return node.length === values.length && values.every((value, index) => Object.is(value, node[index]));
  if (!slots.plain) return sameSlots(slotsOf(node, kind), slots);
  if (Object.keys(node).length !== keys.length) return false;
  return keys.every(
    (key, index) => Object.is(values[index], node[key]) && (values[index] !== undefined || key in node),
  );
}

/** Whether two readings of slots are the same, in the same order, holding the same things. */
export function sameSlots(one, other) {
  const { keys, values } = one;
  if (values.length !== other.values.length || (keys === undefined) !== (other.keys === undefined))
    return false;
  for (let index = 0; index < values.length; index++) {
    if (!Object.is(values[index], other.values[index])) return false;
    if (keys !== undefined && !Object.is(keys[index], other.keys[index])) return false;
  }
  return true;
}

/** An empty node of the same class as `node`. */
export function shellOf(node, kind) {
  if (kind === 'array')
    return Object.getPrototypeOf(node) === Array.prototype
      ? []
      : Object.setPrototypeOf([], Object.getPrototypeOf(node));
  if (kind === 'map') return new Map();
  if (kind === 'set') return new Set();
  if (kind === 'date') return new Date(node.getTime());
  if (kind === 'bytes') return Buffer.isBuffer(node) ? Buffer.from(node) : node.slice();
  return Object.create(Object.getPrototypeOf(node));
}

/** Fills `shell` with the slots of `node`, values replaced by `map(value)`, and makes it as frozen as `node` is. */
export function fill(shell, node, kind, slots, map) {
  if (kind === 'map') slots.keys.forEach((key, index) => shell.set(map(key), map(slots.values[index])));
  else if (kind === 'set') slots.values.forEach((value) => shell.add(map(value)));
  else if (kind === 'array' && slots.keys === undefined)
    slots.values.forEach((value, index) => {
      shell[index] = map(value);
    });
  else if (kind !== 'date' && kind !== 'bytes') fillObject(shell, node, kind, slots, map);
  if (Object.isFrozen(node)) Object.freeze(shell);
  else if (Object.isSealed(node)) Object.seal(shell);
  else if (!Object.isExtensible(node)) Object.preventExtensions(shell);
}

function fillObject(shell, node, kind, { keys, values, accessors }, map) {
  keys.forEach((key, index) => {
    if (accessors?.has(key)) Object.defineProperty(shell, key, accessors.get(key));
    else define(shell, node, key, map(values[index]));
  });
  if (kind === 'array') shell.length = node.length;
}

// Frozen nodes have read-only properties; freezing the copy at the end makes these so again.
function define(shell, node, key, value) {
  const { enumerable } = Object.getOwnPropertyDescriptor(node, key);
  if (enumerable && key !== '__proto__') shell[key] = value;
  else Object.defineProperty(shell, key, { value, enumerable, writable: true, configurable: true });
}

/** Puts the slots that `node` had back into it. */
export function restore(node, kind, { keys, values, accessors }) {
  if (Object.isFrozen(node)) return;
  if (kind === 'map') {
    node.clear();
    keys.forEach((key, index) => node.set(key, values[index]));
  } else if (kind === 'set') {
    node.clear();
    values.forEach((value) => node.add(value));
  } else if (kind === 'date') node.setTime(values[0]);
  else if (kind === 'bytes')
    Buffer.from(node.buffer, node.byteOffset, node.byteLength).write(values[0], 'latin1');
  else if (kind === 'array' && keys === undefined) {
    node.length = 0;
    values.forEach((value, index) => {
      node[index] = value;
    });
  } else restoreObject(node, keys, values, accessors);
}

function restoreObject(node, keys, values, accessors) {
  for (const key of Reflect.ownKeys(node)) if (key !== 'length' || !Array.isArray(node)) delete node[key];
  keys.forEach((key, index) => {
    if (accessors?.has(key)) Object.defineProperty(node, key, accessors.get(key));
    else node[key] = values[index];
  });
}

/** The text of a place below `place`. */
export function placeBelow(place, key, kind) {
  if (kind === 'array' || kind === 'set') return `${place}[${String(key)}]`;
  if (kind === 'map') return `${place}.get(${shortText(key)})`;
  const name = String(key);
  if (!/^[A-Za-z_$][\w$]*$/.test(name)) return `${place}[${JSON.stringify(name)}]`;
  return place === '' ? name : `${place}.${name}`;
}

/** A value as short text. */
export function shortText(value) {
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'symbol' || typeof value === 'bigint' || value === undefined) return String(value);
  let text;
  try {
    text = JSON.stringify(value);
  } catch {
    text = undefined;
  }
  text ??= Object.prototype.toString.call(value);
  return text.length <= 120 ? text : `${text.slice(0, 100)}... (${text.length} characters)`;
}

// Places in what the SDK holds, by paths in the programs' neutral form (spec/program-format-middleware.md).
//
// A shape knows what may stand at a place: `fits` a value of a program, `make` the SDK's object of it, `show` it again, and `step` to what
// lies inside. A place is `{shape, native, put, drop}`: the live object, and how to replace it or take it out, where that can be done.
import { indexIn, isObject, Nowhere } from './writes.mjs';

const isDictionary = (value) => isObject(value) && !Array.isArray(value);

const text = { fits: (value) => typeof value === 'string', make: (value) => value, show: (native) => native, inside: () => [] };
const one = (...words) => ({ ...text, fits: (value) => words.includes(value) });

function jsonInside(native) {
  if (!isObject(native)) return [];
  return Object.entries(native).map(([key, value]) => ({ ...jsonPlace(native, key, value), key: Array.isArray(native) ? Number(key) : key }));
}

function jsonPlace(container, key, native) {
  const drop = Array.isArray(container) ? () => container.splice(key, 1) : () => delete container[key];
  return { shape: json, native, put: (value) => { container[key] = value; }, drop: native === undefined ? undefined : drop };
}

const json = {
  fits: () => true,
  make: (value) => structuredClone(value),
  show: (native) => JSON.parse(JSON.stringify(native)),
  inside: jsonInside,
  free: true,
  step(native, key) {
    if (Array.isArray(native)) return element(native, key, (index) => jsonPlace(native, index, native[index]));
    if (!isDictionary(native) || typeof key !== 'string') return undefined;
    return jsonPlace(native, key, Object.hasOwn(native, key) ? native[key] : undefined);
  },
};
const dictionary = { ...json, fits: isDictionary };
// The options of an invocation, with the state of it.
const options = {
  ...dictionary,
  fits: (value) => isDictionary(value) && (value.invocationState === undefined || isDictionary(value.invocationState)),
  step(native, key) {
    const place = json.step(native, key);
    return place && key === 'invocationState' ? { ...place, shape: dictionary } : place;
  },
};
// Without what the SDK measures; where nothing else is, nothing is shown.
const metadata = { ...dictionary, show: ({ usage, metrics, ...others }) => (Object.keys(others).length > 0 ? json.show(others) : undefined) };

function element(list, key, place) {
  const index = indexIn(list, key);
  return index === undefined ? undefined : place(index);
}

// `of` is the shape of the elements; `of(list)` where the list itself has to be looked at.
function list(of) {
  const at = (native) => (typeof of === 'function' ? of(native) : of);
  const place = (native, index) => ({
    shape: at(native),
    native: native[index],
    put: (value) => { native[index] = value; },
    drop: () => native.splice(index, 1),
  });
  return {
    fits: (value) => Array.isArray(value) && value.every((item) => at(value).fits(item)),
    make: (value, form) => value.map((item) => at(value).make(item, form)),
    show: (native) => native.map((item) => at(native).show(item)),
    inside: (native) => native.map((_, index) => ({ ...place(native, index), key: index })),
    step: (native, key) => element(native, key, (index) => place(native, index)),
    element: (native, value) => at(native.length > 0 ? native : [value]),
  };
}

// An object of named fields: `[shape, {native: its name in the SDK, optional, fixed: it cannot be replaced}]`. `make` builds it from the fields.
export function record(fields, make = (made) => made) {
  const known = Object.entries(fields).map(([key, [shape, { native: name = key, optional = false, fixed = false } = {}]]) => ({ key, shape, name, optional, fixed }));
  const place = (native, { shape, name, optional, fixed }) => ({
    shape,
    native: native[name],
    put: fixed ? undefined : (value) => { native[name] = value; },
    drop: optional && native[name] !== undefined ? () => { delete native[name]; } : undefined,
  });
  return {
    names: Object.keys(fields),
    fits: (value) =>
      isDictionary(value) &&
      Object.keys(value).every((key) => Object.hasOwn(fields, key)) &&
      known.every(({ key, shape, optional }) => (Object.hasOwn(value, key) ? shape.fits(value[key]) : optional)),
    make: (value, form) =>
      make(Object.fromEntries(known.filter(({ key }) => key in value).map(({ key, shape, name }) => [name, shape.make(value[key], form)])), form),
    show: (native) =>
      Object.fromEntries(known.filter(({ name }) => native[name] !== undefined).map(({ key, shape, name }) => [key, shape.show(native[name])])),
    inside: (native) => known.filter(({ name }) => native[name] !== undefined).map((field) => ({ ...place(native, field), key: field.key })),
    step(native, key) {
      const field = known.find((candidate) => candidate.key === key);
      return field && place(native, field);
    },
  };
}

const KIND_OF_TYPE = { textBlock: 'text', toolUseBlock: 'toolUse', toolResultBlock: 'toolResult', reasoningBlock: 'reasoning', cachePointBlock: 'cachePoint', guardContentBlock: 'guardContent', jsonBlock: 'json' };

// A block is a class instance, which is itself what stands under its kind (a text's and a JSON value's field apart), or plain data.
function block(kinds, classes) {
  const flat = (kind) => kind === 'text' || kind === 'json';
  const isInstance = (native) => typeof native.type === 'string' && native.type in KIND_OF_TYPE;
  const kindOf = (native) => (isInstance(native) ? KIND_OF_TYPE[native.type] : Object.keys(native)[0]);
  const step = (native, key) => {
    if (key !== kindOf(native)) return undefined;
    const shape = kinds[key];
    if (flat(key)) return { shape, native: native[key], put: (value) => { native[key] = value; } };
    return isInstance(native) ? { shape, native, same: true } : { shape, native: native[key], inner: (value) => { native[key] = value; } };
  };
  return {
    fits(value) {
      const [kind, ...others] = isDictionary(value) ? Object.keys(value) : [];
      return others.length === 0 && kind !== undefined && Object.hasOwn(kinds, kind) && kinds[kind].fits(value[kind]);
    },
    make(value, form) {
      const [kind] = Object.keys(value);
      const made = kinds[kind].make(value[kind], form);
      return form === 'data' ? { [kind]: made } : classes[kind](made);
    },
    show: (native) => ({ [kindOf(native)]: kinds[kindOf(native)].show(step(native, kindOf(native)).native) }),
    inside: (native) => [{ ...step(native, kindOf(native)), key: kindOf(native) }],
    step,
  };
}

export function shapes(sdk) {
  const toolUse = record({ name: [text], toolUseId: [text], input: [json] });
  const classes = {
    text: (made) => new sdk.TextBlock(made),
    json: (made) => new sdk.JsonBlock({ json: made }),
    toolUse: (made) => new sdk.ToolUseBlock(made),
    toolResult: (made) => new sdk.ToolResultBlock(made),
    reasoning: (made) => new sdk.ReasoningBlock(made),
    cachePoint: (made) => new sdk.CachePointBlock(made),
    guardContent: (made) => new sdk.GuardContentBlock(made),
  };
  const resultFields = { toolUseId: [text], status: [one('success', 'error')], content: [list(block({ text, json }, classes))] };
  const guard = record({ text: [record({ text: [text], qualifiers: [list(text)] })] });
  const cachePoint = record({ type: [text, { native: 'cacheType' }] });
  const reasoning = record({ text: [text], signature: [text, { optional: true }] });
  const blocks = list(block({ text, toolUse, toolResult: record(resultFields), reasoning, cachePoint, guardContent: guard }, classes));
  const asMessage = (made, form) => (form === 'data' ? made : new sdk.Message(made));
  const message = record({ role: [one('user', 'assistant')], content: [blocks], metadata: [metadata, { optional: true }] }, asMessage);
  const messages = list(message);
  const input = list((native) => (isDictionary(native[0]) && 'role' in native[0] ? message : blocks.element([], native[0])));
  const systemBlocks = list(block({ text, cachePoint, guardContent: guard }, classes));
  const spec = record({ name: [text], description: [text], inputSchema: [json] });
  return {
    text, json, dictionary, options, messages, message, toolUse, blocks, systemBlocks,
    block: blocks.element([], undefined),
    toolResult: record(resultFields, (made) => new sdk.ToolResultBlock(made)),
    toolSpecs: list(spec),
    system: either(text, systemBlocks, { nothing: true }),
    args: either(text, input),
  };
}

// A text or a list. `nothing`: null is a value too, and is undefined in the SDK.
function either(first, second, { nothing = false } = {}) {
  const of = (value) => (typeof value === 'string' ? first : second);
  const none = (value) => nothing && (value === null || value === undefined);
  return {
    fits: (value) => none(value) || of(value).fits(value),
    make: (value, form) => (none(value) ? undefined : of(value).make(value, form)),
    show: (native) => (none(native) ? null : of(native).show(native)),
    inside: (native) => (none(native) ? [] : of(native).inside(native)),
    step: (native, key) => (none(native) ? undefined : of(native).step?.(native, key)),
    element: (native, value) => second.element(native, value),
  };
}

// --- edits ----------------------------------------------------------------------------------------------------

const shallow = (native) => (Array.isArray(native) ? [...native] : Object.assign(Object.create(Object.getPrototypeOf(native)), native));

function inside(place, key) {
  const found = isObject(place.native) ? place.shape.step?.(place.native, key) : undefined;
  if (found === undefined) throw new Nowhere();
  return found;
}

// The place that `path` leads to. `making`: dictionaries that are missing on the way are made. `copying`: what is on the way is copied first.
function reach(root, path, { making, copying }) {
  let place = root;
  for (const key of path) {
    place = inside(place, key);
    if (place.native === undefined && making && place.shape.free && place.put) {
      place.native = {};
      place.put(place.native);
    } else if (copying && isObject(place.native) && !place.same) {
      place.native = shallow(place.native);
      (place.put ?? place.inner)(place.native);
    }
  }
  return place;
}

// Makes one edit, or throws Nowhere and leaves everything as it was but for dictionaries made on the way.
export function edit(root, action, { path, value, index }, { form = 'message', copying = false } = {}) {
  if (action === 'append' || action === 'insert') return extend(reach(root, path, { copying }), action === 'append' ? undefined : index, value, form);
  const container = reach(root, path.slice(0, -1), { making: action === 'set', copying });
  const place = inside(container, path.at(-1));
  if (action === 'delete') {
    if (!place.drop || container === root) throw new Nowhere();
    place.drop();
  } else {
    if (!place.put || !place.shape.fits(value)) throw new Nowhere();
    place.put(place.shape.make(value, form));
  }
  return undefined;
}

function extend({ shape, native }, index, value, form) {
  if (!Array.isArray(native)) throw new Nowhere();
  const at = index === undefined ? native.length : index < 0 ? native.length + index : index;
  const item = shape.free ? json : shape.element(native, value);
  if (at < 0 || at > native.length || !item.fits(value)) throw new Nowhere();
  native.splice(at, 0, item.make(value, form));
}

// What stands at a path, as JSON; null where nothing does.
export function look(root, path) {
  try {
    const { shape, native } = reach(root, path, {});
    return native === undefined || native === null ? null : (shape.show(native) ?? null);
  } catch (error) {
    if (error instanceof Nowhere) return null;
    throw error;
  }
}

// --- who holds what -------------------------------------------------------------------------------------------

// The objects at a place and inside it, outermost first, each with its path. `visit` says whether to look inside.
export function visitObjects(place, path, visit) {
  if (!isObject(place.native)) return;
  if (!place.same && !visit(place.native, path)) return;
  for (const { key, ...within } of place.shape.inside(place.native)) visitObjects(within, [...path, key], visit);
}

// The objects of a place with their paths; of one that is there twice the first.
export function objectsOf(place, path = []) {
  const found = new Map();
  visitObjects(place, path, (native, at) => {
    if (found.has(native)) return false;
    found.set(native, at);
    return true;
  });
  return found;
}

// The outermost objects of a place that `known` has: `[path here, what known has of it]`.
export function shared(place, path, known) {
  const found = [];
  visitObjects(place, path, (native, at) => {
    if (known.has(native)) found.push([at, known.get(native)]);
    return !known.has(native);
  });
  return found;
}

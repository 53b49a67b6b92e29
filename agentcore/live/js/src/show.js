// Values as canonical text, and where two of them differ.

/** A value as a tree of JSON: getters are not run, classes are plain, cycles and what is no data are named. */
export function tree(value, above = []) {
  if (typeof value === 'bigint' || typeof value === 'symbol') return `<${String(value)}>`;
  if (typeof value === 'number')
    return Number.isFinite(value) && !Object.is(value, -0)
      ? value
      : `<${Object.is(value, -0) ? '-0' : value}>`;
  if (typeof value === 'function') return '<function>';
  if (value === undefined) return '<undefined>';
  if (typeof value !== 'object' || value === null) return value;
  if (above.includes(value)) return '<cycle>';
  above.push(value);
  const shown = treeOfObject(value, above);
  above.pop();
  return shown;
}

function treeOfObject(value, above) {
  if (Array.isArray(value)) return Array.from(value, (item) => tree(item, above));
  if (ArrayBuffer.isView(value))
    return `<bytes ${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64')}>`;
  if (value instanceof Date) return `<date ${value.getTime()}>`;
  if (value instanceof URL || value instanceof RegExp) return `<${value}>`;
  if (value instanceof Error) return { name: value.name, message: value.message };
  if (value instanceof Map) return { '<map>': Array.from(value, (entry) => tree(entry, above)) };
  if (value instanceof Set) return { '<set>': Array.from(value, (item) => tree(item, above)) };
  return treeOfFields(value, above);
}

function treeOfFields(value, above) {
  const fields = {};
  for (const key of Object.keys(value)) {
    const property = Object.getOwnPropertyDescriptor(value, key);
    if ('value' in property && property.value !== undefined) fields[key] = tree(property.value, above);
  }
  return fields;
}

/** The canonical text of a value. */
export const show = (value) => JSON.stringify(tree(value));

/** The places at which two trees differ, topmost first: of a list of another length, the list itself when `lengths` is set. */
export function differences(one, other, place = '') {
  if (Object.is(one, other)) return [];
  if (isTree(one) && isTree(other) && Array.isArray(one) === Array.isArray(other))
    return differencesBelow(one, other, place);
  return [place];
}

/** Whether two trees are the same. */
export function sameTrees(one, other) {
  if (Object.is(one, other)) return true;
  if (!isTree(one) || !isTree(other) || Array.isArray(one) !== Array.isArray(other)) return false;
  const keys = Object.keys(one);
  if (keys.length !== Object.keys(other).length) return false;
  return keys.every((key) => key in other && sameTrees(one[key], other[key]));
}

const isTree = (value) => typeof value === 'object' && value !== null;

function differencesBelow(one, other, place) {
  const found = [];
  const isList = Array.isArray(one);
  for (const key of new Set([...Object.keys(one), ...Object.keys(other)])) {
    const below = isList ? `${place}[${key}]` : `${place}.${key}`;
    if (!(key in one) || !(key in other)) found.push(below);
    else found.push(...differences(one[key], other[key], below));
  }
  return found;
}

/** All leaves of a tree as `[label, value]`; the label is the name of the field with that of the object it is in. */
export function leavesOf(value, label = '', above = '') {
  if (!isTree(value)) return [[label, value]];
  if (Array.isArray(value)) return value.flatMap((item) => leavesOf(item, label, above));
  const keys = Object.keys(value);
  return keys.flatMap((key) => (isStructure(key, keys) ? [] : leavesOf(value[key], `${above}.${key}`, key)));
}

// Roles, and types of parts, say what kind a message is; a marker such as {"type": "ephemeral"} is content.
const isStructure = (key, keys) => key === 'role' || (key === 'type' && keys.length > 1);

// The person's hook in a module: found by its export, made by a factory or a class, or a method of an object.
import { NotJudged } from './files.js';

/**
 * What the boundary `at` calls of the exported value, and what other boundaries call of the same object: `{hook, beside, owner}`. Hooks of one
 * object may share what they keep. `owner` is the object that has the others, if the value is none.
 */
export async function hookOf(module, { name, at, boundaries, factory, owner }) {
  let value = exported(module, name, at);
  if (factory) value = await value();
  else if (isClass(value)) value = new value();
  const hook = callable(value, { name: name ?? at, at, boundary: boundaries[at] });
  return {
    hook,
    beside: besides(owner ?? value, at, boundaries),
    owner: typeof value === 'function' ? owner : value,
  };
}

function besides(value, at, boundaries) {
  const found = {};
  if (typeof value !== 'object' || value === null || boundaries[at].methods) return found;
  for (const [name, { methods, method = name }] of Object.entries(boundaries)) {
    const holder = [value, value.settings].find((each) => typeof each?.[method] === 'function');
    if (name !== at && !methods && holder) found[name] = holder[method].bind(holder);
  }
  return found;
}

function exported(module, name, at) {
  const names = name === undefined ? [at, 'default'] : [name];
  for (const wanted of names) {
    const value = memberOf(module, wanted);
    if (value !== undefined) return value;
    const inDefault = memberOf(module.default, wanted);
    if (inDefault !== undefined && wanted !== 'default') return inDefault;
  }
  const all = Object.keys(module).join(', ') || 'nothing';
  throw new NotJudged(
    'no-hook',
    `the module exports no ${names.join(' or ')}; it exports ${all}. Export the hook, or a function that makes it (--factory)`,
  );
}

// Some boundaries have a dot in their names.
const memberOf = (owner, name) =>
  owner?.[name] ?? name.split('.').reduce((holder, key) => holder?.[key], owner);

const isClass = (value) =>
  typeof value === 'function' && /^class\b/.test(Function.prototype.toString.call(value));

function callable(value, { name, at, boundary }) {
  if (boundary.methods) {
    const has = (each) =>
      Object.keys(boundary.methods).some((method) => typeof each?.[method] === 'function');
    if (has(value) || (Array.isArray(value) && value.length > 0 && value.every(has))) return value;
    throw new NotJudged(
      'no-hook',
      `${name} has no method ${Object.keys(boundary.methods).join(', ')}; at ${at} an object with one of them is expected`,
    );
  }
  if (typeof value === 'function') return value;
  const method = boundary.method ?? at;
  const owner = [value, value?.settings].find((holder) => typeof holder?.[method] === 'function');
  if (owner) return owner[method].bind(owner);
  const several = [value, value?.[method], value?.settings?.[method]].find(isListOfFunctions);
  if (several && boundary.list) return boundary.list(several);
  throw new NotJudged(
    'no-hook',
    `${name} is ${describeType(value)}, neither a function nor an object with a method ${method}; use --factory if it makes the hook`,
  );
}

const isListOfFunctions = (value) =>
  Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === 'function');

const describeType = (value) =>
  value === null
    ? 'null'
    : Array.isArray(value)
      ? 'a list'
      : typeof value === 'object'
        ? 'an object'
        : `a ${typeof value}`;

// Built-in objects that a hook may replace: they are put back after each of its calls, because the check relies on them.

const owners = { Object, Array, JSON, Reflect, Map, Set, WeakMap, String, Promise };
const { ownKeys, getOwnPropertyDescriptor, defineProperty } = Reflect;
const known = [];

for (const [name, owner] of Object.entries(owners)) {
  for (const [place, holder] of [
    [name, owner],
    [`${name}.prototype`, owner.prototype],
  ]) {
    if (holder === undefined || holder === null) continue;
    for (const key of ownKeys(holder)) {
      const property = getOwnPropertyDescriptor(holder, key);
      if (typeof property.value === 'function' && property.configurable)
        known[known.length] = { name: `${place}.${String(key)}`, holder, key, property };
    }
  }
}

/** Puts replaced built-ins back and returns the name of the first one, or undefined. */
export function mendBuiltIns() {
  let replaced;
  for (let index = 0; index < known.length; index++) {
    const { name, holder, key, property } = known[index];
    if (holder[key] === property.value) continue;
    defineProperty(holder, key, property);
    replaced ??= name;
  }
  return replaced;
}

const valuesOf = (names) => names.map((name) => [name, getOwnPropertyDescriptor(globalThis, name)]);

/** The global variables: what a run adds to them, or changes, is taken back after it, so that runs are alike. */
export class Globals {
  constructor() {
    this.known = new Map(valuesOf(ownKeys(globalThis)));
  }

  /** Takes back what changed since. */
  restore() {
    for (const name of ownKeys(globalThis)) {
      const before = this.known.get(name);
      const now = getOwnPropertyDescriptor(globalThis, name);
      if (!now.configurable || typeof name === 'symbol') continue;
      if (before === undefined) delete globalThis[name];
      else if (now.value !== before.value) defineProperty(globalThis, name, before);
    }
  }
}

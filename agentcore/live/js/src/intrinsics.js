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

// The bridge between the framework's objects and the hook's: each object of one side has one partner on the other for as long as neither
// is changed. What goes to the hook is a copy; what comes back unchanged is the original again; everything else that comes back is copied.
// The framework never touches the hook's side, so each change there was made by the hook (live.copies-in, live.identity-out, live.write-evidence).
import { fill, kindOf, placeBelow, restore, sameSlots, shellOf, slotsOf, stillSame } from './graph.js';
import { changesOf } from './changes.js';

const OTHER = { framework: 'hook', hook: 'framework' };
const MOST_PATHS = 4;
/** The name of errors at writes of a strict hook that no frozen object refuses. */
export const REFUSED = 'ReadOnlyError';
const FREEZABLE = new Set(['array', 'object', 'instance']);
const PROXIED = new Set(['array', 'object']);

export class Bridge {
  /**
   * @param {object} [options]
   * @param {(place: string) => boolean} [options.through] Writes at these places reach the framework's object, too.
   * @param {'proxy' | {container: string, own: boolean}} [options.watch] How writes get their stacks: from proxies of all that the hook is
   *   given, or from the error at a frozen object.
   * @param {boolean} [options.twin] What the hook made itself comes back to it as a copy, too.
   * @param {boolean} [options.lasting] For as long as the program runs: nothing is kept that nobody else holds, and no places are.
   * @param {boolean} [options.freeze] Everything on the hook's side is frozen, what it returned included.
   * @param {(write: object) => void} [options.wrote] Called for each write.
   */
  constructor({ through, watch, twin = false, lasting = false, freeze = false, wrote = () => {} } = {}) {
    this.tables = lasting
      ? { framework: new WeakMap(), hook: new WeakMap() }
      : { framework: new Map(), hook: new Map() };
    this.pairs = [];
    this.opaque = new Map();
    this.leaves = lasting
      ? { framework: new WeakMap(), hook: new WeakMap() }
      : { framework: new Map(), hook: new Map() };
    Object.assign(this, { through, watch, twin, lasting, freeze, wrote });
  }

  /** The hook's values for the framework's `roots`, a list of `[place, value]`; `stay` holds objects that stay themselves. */
  enter(roots, stay) {
    return this.#translate(roots, 'framework', stay);
  }

  /** The framework's values for what the hook made. */
  leave(roots, stay) {
    return this.#translate(roots, 'hook', stay);
  }

  /** Makes `hook` the partner of the leaf `framework`: a function or a stream. */
  pairLeaf(framework, hook) {
    this.leaves.framework.set(framework, hook);
    this.leaves.hook.set(hook, framework);
  }

  /** The hook's object for one of the framework's. */
  partner(framework) {
    return this.tables.framework.get(framework)?.hook;
  }

  /**
   * Looks for writes since the last look. A `quick` look trusts that fields are fields, and leaves to the next other one what was made an
   * accessor since.
   */
  look({ quick = false } = {}) {
    for (const pair of this.pairs) {
      if (this.tables.hook.get(pair.hook) !== pair) continue;
      if (quick && stillSame(pair.hook, pair.kind, pair.seen)) continue;
      const now = slotsOf(pair.hook, pair.kind);
      if (sameSlots(now, pair.seen)) continue;
      this.#wrote(pair, now);
      pair.seen = now;
    }
  }

  /** Takes the slot `key` of the hook's partner of `owner` over to `owner` itself: an outlet. */
  takeOver(owner, key, stay) {
    const pair = this.tables.framework.get(owner);
    owner[key] = this.leave([[key, pair.hook[key]]], stay)[0];
    pair.slots.framework = slotsOf(pair.framework, pair.kind);
    // This slot is no write; what was written to others is still to be found.
    pair.slots.hook = pair.seen = withSlot(pair.seen, key, pair.hook[key]);
  }

  #settle(pair) {
    pair.slots = { framework: slotsOf(pair.framework, pair.kind), hook: slotsOf(pair.hook, pair.kind) };
    pair.seen = pair.slots.hook;
  }

  #wrote(pair, now) {
    const places = placesOf(pair);
    const { stacks } = pair;
    pair.stacks = undefined;
    const changes = changesOf(pair.seen, now, pair.kind);
    const landing = changes.filter((change) => {
      const below = (place) => (change.key === undefined ? place : placeBelow(place, change.key, pair.kind));
      const write = {
        ...change,
        container: places[0],
        place: below(places[0]),
        places: places.map(below),
        own: pair.own,
        by: stacks?.get(String(change.key)) ?? stacks?.values().next().value,
      };
      this.wrote(write);
      return this.through?.(write);
    });
    const alone = landing.length < changes.length && landing.every(({ key }) => key !== undefined);
    if (alone && ['object', 'instance'].includes(pair.kind)) this.#letSlotsThrough(pair, now, landing);
    else if (landing.length > 0) this.#letThrough(pair);
  }

  // Some of the writes to an object land, and others do not: it has no partner that is like it any more.
  #letSlotsThrough(pair, { keys, values }, changes) {
    for (const { key } of changes) {
      const index = keys.indexOf(key);
      if (index < 0) delete pair.framework[key];
      else pair.framework[key] = this.leave([[String(key), values[index]]])[0];
    }
  }

  #letThrough(pair) {
    const slots = slotsOf(pair.hook, pair.kind);
    const values = this.leave([...slots.values.entries()].map(([index, value]) => [String(index), value]));
    restore(pair.framework, pair.kind, { ...slots, values });
    this.#settle(pair);
  }

  #translate(roots, side, stay) {
    const nodes = this.#reach(roots, side, stay);
    const stale = this.#stale(nodes, side);
    for (const info of stale) this.#pair(info, side);
    const map = (value) => this.#mapped(value, side, nodes);
    for (const { node, kind, slots, pair } of stale) fill(pair.target, node, kind, slots, map);
    if (!this.lasting) for (const info of nodes.values()) nameAfter(info, side);
    for (const { pair } of stale) this.#settle(pair);
    if (this.watch?.container !== undefined) this.#arm(nodes, side);
    if (this.freeze)
      for (const { pair, kind } of nodes.values())
        FREEZABLE.has(kind) ? Object.freeze(pair.hook) : refuseWriters(pair.hook, kind);
    return roots.map(([, value]) => map(value));
  }

  #mapped(value, side, nodes) {
    const info = nodes.get(value);
    return info ? info.pair[OTHER[side]] : (this.leaves[side].get(value) ?? value);
  }

  // Everything that can be copied and is reached from the roots, one root after the other and breadth first, with the ways to it.
  #reach(roots, side, stay) {
    const nodes = new Map();
    const order = [];
    const visit = (value, via) => {
      if (typeof value !== 'object' || value === null || stay?.has(value)) return undefined;
      const known = nodes.get(value);
      if (known) {
        if (!this.lasting && known.vias.length < MOST_PATHS) known.vias.push(via);
        return known;
      }
      const kind = kindOf(value);
      if (kind === 'opaque' && side === 'framework' && !this.lasting && !this.leaves.framework.has(value))
        this.opaque.set(placeOf(via), value.constructor?.name ?? 'object');
      if (kind === undefined || kind === 'opaque') return undefined;
      const info = { node: value, kind, vias: [via], children: [] };
      nodes.set(value, info);
      order.push(info);
      return info;
    };
    let next = 0;
    for (const [place, value] of roots) {
      visit(value, { place });
      for (; next < order.length; next++) this.#visitBelow(order[next], visit, side);
    }
    return nodes;
  }

  #visitBelow(info, visit, side) {
    const pair = this.tables[side].get(info.node);
    const known = this.lasting ? pair?.slots[side] : side === 'hook' ? pair?.seen : pair?.slots.framework;
    info.slots = known && stillSame(info.node, info.kind, known) ? known : slotsOf(info.node, info.kind);
    const { keys, values } = info.slots;
    for (let index = 0; index < values.length; index++) {
      if (info.kind === 'map') visit(keys[index], { above: info, key: `key ${index}` });
      const child = visit(values[index], { above: info, key: keys === undefined ? index : keys[index] });
      if (child) info.children.push([index, child]);
    }
  }

  // Nodes without a partner, with a partner that no longer is like them, or above such a node.
  #stale(nodes, side) {
    const all = [...nodes.values()].reverse();
    for (const info of all) info.pair = this.tables[side].get(info.node);
    const stale = new Set(all.filter((info) => !this.#holds(info, side)));
    for (let before = -1; before !== stale.size;) {
      before = stale.size;
      for (const info of all)
        if (!stale.has(info) && info.children.some(([, child]) => stale.has(child))) stale.add(info);
    }
    return all.reverse().filter((info) => stale.has(info));
  }

  #holds({ pair, slots, kind, children }, side) {
    const other = OTHER[side];
    if (!pair || (this.twin && pair.own && side === 'framework')) return false;
    if (slots !== pair.slots[side] && !sameSlots(slots, pair.slots[side])) return false;
    if (!stillSame(pair[other], kind, pair.slots[other])) return false;
    const { values } = pair.slots[other];
    return children.every(([index, child]) => child.pair && child.pair[other] === values[index]);
  }

  #pair(info, side) {
    const { node, kind } = info;
    const target = shellOf(node, kind);
    const before = side === 'hook' ? this.tables.hook.get(node) : undefined;
    const pair = {
      kind,
      target,
      own: side === 'hook' && !(before && !before.own),
      vias: before?.vias,
      [side]: node,
      [OTHER[side]]: this.#watched(info, side, target),
    };
    this.tables.framework.set(pair.framework, pair);
    this.tables.hook.set(pair.hook, pair);
    if (!this.lasting) this.pairs.push(pair);
    info.pair = pair;
  }

  // Under watch, the hook gets proxies that keep the stack of each write and let it happen.
  #watched(info, side, target) {
    if (info.kind === 'bytes' && side === 'framework' && this.#isArmed(info, false)) return readOnly(target);
    if (this.watch !== 'proxy' || side !== 'framework' || !PROXIED.has(info.kind)) return target;
    const keep =
      (name) =>
      (object, key, ...rest) => {
        if (info.pair.seen !== undefined)
          (info.pair.stacks ??= new Map()).set(String(key), new Error('write'));
        return Reflect[name](object, key, ...rest);
      };
    return new Proxy(target, {
      set: keep('set'),
      deleteProperty: keep('deleteProperty'),
      defineProperty: keep('defineProperty'),
    });
  }

  // What cannot be a proxy is frozen: an object of the hook's own, or one whose hook needs it to be no proxy.
  #arm(nodes, side) {
    if (!this.watch.own && side !== 'framework') return;
    for (const info of nodes.values())
      if (FREEZABLE.has(info.kind) && this.#isArmed(info, info.pair.own)) Object.freeze(info.pair.hook);
  }

  #isArmed({ vias }, isOwn) {
    const { own, container } = this.watch ?? {};
    return container !== undefined && isOwn === own && vias.some((via) => placeOf(via) === container);
  }
}

// Bytes cannot be frozen: a proxy throws at the write instead.
const WRITES_BYTES = /^(?:set|fill|copyWithin|sort|reverse|write.*|swap\d+)$/;

function readOnly(bytes) {
  const refuse = () => {
    throw new TypeError('the bytes are read-only');
  };
  return new Proxy(bytes, {
    set: refuse,
    get(target, key) {
      const value = Reflect.get(target, key);
      if (typeof value !== 'function' || key === 'constructor') return value;
      if (key === 'subarray') return (...range) => readOnly(target.subarray(...range));
      return WRITES_BYTES.test(String(key)) ? refuse : value.bind(target);
    },
  });
}

// What maps, sets, dates and bytes hold cannot be frozen, and a proxy would hinder native functions: the methods that write throw. A write
// to an index of bytes cannot be refused.
const WRITERS = {
  map: /^(?:set|delete|clear)$/,
  set: /^(?:add|delete|clear)$/,
  date: /^set/,
  bytes: WRITES_BYTES,
};

function refuseWriters(node, kind) {
  const refuse = () => {
    throw Object.assign(new TypeError(`the ${kind} is read-only`), { name: REFUSED });
  };
  for (let at = Object.getPrototypeOf(node); at !== Object.prototype; at = Object.getPrototypeOf(at))
    for (const name of Object.getOwnPropertyNames(at))
      if (WRITERS[kind].test(name) && !Object.hasOwn(node, name))
        Object.defineProperty(node, name, { value: refuse, configurable: true });
}

// An object of the hook's own is named as it returned it, then as it was given it back.
function nameAfter({ pair, vias }, side) {
  if (pair.own && side === 'framework')
    pair.vias = [...(pair.made ?? []), ...vias.filter((via) => !pair.made?.includes(via))];
  else if (side === 'framework' || pair.vias === undefined) pair.vias = vias;
  if (side === 'hook') pair.made ??= pair.vias;
}

function withSlot({ keys, values, accessors }, key, value) {
  const index = keys.indexOf(key);
  return index < 0
    ? { keys: [...keys, key], values: [...values, value], accessors }
    : { keys, values: values.with(index, value), accessors };
}

const placesOf = (pair) => [...new Set(pair.vias.map(placeOf))];

function placeOf({ place, above, key }) {
  return above === undefined ? place : placeBelow(placeOf(above.vias[0]), key, above.kind);
}

// What changed between two readings of an object's slots, and between two readings of all that a handle reaches.
import { kindOf, placeBelow, restore, sameSlots, shortText, slotsOf } from './graph.js';

const ABSENT = Symbol('absent');
const text = (value) => (value === ABSENT ? null : shortText(value));
const change = (key, before, after) => ({ key, before: text(before), after: text(after) });

/** The changes between two readings; a change without a key is one of the object as a whole. */
export function changesOf(before, now, kind) {
  if (kind === 'date' || kind === 'bytes') return [change(undefined, before.values[0], now.values[0])];
  if (before.keys === undefined && now.keys === undefined) return changesOfList(before.values, now.values);
  return changesOfKeys(before, now);
}

function changesOfList(before, now) {
  const common = Math.min(before.length, now.length);
  const replaced = [];
  for (let index = 0; index < common; index++)
    if (!Object.is(before[index], now[index])) replaced.push(index);
  if (
    replaced.length > 1 ||
    now.length < before.length ||
    (replaced.length > 0 && now.length > before.length)
  )
    return [change(undefined, before, now)];
  const added = now.slice(common).map((value, index) => change(common + index, ABSENT, value));
  return [...replaced.map((index) => change(index, before[index], now[index])), ...added];
}

function changesOfKeys(before, now) {
  const read = ({ keys, values }) =>
    new Map(values.map((value, index) => [keys === undefined ? index : keys[index], value]));
  const [old, young] = [read(before), read(now)];
  const found = [];
  for (const [key, value] of young) {
    const was = old.has(key) ? old.get(key) : ABSENT;
    if (!Object.is(was, value)) found.push(change(key, was, value));
  }
  for (const [key, value] of old) if (!young.has(key)) found.push(change(key, value, ABSENT));
  return found.length > 0 ? found : [change(undefined, 'order of keys', 'another order')];
}

/** A reading of all that is reached from `roots`, a list of `[place, value]`: what a handle that stays itself gives access to. */
export class Snapshot {
  constructor(roots) {
    this.nodes = new Map();
    const visit = (value, place) => {
      const kind = kindOf(value);
      if (kind === undefined || kind === 'opaque' || this.nodes.has(value)) return;
      this.nodes.set(value, { place, kind });
    };
    for (const [place, value] of roots) visit(value, place);
    for (const [node, info] of this.nodes) {
      info.slots = slotsOf(node, info.kind);
      const { keys, values } = info.slots;
      values.forEach((value, index) =>
        visit(value, placeBelow(info.place, keys === undefined ? index : keys[index], info.kind)),
      );
    }
  }

  /** The writes since the reading; with `undo` they are taken back. */
  writes({ undo = false } = {}) {
    const writes = [];
    for (const [node, { place, kind, slots }] of this.nodes) {
      const now = slotsOf(node, kind);
      if (sameSlots(now, slots)) continue;
      for (const found of changesOf(slots, now, kind)) {
        const at = found.key === undefined ? place : placeBelow(place, found.key, kind);
        writes.push({ ...found, container: place, place: at, places: [at], own: false });
      }
      if (undo) restore(node, kind, slots);
    }
    return writes;
  }
}

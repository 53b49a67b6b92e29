// The places at which a hook can write into what it is given, found without knowledge of the framework: each text of the probe's
// conversation is unlike all others, so a container is known by the texts below it. The rules are those of ../../places.py.
import { Bridge } from './bridge.js';
import { kindOf, placeBelow, slotsOf } from './graph.js';

const isCall = ({ type }) => type === 'call';

/** The texts of a conversation's first turn, each with `{owner, role, kind, call}`, and the ids of its calls. */
export class Texts {
  constructor({ instructions, turns: [{ messages, answers }] }) {
    this.known = new Map([[instructions, { owner: 'instructions', role: 'system', kind: 'text' }]]);
    this.ids = new Set();
    messages.forEach((message, index) =>
      this.#add(message, index === messages.length - 1 ? 'request' : 'caller'),
    );
    answers.forEach((answer) => this.#add({ role: 'assistant', ...answer }, 'run'));
    this.pattern = new RegExp([...this.known.keys()].join('|'), 'g');
  }

  #add({ role, parts }, owner) {
    for (const part of parts) {
      if (!isCall(part)) {
        this.known.set(part.text, { owner, role, kind: 'text' });
        continue;
      }
      this.ids.add(part.id);
      this.#addBelow(part.input, { owner, role, kind: 'input', call: part });
      this.#addBelow(part.output, { owner, role: 'tool', kind: 'output', call: part });
    }
  }

  #addBelow(value, of) {
    if (typeof value === 'string') this.known.set(value, of);
    else for (const each of Object.values(value)) this.#addBelow(each, of);
  }

  /** Where the one of `texts` that comes first in the conversation is from, whatever order an object has; undefined for none. */
  first(texts) {
    return [...this.known].find(([text]) => texts.has(text))?.[1];
  }

  /** The texts that a string has in it. */
  in(string) {
    return string.match(this.pattern) ?? [];
  }
}

/** What two messages of a framework have in common: the names of their fields, or their class. */
function shapeOf(message) {
  const prototype = Object.getPrototypeOf(message);
  return prototype === Object.prototype ? Object.keys(message) : [`class ${prototype?.constructor?.name}`];
}

/** The shapes of the caller's messages, by which those that the framework makes are known, too. */
export const shapesOf = (messages) => messages.map(shapeOf);

/** Looks through the arguments of one call. */
export class Walk {
  /**
   * @param {[string, unknown][]} roots Names and values; an object without a name is known by its fields.
   * @param {{texts: Texts, shapes: string[][], stay: Set<object>, first?: string[]}} of
   */
  constructor(roots, { texts, shapes, stay, first = [] }) {
    Object.assign(this, { texts, shapes, stay, first });
    this.below = new Map();
    this.ids = new Map();
    this.nodes = 0;
    this.opaque = [];
    this.places = [];
    for (const [index, [name, value]] of roots.entries()) {
      const root = this.#visit({ value, keys: [index], name, general: name, parent: undefined });
      for (const field of root ? this.#children(root) : []) this.#breadthFirst(field);
    }
  }

  #breadthFirst(field) {
    const queue = [this.#visit(field)].filter(Boolean);
    for (const node of queue)
      for (const child of this.#children(node)) queue.push(...[this.#visit(child)].filter(Boolean));
  }

  // A node, if there may be places below it.
  #visit(at) {
    const { value, parent } = at;
    if (typeof value === 'string') {
      this.#text(at);
      return undefined;
    }
    const kind = this.#kind(value);
    if (kind === 'opaque' && !this.stay.has(value)) this.opaque.push(at.name);
    if (!isWalked(kind)) return undefined;
    const node = { ...at, kind, texts: this.#textsBelow(value) };
    node.is = this.#classOf(node, parent);
    if (node.is === undefined) return undefined;
    node.root = rootOf(node, parent);
    this.#place(node, { act: 'replace' }, parent);
    if (isAbove(value, parent) || ++this.nodes > MOST_NODES) return undefined;
    this.#ownPlaces(node);
    return node;
  }

  #children(node) {
    if (node.is === 'metadata') return [];
    const { keys, values, accessors } = slotsOf(node.value, node.kind);
    const order = [...values.keys()];
    const rank = (index) => (this.first.indexOf(keys?.[index]) + 1 || Infinity) - 1;
    if (node.parent === undefined) order.sort((one, other) => rank(one) - rank(other) || one - other);
    return order
      .map((index) => ({ value: values[index], key: keys === undefined ? index : keys[index] }))
      .filter(({ key }) => !accessors?.has(key) && typeof key !== 'symbol') // getters; what is private
      .map(({ value, key }) => ({
        value,
        key,
        keys: [...node.keys, key],
        name: placeBelow(node.name, key, node.kind),
        general: generalBelow(node, key),
        parent: node,
      }));
  }

  // Only what stays itself, or holds nothing of the conversation, is not looked into.
  #kind(value) {
    return this.stay.has(value) ? undefined : kindOf(value);
  }

  #textsBelow(value, above = new Set()) {
    if (typeof value === 'string') return new Set(this.texts.in(value));
    const known = this.below.get(value);
    const kind = this.#kind(value);
    if (known || !isWalked(kind) || above.has(value)) return known ?? new Set();
    above.add(value);
    const { values } = slotsOf(value, kind);
    const found = new Set(values.flatMap((each) => [...this.#textsBelow(each, above)]));
    above.delete(value);
    this.below.set(value, found);
    return found;
  }

  #classOf({ value, kind, texts, name }, parent) {
    if (parent === undefined && name === '') return 'holder';
    const inside = parent?.inside === true;
    if (texts.size === 0)
      return inside && kind === 'object' && parent.is !== 'output' ? 'metadata' : undefined;
    if (this.#isMessage(value, kind)) return 'message';
    if (kind === 'array' && value.some((each) => this.#isMessage(each, this.#kind(each)))) return 'list';
    const payload = this.#payloadOf(value, texts);
    if (payload) return payload;
    if (kind === 'array')
      return value.some((each) => this.#isHolder(each)) && !inside ? 'records' : 'content';
    return inside || !this.#isHolder(value) ? 'part' : 'holder';
  }

  #isMessage(value, kind) {
    if (!['object', 'instance'].includes(kind) || this.#textsBelow(value).size === 0) return false;
    const own = new Set(shapeOf(value));
    return this.shapes.some((shape) => shape.every((name) => own.has(name)));
  }

  // An object that has lists with something of the conversation in them, other than a payload.
  #isHolder(value) {
    const kind = this.#kind(value);
    if (kind !== 'object' && kind !== 'instance') return false;
    return slotsOf(value, kind).values.some((each) => {
      const texts = this.#textsBelow(each);
      if (texts.size === 0 || typeof each !== 'object' || this.#payloadOf(each, texts)) return false;
      return Array.isArray(each) || this.#isMessage(each, this.#kind(each)) || this.#isHolder(each);
    });
  }

  // All below is of one call's input, or output, and no id of a call stands beside it.
  #payloadOf(value, texts) {
    const of = [...texts].map((text) => this.texts.known.get(text));
    const [{ kind, call }] = of;
    if (kind === 'text' || of.some((each) => each.kind !== kind || each.call !== call)) return undefined;
    return hasId(value, this) ? undefined : kind;
  }

  #text({ value, keys, name, general, parent, key }) {
    const [text] = this.texts.in(value);
    if (text === undefined || parent === undefined) return;
    const { kind } = this.texts.known.get(text);
    const root = rootOf({ is: kind, general }, parent);
    this.#place({ is: kind, keys, name, root, key, texts: new Set([text]) }, { act: 'change', text }, parent);
  }

  #ownPlaces(node) {
    node.inside = node.parent?.inside || ['message', 'part', 'content'].includes(node.is);
    const { is, kind } = node;
    if (kind === 'array' && is !== 'metadata') this.#add(node, { act: 'push' }, node.value, undefined);
    if (kind !== 'array' && (is === 'metadata' || this.#isStrictPayload(node)))
      this.#add(node, { act: 'key' }, node.value, undefined);
  }

  // A wrapper around a payload is converted, and what else it has is dropped: only the payload itself takes keys.
  #isStrictPayload({ is, value, texts, parent }) {
    if (is !== 'input' && is !== 'output') return false;
    const { call } = this.texts.known.get([...texts][0]);
    const names = Object.keys(call[is]);
    return parent?.is === is ? !('type' in value) : names.every((name) => name in value);
  }

  #place(node, { act, text }, parent) {
    const isSlot = ['list', 'message', 'content', 'part', 'input', 'output', 'text'].includes(node.is);
    if (!isSlot || parent === undefined) return;
    if (act === 'replace' && node.is === parent.is) return;
    this.#add(node, { act, text }, parent.value, node.key);
  }

  #add(node, { act, text }, container, key) {
    if (!this.ids.has(container)) this.ids.set(container, this.ids.size);
    const { owner, role } = this.texts.first(node.texts) ?? this.#ofMessage(node);
    const isMany = ['list', 'records'].includes(node.is);
    this.places.push({
      root: node.root,
      owner: isMany ? '' : owner,
      role: isMany ? '' : role,
      place: node.is,
      act,
      text,
      keys: node.keys,
      name: node.name,
      // The same for all ways that lead to the same slot of the same object.
      target: `${this.ids.get(container)} ${String(key)} ${act}`,
    });
  }

  #ofMessage({ parent }) {
    for (let at = parent; at; at = at.parent) if (at.texts.size > 0) return this.texts.first(at.texts);
    return { owner: '', role: '' };
  }
}

const MOST_NODES = 20_000;

function isAbove(value, parent) {
  for (let at = parent; at; at = at.parent) if (at.value === value) return true;
  return false;
}

const isWalked = (kind) => ['array', 'object', 'instance', 'map'].includes(kind);

// Whether the id of a call is in a value: ids that are there twice break a conversation.
function hasId(value, of, above = []) {
  if (typeof value === 'string') return of.texts.ids.has(value);
  const kind = of.stay.has(value) ? undefined : kindOf(value);
  if (!isWalked(kind) || above.includes(value)) return false;
  return slotsOf(value, kind).values.some((each) => hasId(each, of, [...above, value]));
}

// The way to the outermost list, or message, without indices: of records, the last one and those before are apart.
function rootOf({ is, general }, parent) {
  const inherited = parent && parent.is !== 'holder' && parent.is !== 'records' ? parent.root : undefined;
  return inherited ?? (is === 'holder' ? '' : general);
}

function generalBelow({ general, kind, is, value }, key) {
  if (kind !== 'array') return placeBelow(general, key, kind);
  return `${general}[${is === 'records' && key === value.length - 1 ? -1 : ''}]`;
}

/** A deep copy of `value` in which the first text that can be written has `mark`; undefined if there is none. */
export function marked(value, mark, of) {
  if (typeof value === 'string') return markedText(value, mark, of.texts);
  const [copy] = new Bridge().enter([['copy', value]], of.stay);
  return markEach([copy], mark, of) ? copy : undefined;
}

// Marks one text wherever a copy of ours has it, as a message may have its text in several forms: `wanted`, or else the first that can be
// written.
function markEach(copies, mark, of, wanted) {
  const isOfInstructions = ({ owner }) => owner === 'instructions';
  const texts = new Walk([['copy', copies]], of).places.filter(({ act }) => act === 'change');
  // A framework may put the instructions of a message in anew: they are the last choice.
  texts.sort((one, other) => isOfInstructions(one) - isOfInstructions(other));
  let text = wanted;
  let isMarked = false;
  for (const { keys } of texts) {
    const holder = at([copies], keys.slice(0, -1));
    const key = keys.at(-1);
    const value = slot(holder, key);
    const [found] = of.texts.in(value);
    if (value.includes(mark) || (text !== undefined && found !== text)) continue;
    const changed = markedText(value, mark, of.texts);
    if (attempt(() => setSlot(holder, key, changed)) !== undefined || slot(holder, key) !== changed) continue;
    text = found;
    isMarked = true;
  }
  return isMarked;
}

const markedText = (string, mark, texts) => {
  const [text] = texts.in(string);
  return text === undefined ? undefined : string.replace(text, `${text}${mark}`);
};

const attempt = (work) => {
  try {
    work();
    return undefined;
  } catch (error) {
    return error;
  }
};

const slot = (holder, key) => (holder instanceof Map ? holder.get(key) : holder[key]);
const setSlot = (holder, key, value) => {
  if (holder instanceof Map) holder.set(key, value);
  else holder[key] = value;
};
const at = (root, keys) => keys.reduce(slot, root);

/**
 * Writes once, at `place` of the arguments `args`; returns undefined, or why it was not done: `{result, why}`. Arguments that are a copy
 * of the hook's (`isOwn`) have a text edited wherever it stands.
 */
export function write(args, { act, keys, place: is }, mark, of, isOwn = false) {
  let value;
  try {
    value = at(args, keys);
  } catch {
    return { result: 'unknown', why: 'the place is not there again' };
  }
  const holder = at(args, keys.slice(0, -1));
  const key = keys.at(-1);
  // Options of providers are objects in objects.
  const own = is === 'metadata' ? { [mark]: mark } : mark;
  const added = act === 'push' ? pushed(value, mark, of) : act === 'key' ? own : marked(value, mark, of);
  if (added === undefined) return { result: 'unknown', why: 'no copy of it could be marked' };
  const error = attempt(() => {
    if (act === 'push') value.push(added);
    else if (act === 'key') setSlot(value, mark, own);
    else setSlot(holder, key, added);
  });
  if (error) return { result: 'refused', why: String(error.message ?? error) };
  const there = { push: () => value.at(-1), key: () => slot(value, mark) }[act] ?? (() => slot(holder, key));
  if (isOwn && act === 'change') markEach(args, mark, of, of.texts.in(value)[0]);
  return there() === added ? undefined : { result: 'refused', why: 'what was written is not there' };
}

// A marked copy of the last element; of the last one that is no call or result, if there is one.
function pushed(list, mark, of) {
  const items = [...list].reverse();
  for (const each of [
    ...items.filter((item) => !hasId(item, of)),
    ...items.filter((item) => hasId(item, of)),
  ]) {
    const copy = marked(each, mark, of);
    if (copy !== undefined) return copy;
  }
  return undefined;
}

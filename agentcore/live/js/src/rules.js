// Rules about what a hook makes of messages, on trees (show.js): pairs of calls and results, the request, accumulation, prefixes.
import { leavesOf } from './show.js';

/** Calls without a result after them and results without a call before them, in the list of `{at, id, is}` that an adapter gives. */
export function unpaired(items) {
  const calls = new Map();
  const found = [];
  for (const item of items) {
    if (item.is === 'call') calls.set(item.id, item);
    else if (!calls.delete(item.id)) found.push(item);
  }
  return [...found, ...calls.values()];
}

/** What stands alone after the hook and did not before (live.cuts-pair). */
export function cut(before, after) {
  const alone = new Set(unpaired(before).map(({ is, id }) => `${is} ${id}`));
  return unpaired(after).filter(({ is, id }) => !alone.has(`${is} ${id}`));
}

const users = (messages) => messages.filter(({ role }) => role === 'user').length;

/** Whether `messages` hold nothing of the request, nor anything in its place (live.loses-request). */
export function losesRequest(request, before, messages) {
  const said = request.parts.filter(({ type }) => type === 'text').map(({ text }) => text).join(' ');
  const words = said.split(/[\s,:;.!?]+/).filter((word) => word.length >= 4);
  if (words.length === 0 || users(messages) >= users(before)) return false;
  const text = JSON.stringify(messages);
  return !words.some((word) => text.includes(word));
}

const count = (leaves) => {
  const counts = new Map();
  for (const leaf of leaves) {
    const key = JSON.stringify(leaf);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
};

/** What the hook added to messages: whole leaves, and what it appended to texts. */
export function piecesAdded(before, after) {
  const old = leavesOf(before);
  const counts = count(old);
  const added = [];
  for (const leaf of leavesOf(after)) {
    const left = counts.get(JSON.stringify(leaf)) ?? 0;
    if (left > 0) counts.set(JSON.stringify(leaf), left - 1);
    else added.push(leaf);
  }
  return added.map((leaf) => [leaf[0], remainder(leaf, old)]).filter(([, value]) => value !== '');
}

function remainder([label, value], old) {
  if (typeof value !== 'string') return value;
  const longest = old.filter(([other, text]) => other === label && typeof text === 'string' && text !== '' && text !== value && (value.startsWith(text) || value.endsWith(text))).sort((a, b) => b[1].length - a[1].length)[0];
  if (longest === undefined) return value;
  return value.startsWith(longest[1]) ? value.slice(longest[1].length) : value.slice(0, -longest[1].length);
}

const occurrences = (text, piece) => text.split(piece).length - 1;

function holds(messages, pieces) {
  const leaves = leavesOf(messages);
  const text = leaves.filter(([, value]) => typeof value === 'string').map(([, value]) => value).join('\n');
  const exact = count(leaves);
  let total = 0;
  for (const [label, value] of pieces) total += typeof value === 'string' && value.length > 3 ? occurrences(text, value) : (exact.get(JSON.stringify([label, value])) ?? 0);
  return total;
}

const distinct = (pieces) => [...new Map(pieces.map((piece) => [JSON.stringify(piece), piece])).values()];

/**
 * The first call at which what the framework kept piles up (live.accumulates), or undefined. `real` and `plain` are the calls of the hook,
 * each with the trees `given` and `made`, in the framework and on the plain conversation.
 */
export function accumulation(real, plain) {
  let pieces = [];
  let surplus = 0;
  for (let index = 0; index < Math.min(real.length, plain.length); index++) {
    const { given, made } = real[index];
    if (given === undefined || made === undefined || plain[index].made === undefined) continue;
    const added = piecesAdded(given, made);
    const known = pieces;
    pieces = distinct([...pieces, ...added, ...piecesAdded(plain[index].given, plain[index].made)]);
    const now = holds(made, pieces) - holds(plain[index].made, pieces);
    const kept = known.length > 0 && holds(given, known) > holds(plain[index].given, known);
    if (kept && added.length > 0 && now > surplus) return { index, piece: added[0], surplus: now };
    surplus = Math.max(surplus, now);
  }
  return undefined;
}

/** Characters of prompts, and those that a cache of prefixes cannot reuse at the next step (live.prefix). */
export function prefixOf(prompts) {
  const measure = { lost: 0, of: 0, broken: undefined };
  for (let index = 1; index < prompts.length; index++) {
    const [before, after] = [prompts[index - 1], prompts[index]];
    if (before.turn !== after.turn) continue;
    const length = before.text.length - 1; // without the bracket that closes the list
    const reusable = commonLength(before.text, after.text, length);
    measure.of += length;
    measure.lost += length - reusable;
    if (reusable < length) measure.broken ??= { turn: after.turn, step: after.step, message: messageAt(before.text, reusable) };
  }
  return measure;
}

function commonLength(one, other, most) {
  if (other.startsWith(one.slice(0, most))) return most;
  let [low, high] = [0, most];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (one.slice(0, middle) === other.slice(0, middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

function messageAt(text, length) {
  let seen = 1;
  const messages = JSON.parse(text);
  for (const [index, message] of messages.entries()) {
    seen += JSON.stringify(message).length + 1;
    if (seen > length) return index;
  }
  return messages.length - 1;
}

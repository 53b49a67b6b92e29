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
  const said = request.parts
    .filter(({ type }) => type === 'text')
    .map(({ text }) => text)
    .join(' ');
  const words = said.split(/[\s,:;.!?]+/).filter((word) => word.length >= 4);
  if (words.length === 0 || users(messages) >= users(before)) return false;
  const text = JSON.stringify(messages);
  return !words.some((word) => text.includes(word));
}

// Messages that are in one list as often as in the other have nothing to do with what changed; most are.
function changedMessages(before, after) {
  const counts = new Map();
  const texts = (messages) => messages.map((message) => JSON.stringify(message));
  const [old, young] = [texts(before), texts(after)];
  for (const text of old) counts.set(text, (counts.get(text) ?? 0) + 1);
  const fresh = after.filter((_, index) => {
    const left = counts.get(young[index]) ?? 0;
    counts.set(young[index], left - 1);
    return left <= 0;
  });
  const gone = before.filter((_, index) => {
    const left = counts.get(old[index]);
    counts.set(old[index], left - 1);
    return left > 0;
  });
  return { gone, fresh };
}

const keyOf = ([label, value]) => `${label} ${typeof value} ${value}`;

/** What the hook added to messages: whole leaves, and what it appended to texts. */
export function piecesAdded(before, after) {
  const { gone, fresh } = changedMessages(before, after);
  const old = leavesOf(gone);
  const counts = new Map();
  for (const leaf of old) counts.set(keyOf(leaf), (counts.get(keyOf(leaf)) ?? 0) + 1);
  const added = leavesOf(fresh).filter((leaf) => {
    const left = counts.get(keyOf(leaf)) ?? 0;
    counts.set(keyOf(leaf), left - 1);
    return left <= 0;
  });
  return added.map((leaf) => [leaf[0], remainder(leaf, old)]).filter(([, value]) => value !== '');
}

function remainder([label, value], old) {
  if (typeof value !== 'string') return value;
  const longest = old
    .filter(
      ([other, text]) =>
        other === label &&
        typeof text === 'string' &&
        text !== '' &&
        text !== value &&
        (value.startsWith(text) || value.endsWith(text)),
    )
    .sort((a, b) => b[1].length - a[1].length)[0];
  if (longest === undefined) return value;
  return value.startsWith(longest[1]) ? value.slice(longest[1].length) : value.slice(0, -longest[1].length);
}

const occurrences = (text, piece) => text.split(piece).length - 1;

// How often pieces are in the text of messages: texts wherever they are, other values under their own key.
function holds(text, pieces) {
  let total = 0;
  for (const [label, value] of pieces) {
    const json = JSON.stringify(value);
    const own = typeof value === 'string' && value.length > 3;
    total += occurrences(
      text,
      own ? json.slice(1, -1) : `${JSON.stringify(label.slice(label.lastIndexOf('.') + 1))}:${json}`,
    );
  }
  return total;
}

const distinct = (pieces) => [...new Map(pieces.map((piece) => [JSON.stringify(piece), piece])).values()];

/** The calls of a hook, each with the trees `given` and `made`, with what it added in each; undefined if it adds in fewer than two. */
export function additions(calls) {
  const all = calls.map((call) => (call.made === call.given ? [] : piecesAdded(call.given, call.made)));
  return all.filter((pieces) => pieces.length > 0).length < 2 ? undefined : all;
}

/** Whether a call of the hook is given something of what its calls before added: without it nothing piles up, and no run is needed to tell. */
export function isKept(calls, added) {
  let pieces = [];
  return calls.some(({ given }, index) => {
    const kept = pieces.length > 0 && holds(JSON.stringify(given), pieces) > 0;
    pieces = distinct([...pieces, ...added[index]]);
    return kept;
  });
}

/**
 * The first call at which what the framework kept piles up (live.accumulates), or undefined. `real` and `plain` are the calls of the hook
 * in the framework and on the plain conversation, `added` the additions of the real ones.
 */
export function accumulation(real, added, plain) {
  let pieces = [];
  let surplus = 0;
  let extra = 0;
  for (let index = 0; index < Math.min(real.length, plain.length); index++) {
    const known = pieces;
    pieces = distinct([...pieces, ...added[index], ...piecesAdded(plain[index].given, plain[index].made)]);
    if (pieces.length === 0) continue;
    const [given, made] = ['given', 'made'].map((name) =>
      [real, plain].map((calls) => JSON.stringify(calls[index][name])),
    );
    const now = holds(made[0], pieces) - holds(made[1], pieces);
    const more = leavesOf(real[index].made).length - leavesOf(plain[index].made).length;
    const kept = known.length > 0 && holds(given[0], known) > holds(given[1], known);
    if (
      kept &&
      added[index].length > 0 &&
      now > surplus &&
      (more > extra || repeats([real[index], plain[index]], pieces))
    )
      return { index, piece: added[index][0], surplus: now };
    surplus = Math.max(surplus, now);
    extra = Math.max(extra, more);
  }
  return undefined;
}

// Whether one text holds more of what the hook added than any does on the plain conversation: what takes the place of an older mark does not.
function repeats(calls, pieces) {
  const added = pieces.filter(([, value]) => typeof value === 'string' && value.length > 3);
  const most = ({ made }) =>
    leavesOf(made).reduce((top, [, value]) => {
      if (typeof value !== 'string') return top;
      return Math.max(
        top,
        added.reduce((sum, [, piece]) => sum + occurrences(value, piece), 0),
      );
    }, 0);
  return most(calls[0]) > most(calls[1]);
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
    if (reusable < length)
      measure.broken ??= { turn: after.turn, step: after.step, message: messageAt(before.text, reusable) };
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

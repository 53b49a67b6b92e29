// One answer of those of several processes, each of which judged a part of the conversations.
import { groupOf } from './judge.js';
import { sizeOf } from './conversation.js';

/** The answers of all parts as one. */
export function mergedAnswers(answers) {
  if (answers.length === 1) return answers[0];
  const sum = (read) => answers.reduce((total, answer) => total + (read(answer) ?? 0), 0);
  const first = (read) => answers.map(read).find((value) => value !== undefined);
  const sums = (read, names) =>
    Object.fromEntries(names.map((name) => [name, sum((answer) => read(answer)[name])]));
  return {
    groups: mergedGroups(answers.flatMap(({ groups }) => groups)),
    counts: sums(({ counts }) => counts, ['run', 'judged', 'errors', 'calls']),
    foreign: sum(({ foreign }) => foreign),
    foreignError: first(({ foreignError }) => foreignError),
    outside: first(({ outside }) => outside),
    unrecorded: sum(({ unrecorded }) => unrecorded),
    makers: sum(({ makers }) => makers),
    prefix: {
      ...sums(({ prefix }) => prefix, ['lost', 'of', 'plainLost', 'plainOf']),
      broken: first(({ prefix }) => prefix.broken),
    },
    deaths: answers.flatMap(({ deaths }) => deaths).sort((one, other) => one.index - other.index),
  };
}

// As in one process: writes of one cause are one finding, with effect before those without, and the smallest conversation stands for all.
function mergedGroups(groups) {
  const kept = [];
  for (const group of [...groups.filter(({ kind }) => kind === 'write'), ...groups.filter(isQuiet)]) {
    const index = kept.findIndex((other) => isSame(other, group));
    if (index < 0) kept.push(group);
    else kept[index] = joined(kept[index], group);
  }
  return kept;
}

const isQuiet = ({ kind }) => kind !== 'write';

function isSame(one, other) {
  if (!one.write || !other.write) return one.key === other.key;
  const [a, b] = [one.frame, other.frame];
  if (a && b) return a.file === b.file && a.line === b.line && a.column === b.column;
  return groupOf(one.write) === groupOf(other.write);
}

function joined(one, other) {
  const union = (name) => [...new Set([...one[name], ...other[name]])];
  if (one.kind !== other.kind) return { ...one, places: union('places') };
  const smaller = sizeOf(other.talk) < sizeOf(one.talk) ? other : one;
  return {
    ...smaller,
    count: one.count + other.count,
    paths: union('paths'),
    seen: union('seen'),
    places: union('places').slice(0, 12),
  };
}

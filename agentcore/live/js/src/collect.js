// Collects what is found in many conversations into one finding for each cause.
import { continued, conversation, sizeOf } from './conversation.js';
import { frameOf } from './frames.js';
import { groupOf } from './judge.js';
import { runsOf } from './moments.js';
import { smallest } from './shrink.js';
import { clock } from './seeded.js';

const SHRINK_EACH = 8000;
const SHRINK_ALL = 20_000;

/** The samples of a check: number `index` of them. */
export function sampleOf(index, { seed, texts, recorded, conversations, paths }) {
  if (conversations)
    return {
      talk: conversations[index],
      path: paths[index % paths.length],
      variant: conversations[index].variant ?? index,
    };
  const number = seed + index;
  const path = paths[index % paths.length];
  if (recorded.length === 0)
    return { talk: { ...conversation(number, texts), variant: number }, path, variant: number };
  const base = recorded[(index >> 1) % recorded.length];
  const talk =
    index < recorded.length * 2
      ? { ...base, variant: number }
      : { ...continued(base, number, texts), variant: number };
  return { talk, path, variant: number };
}

export class Collection {
  constructor(judge, { sources, shrinking = SHRINK_ALL }) {
    Object.assign(this, { judge, sources, shrinking });
    this.found = new Map();
    this.counts = { run: 0, judged: 0, errors: 0, calls: 0 };
    this.makers = 0;
    this.foreign = 0;
    this.unrecorded = 0;
    this.outside = undefined;
    this.prefix = { lost: 0, of: 0, plainLost: 0, plainOf: 0 };
  }

  /** Judges one more sample; resolves to false when there is no use in going on. */
  async add(sample) {
    const result = await this.judge.judge(sample);
    this.counts.run++;
    this.counts[result.status === 'judged' ? 'judged' : 'errors']++;
    const calls = result.live.calls.filter(({ beside }) => !beside);
    this.counts.calls += calls.length;
    this.makers += calls.filter(({ makes }) => makes).length;
    if (result.status === 'judged' && result.live.prompts.length === 0) this.unrecorded++;
    if (result.outside) this.outside ??= result.outside;
    if (result.foreign) {
      this.foreign++;
      this.foreignError ??= result.foreign;
    }
    for (const signal of result.signals) this.#count(signal, sample);
    await this.#measure(sample, result);
    return !result.signals.some(({ cause }) => cause === 'hangs');
  }

  #count(signal, sample) {
    const known = this.found.get(signal.key);
    if (!known) {
      this.found.set(signal.key, {
        signal,
        sample,
        count: 1,
        paths: new Set([sample.path]),
        seen: new Set(signal.seen),
      });
      return;
    }
    known.count++;
    known.paths.add(sample.path);
    for (const holder of signal.seen ?? []) known.seen.add(holder);
    if (signal.settled) return;
    if (sizeOf(sample.talk) < sizeOf(known.sample.talk)) Object.assign(known, { signal, sample });
  }

  async #measure(sample, { prefix, live }) {
    if (!prefix || prefix.of === 0 || live.error) return;
    const plain =
      prefix.lost > 0 && prefix.broken ? await this.#plainPrefix(sample) : { lost: 0, of: prefix.of };
    this.prefix.lost += prefix.lost;
    this.prefix.of += prefix.of;
    this.prefix.plainLost += plain.lost;
    this.prefix.plainOf += plain.of;
    if (prefix.lost > plain.lost) this.prefix.broken ??= { ...prefix.broken, name: sample.talk.name };
  }

  // Without a hook the frameworks judged so far keep prefixes; a few runs tell whether this release does.
  async #plainPrefix(sample) {
    this.plainRuns = (this.plainRuns ?? 0) + 1;
    if (this.plainRuns > 10) return { lost: 0, of: 1 };
    const { prefixOf } = await import('./rules.js');
    return prefixOf((await this.judge.run(sample, 'none')).prompts);
  }

  /** The findings, each with its smallest conversation and the line of the hook. */
  async findings() {
    this.judge.takeApart();
    const end = clock() + this.shrinking;
    const order = [...this.found.values()].sort((one, other) => other.count - one.count);
    for (const group of order) {
      const time = Math.min(SHRINK_EACH, end - clock());
      if (group.signal.cause !== 'hangs' && group.signal.kind !== 'undetermined' && time > 0)
        await this.#shrunk(group, time);
      group.frame = await this.#frame(group);
    }
    const groups = merged(order);
    for (const group of groups) group.runs = await this.#runs(group);
    return groups;
  }

  // The moments of the smallest conversation, for those who look at the finding. A hook that hangs would do so again.
  async #runs({ signal, sample, places }) {
    if (signal.cause === 'hangs') return undefined;
    const wanted = new Set(signal.write ? places.map((place) => groupOf({ place })) : []);
    // A finding is worth more than its moments.
    return await runsOf(
      (log, mode) => this.judge.run(sample, mode, { log }),
      (place) => wanted.has(groupOf({ place })),
    ).catch(() => undefined);
  }

  async #shrunk(group, time) {
    const { key } = group.signal;
    const shows = async (sample) =>
      (await this.judge.judge(sample)).signals.find((signal) => signal.key === key);
    const { sample, shown } = await smallest(group.sample, shows, group.signal, time);
    Object.assign(group, { sample, signal: shown });
  }

  async #frame({ signal, sample }) {
    if (signal.error) return frameOf(signal.error.stack, this.sources);
    const { write } = signal;
    return write && (write.frame ?? (await this.#frozen(sample, write)));
  }

  // Runs the smallest conversation once more with the object frozen: the error of the write tells its line.
  async #frozen(sample, { container, own }) {
    const { errors, strays } = await this.judge.run(sample, 'value', { watch: { container, own } });
    return [...errors, ...strays].map(({ stack }) => frameOf(stack, this.sources)).find(Boolean);
  }
}

const isWrite = ({ signal }) => signal.write !== undefined;
const isLoud = ({ signal }) => signal.kind === 'write';

// Writes by the same statement have one cause; where one of them has an effect, the others are the same fault.
function merged(groups) {
  const kept = [];
  for (const group of [...groups.filter(isLoud), ...groups.filter((other) => !isLoud(other))]) {
    const same = isWrite(group) && kept.find((other) => isWrite(other) && sameCause(other, group));
    if (!same) kept.push({ ...group, places: placesOf(group.signal) });
    else {
      same.places = [...new Set([...same.places, ...placesOf(group.signal)])];
      if (same.signal.kind !== group.signal.kind) continue;
      same.count = Math.max(same.count, group.count);
      for (const holder of group.seen) same.seen.add(holder);
      for (const path of group.paths) same.paths.add(path);
    }
  }
  return kept;
}

function sameCause(one, other) {
  const [a, b] = [one.frame, other.frame];
  if (a && b) return a.file === b.file && a.line === b.line && a.column === b.column;
  return groupOf(one.signal.write) === groupOf(other.signal.write);
}

const placesOf = ({ write, writes = [], place }) =>
  write ? [...new Set(writes.flatMap(({ places }) => places))].slice(0, 12) : place ? [place] : [];

// Causes that are known: after as many conversations in which writes at a place had the same cause and the same outcome, the same writes again,
// with an effect again or again without, are counted and not taken apart again (live.cause).
import { groupOf } from './judge.js';

const ENOUGH = 12;

export class Settled {
  constructor() {
    this.outcomes = new Map();
    this.holders = new Map();
  }

  /** Adds what a conversation's writes came to; `isSeen` tells whether anything differed. */
  add(signals, isSeen) {
    const alone = signals.length === 1;
    for (const { kind, key, writes, seen = [] } of signals) {
      for (const holder of seen) this.holders.set(`${key.slice(kind.length)} ${holder}`, Infinity);
      for (const place of new Set(writes.map(groupOf))) {
        const outcome = this.outcomes.get(place) ?? {
          causes: new Set(),
          kinds: new Set(),
          times: 0,
          odd: false,
        };
        outcome.causes.add(key.slice(kind.length));
        outcome.kinds.add(kind);
        outcome.odd ||= alone && kind !== kindOf(isSeen);
        outcome.times++;
        this.outcomes.set(place, outcome);
      }
    }
  }

  // Who may see the writes and is not known to: such a conversation is taken apart, unless it was in vain often enough.
  #isNew(holders, causes) {
    const timesOf = (holder) =>
      Math.max(...causes.map((cause) => this.holders.get(`${cause} ${holder}`) ?? 0));
    const fresh = [...new Set(holders)].filter((holder) => timesOf(holder) < ENOUGH);
    for (const holder of fresh) this.holders.set(`${causes[0]} ${holder}`, timesOf(holder) + 1);
    return fresh.length > 0;
  }

  /** What `writes` come to, if that is known for each of them, or undefined; `holders` are those at which anything differs. */
  signalsOf(writes, holders) {
    const found = new Map();
    for (const write of writes) {
      const { causes, times } = this.outcomes.get(groupOf(write)) ?? { times: 0 };
      if (write.own || write.handle || times < ENOUGH || causes.size > 1) return undefined;
      const [cause] = causes;
      found.has(cause) ? found.get(cause).push(write) : found.set(cause, [write]);
    }
    if (found.size === 0 || this.#isNew(holders, [...found.keys()])) return undefined;
    return this.#known([...found], holders.length > 0);
  }

  // A cause that is alone has the effect that is seen; of several, each has to have had the same outcome always.
  #known(found, isSeen) {
    const outcomes = found.map(([, writes]) => this.outcomes.get(groupOf(writes[0])));
    const alone = found.length === 1;
    if (alone ? outcomes[0].odd : outcomes.some(({ kinds }) => kinds.size > 1)) return undefined;
    const signals = found.map(([cause, writes], index) => {
      const kind = alone ? kindOf(isSeen) : [...outcomes[index].kinds][0];
      return { kind, key: `${kind}${cause}`, write: writes[0], writes, seen: [], settled: true };
    });
    return signals.some(({ kind }) => kind === 'write') === isSeen ? signals : undefined;
  }
}

const kindOf = (isSeen) => (isSeen ? 'write' : 'harmless-write');

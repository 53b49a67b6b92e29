// Random choices that a seed repeats. Nothing here reads Math.random.

/** A generator of numbers in [0, 1) after `seed` (mulberry32). */
export function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** Choices made with one generator. */
export class Random {
  constructor(seed) {
    this.next = generator(Math.imul(seed + 1, 0x9e3779b1));
  }

  /** A whole number from `low` to `high`, both included. */
  between(low, high) {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  chance(share) {
    return this.next() < share;
  }

  choice(items) {
    return items[this.between(0, items.length - 1)];
  }

  times(low, high, make) {
    return Array.from({ length: this.between(low, high) }, (_, index) => make(index));
  }
}

// Random numbers, ids, clocks and timers that are alike in every run: one stream for the hook, one for everything else, so that what a hook
// draws does not shift the ids that the framework draws (live.two-runs).
import { AsyncLocalStorage } from 'node:async_hooks';
import crypto from 'node:crypto';
import { createRequire, syncBuiltinESMExports } from 'node:module';
import { promisify } from 'node:util';
import { generator } from './random.js';
import { real as timers, Timers } from './timers.js';

// Modules as they are required, whose members can be replaced; their exports follow.
const require = createRequire(import.meta.url);
const START = Date.UTC(2024, 0, 1);
const real = { ...timers, Date: globalThis.Date };

class Stream {
  constructor(seed) {
    this.next = generator(seed);
    this.ticks = 0;
    this.timers = new Timers(this);
  }

  time() {
    return START + this.ticks++;
  }

  bytes(length) {
    return Buffer.from(Uint8Array.from({ length }, () => Math.floor(this.next() * 256)));
  }

  fill(view) {
    const bytes = this.bytes(view.byteLength);
    new Uint8Array(view.buffer, view.byteOffset, view.byteLength).set(bytes);
    return view;
  }

  uuid() {
    const hex = this.bytes(16).toString('hex');
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
  }
}

const inHook = new AsyncLocalStorage();
let outside = new Stream(0);
const stream = () => inHook.getStore() ?? outside;

class SeededDate extends real.Date {
  constructor(...args) {
    if (args.length === 0) super(stream().time());
    else super(...args);
  }

  static now() {
    return stream().time();
  }
}
// A date that the hook makes is a date for everyone, and one made before is one of these.
Object.defineProperty(SeededDate, 'name', { value: 'Date' });
Object.defineProperty(SeededDate, Symbol.hasInstance, { value: (value) => value instanceof real.Date });

const seededTimer = (original, repeats) =>
  function seeded(callback, delay, ...args) {
    const own = inHook.getStore();
    if (!own || typeof callback !== 'function') return original(callback, delay, ...args);
    return own.timers.add(callback, delay, args, repeats);
  };

const seededWait = (original) =>
  function wait(delay, value, options) {
    const own = inHook.getStore();
    if (!own) return original(delay, value, options);
    const signal = options?.signal;
    signal?.throwIfAborted();
    return new Promise((resolve, reject) => {
      const handle = own.timers.add(resolve, delay, [value]);
      signal?.addEventListener('abort', () => (clearTimeout(handle), reject(signal.reason)), { once: true });
    });
  };

const waits = require('node:timers/promises');
const wait = seededWait(waits.setTimeout);
const seededTimers = {
  setTimeout: Object.assign(seededTimer(real.setTimeout, false), { [promisify.custom]: wait }),
  setInterval: seededTimer(real.setInterval, true),
};

const between = (low, high) => low + Math.floor(stream().next() * (high - low));
const hrtime = Object.assign(() => [Math.floor(stream().time() / 1000), 0], {
  bigint: () => BigInt(stream().time()) * 1000000n,
});

// What is replaced, by the object that has it. node:crypto has more names for the same sources than the global `crypto`.
const replacements = [
  [Math, { random: () => stream().next() }],
  [globalThis, { Date: SeededDate, ...seededTimers }],
  [require('node:timers'), seededTimers],
  [waits, { setTimeout: wait }],
  [performance, { now: () => stream().time() - START }],
  [process, { hrtime }],
  [globalThis.crypto, { randomUUID: () => stream().uuid(), getRandomValues: (view) => stream().fill(view) }],
  [
    crypto,
    {
      randomUUID: () => stream().uuid(),
      randomBytes: (length, callback) =>
        callback ? callback(null, stream().bytes(length)) : stream().bytes(length),
      randomInt: (low, high) => (high === undefined ? between(0, low) : between(low, high)),
      randomFillSync: (view) => stream().fill(view),
    },
  ],
];
let installed;

/** Replaces the sources of randomness and time. */
export function install() {
  if (installed) return;
  installed = [];
  for (const [owner, values] of replacements) {
    for (const [name, value] of Object.entries(values)) {
      installed.push([owner, name, Object.getOwnPropertyDescriptor(owner, name)]);
      Object.defineProperty(owner, name, { value, writable: true, configurable: true, enumerable: true });
    }
  }
  syncBuiltinESMExports();
}

/** Puts the sources of randomness and time back. */
export function uninstall() {
  for (const [owner, name, property] of installed ?? []) {
    if (property) Object.defineProperty(owner, name, property);
    else delete owner[name];
  }
  installed = undefined;
  syncBuiltinESMExports();
}

/** The world of one run: its streams after `seed`. */
export class Seeded {
  constructor(seed) {
    outside = new Stream(seed);
    this.hook = new Stream(seed + 1);
  }

  /** Calls `work` as the hook: what it draws comes from the hook's own stream, also later. */
  asHook(work) {
    return inHook.run(this.hook, work);
  }

  /** Counts a call that is awaited, for as long as `work` is. */
  async awaited(work) {
    this.hook.timers.awaited++;
    try {
      return await work;
    } finally {
      this.hook.timers.awaited--;
    }
  }

  /** Lets what the hook left running go on for the time of a model call. */
  settle() {
    return this.hook.timers.modelCall();
  }

  /** Lets what the hook left running end. */
  end() {
    return this.hook.timers.end();
  }
}

/**
 * A promise that settles as `work` does, or resolves to `late` after so many real milliseconds. On a machine that stood still for as long,
 * what is due gets a moment more.
 */
export async function within(milliseconds, work, late) {
  let timer;
  const limit = new Promise((resolve) => {
    let moments = 10;
    const check = () => {
      timer = moments-- > 0 ? real.setTimeout(check, 10) : undefined;
      if (timer === undefined) resolve(late);
    };
    timer = real.setTimeout(check, milliseconds);
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}

/** Real milliseconds since some moment. */
export const clock = () => real.now();

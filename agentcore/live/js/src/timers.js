// Timers of the hook in a time of their own. A model call takes seconds of it and no time of the machine, so that a write that a timer makes
// falls into the same call in every run; what is still due when the run ends happens then, and nothing lasts into the next run (live.late).
import { AsyncResource } from 'node:async_hooks';
import { keepStray } from './outcome.js';

export const real = {
  setTimeout: globalThis.setTimeout,
  setInterval: globalThis.setInterval,
  setImmediate: globalThis.setImmediate,
  now: performance.now.bind(performance),
};

const MODEL_CALL = 3_000;
const AFTER_RUN = 600_000;
const MOST_FIRED = 100;
const MOST_REPEATS = 3;
// Real milliseconds: how often a timer looks whether it may fire, and how long it waits: a part of its time, so that one that only guards
// against a call that hangs does not fire in a call that works.
const LOOK = 4;
const PART = 1 / 20;
const LONGEST = 500;
const UNAWAITED = 20;
const MOST_IDLE = 20;
const REQUESTS = /^(FSReq|GetAddrInfoReq|GetNameInfoReq)/;

const turn = () => new Promise((resolve) => real.setImmediate(resolve));

/** Lets promises go on, and what was asked of files; for a moment. */
async function idle() {
  const end = real.now() + MOST_IDLE;
  do await turn();
  while (process.getActiveResourcesInfo().some((name) => REQUESTS.test(name)) && real.now() < end);
}

export class Timers {
  /** `clock` has the hook's time in `ticks`. */
  constructor(clock) {
    this.clock = clock;
    this.waiting = new Set();
    this.awaited = 0;
    this.worked = 0;
    this.closed = false;
  }

  /** A timer of the hook; what it returns is a real handle, so that it can be cleared and unref'd as any other. */
  add(callback, delay = 1, args = [], repeats = false) {
    const milliseconds = Number(delay) >= 1 ? Number(delay) : 1;
    const timer = {
      due: this.clock.ticks + milliseconds,
      milliseconds,
      repeats,
      since: real.now(),
      fired: 0,
    };
    timer.call = AsyncResource.bind(() => callback(...args));
    const look = () => {
      if (this.#mayFire(timer)) this.#fireUntil(timer.due);
      else if (!repeats) timer.handle.refresh();
    };
    timer.handle = (repeats ? real.setInterval : real.setTimeout)(look, Math.min(milliseconds, LOOK));
    if (this.closed) clearTimeout(timer.handle);
    else this.waiting.add(timer);
    return timer.handle;
  }

  // While the hook is awaited its timers are all that goes on; else the framework may be at work, and they wait for the next model call.
  #mayFire({ since, milliseconds }) {
    const least = Math.min(milliseconds * PART, LONGEST);
    return (
      real.now() - Math.max(since, this.worked) >= (this.awaited > 0 ? least : Math.max(least, UNAWAITED))
    );
  }

  #next(end) {
    let first;
    for (const timer of this.waiting) {
      if (timer.handle._destroyed) this.waiting.delete(timer);
      else if (timer.due <= end && !(timer.due >= first?.due)) first = timer;
    }
    return first;
  }

  #fire(timer) {
    this.clock.ticks = Math.max(this.clock.ticks, timer.due);
    if (timer.repeats) timer.due += timer.milliseconds;
    else {
      this.waiting.delete(timer);
      clearTimeout(timer.handle);
    }
    timer.since = real.now();
    try {
      timer.call();
    } catch (error) {
      keepStray(error);
    }
  }

  #fireUntil(end) {
    for (let timer = this.#next(end); timer; timer = this.#next(end)) {
      this.#fire(timer);
      if (timer.repeats) return;
    }
  }

  async #pass(milliseconds) {
    const end = this.clock.ticks + milliseconds;
    for (const timer of this.waiting) timer.fired = 0;
    for (let fired = 0; fired < MOST_FIRED; fired++) {
      const timer = this.#next(end);
      if (!timer) break;
      if (timer.repeats && timer.fired++ >= MOST_REPEATS) timer.due = end + timer.milliseconds;
      else {
        this.#fire(timer);
        await turn();
      }
    }
    this.clock.ticks = Math.max(this.clock.ticks, end);
  }

  /** Passes the time of a model call: what the hook left running goes on. */
  async modelCall() {
    await idle();
    await this.#pass(MODEL_CALL);
    await idle();
    this.worked = real.now();
  }

  /** Passes the time after the run, and ends what would last. */
  async end() {
    await idle();
    await this.#pass(AFTER_RUN);
    await idle();
    this.closed = true;
    for (const { handle } of this.waiting) clearTimeout(handle);
    this.waiting.clear();
  }
}

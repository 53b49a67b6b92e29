// Imported before the package: what stands around a run of it. What it prints is kept from standard output and goes to the run that
// made it print; and the time is the run's own, since messages are ordered by the millisecond in which they were made.
import { AsyncLocalStorage } from 'node:async_hooks';

process.env.MASTRA_TELEMETRY_DISABLED = '1';

// The run that the code at work belongs to; `printed` is called with what a console method was given, `clock` has its time.
export const runs = new AsyncLocalStorage();

for (const method of ['debug', 'error', 'info', 'log', 'trace', 'warn']) {
  console[method] = (...values) => runs.getStore()?.printed(values);
}

const RealDate = Date;
const now = () => runs.getStore()?.clock.time ?? RealDate.now();

globalThis.Date = new Proxy(RealDate, {
  construct: (target, values, made) => Reflect.construct(target, values.length === 0 ? [now()] : values, made),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
});
RealDate.prototype.constructor = Date;

const THINKING = 15;
const MOMENT = 2;

// A time that stands still but for what a run is known to take: two messages made at once are made at once on every machine.
export class Clock {
  constructor() {
    this.time = RealDate.now();
  }

  // A model thinks before it answers.
  think() {
    this.time += THINKING;
  }

  // Between two processors a moment passes. Messages that came at once were given dates some milliseconds ahead, and those are over.
  passBy(dates) {
    const ahead = dates.filter((date) => date < this.time + THINKING);
    this.time = Math.max(this.time, ...ahead) + MOMENT;
  }
}

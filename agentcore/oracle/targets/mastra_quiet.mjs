// Imported before the package: what it prints is kept from standard output, and goes to the run that made it print.
import { AsyncLocalStorage } from 'node:async_hooks';

process.env.MASTRA_TELEMETRY_DISABLED = '1';

// The run that the code at work belongs to; `printed` is called with what a console method was given.
export const runs = new AsyncLocalStorage();

for (const method of ['debug', 'error', 'info', 'log', 'trace', 'warn']) {
  console[method] = (...values) => runs.getStore()?.printed(values);
}

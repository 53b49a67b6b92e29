// What tests and programs import: checkHook, isolate and strict.
import * as ai from './adapters/ai.js';
import * as langchain from './adapters/langchain-js.js';
import * as mastra from './adapters/mastra.js';
import * as openai from './adapters/openai-agents-js.js';
import * as strands from './adapters/strands.js';
import { checkInProcess } from './src/in-process.js';
import { isolated, strictly } from './src/isolate.js';

const OWN = { ai, mastra, 'langchain-js': langchain, strands, 'openai-agents-js': openai };

function boundaryOf(framework, at) {
  const adapter = typeof framework === 'string' ? OWN[framework] : framework;
  if (!adapter)
    throw new TypeError(
      `there is no framework ${framework}; ${Object.keys(OWN).join(', ')} is built in, and an adapter of your own is passed as it is`,
    );
  const boundary = adapter.boundaries[at];
  if (!boundary)
    throw new TypeError(
      `${adapter.name} has no boundary ${at}; it has ${Object.keys(adapter.boundaries).join(', ')}`,
    );
  return boundary;
}

/** Makes a hook safe in one line: it gets copies, and only what it returns reaches the framework. */
export const isolate = (hook, { framework = 'ai', at }) => isolated(hook, boundaryOf(framework, at), at);

/**
 * Makes a hook throw at the line where it writes to what it was given or had returned. In production (NODE_ENV) the hook is left as it is.
 */
export function strict(hook, { framework = 'ai', at }) {
  const boundary = boundaryOf(framework, at);
  return process.env.NODE_ENV === 'production' ? hook : strictly(hook, boundary, at);
}

/** Checks a hook inside a test; throws a HookFaultError that shows the findings. Resolves to the report. */
export const checkHook = (options) => checkInProcess(options, OWN);

export { HookFaultError } from './src/in-process.js';

/** Passes a hook whose arguments are read-only to a framework whose types are not; at run time it is the hook itself. */
export const readonlyHook = (hook) => hook;

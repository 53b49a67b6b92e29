// Where the packages are that the tests run on; tests/live/test_js.py installs them.
import { createHook } from 'node:async_hooks';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { after } from 'node:test';

export const root = process.env.AGENTCORE_LIVE_JS;
if (!root) throw new Error('run these tests with pytest tests/live/test_js.py');
export const packageFile = (name) => join(root, 'check-hook', name);
export const project = (major) => join(root, `ai-${major}`);
export const types = join(root, 'types');
export const majors = [5, 6, 7];
export const whole = process.env.AGENTCORE_WHOLE === '1';
const seed = process.env.AGENTCORE_SAMPLE_SEED ?? '';
export const examples = Number(process.env.AGENTCORE_LIVE_EXAMPLES ?? 14);

// node:test follows each promise, to name the test of an error that nobody catches. Here that takes half of the time; such an error fails
// the file all the same. The first call of a function of node:test switches it on.
const hooks = Object.getPrototypeOf(createHook({}));
const { enable } = hooks;
hooks.enable = function enableNothing() {
  return this;
};
after(() => {});
hooks.enable = enable;

// Of a sample each check of an adapter's compliance runs few conversations; undefined is as many as the suite takes.
export const complying = whole ? undefined : 4;

const { checkHook, HookFaultError } = await import(packageFile('index.js'));

/** Of the items as many as `size`, which the seed picks by their names or first elements, in their order; all with AGENTCORE_WHOLE=1. */
export function picked(items, size) {
  if (whole) return [...items];
  const rank = (item) =>
    createHash('sha1')
      .update(`${seed} ${JSON.stringify(Array.isArray(item) ? item[0] : item)}`)
      .digest('hex');
  const chosen = new Set([...items].sort((one, two) => (rank(one) < rank(two) ? -1 : 1)).slice(0, size));
  return [...items].filter((item) => chosen.has(item));
}

/** The command's arguments for a loop that needs no package: for what is alike in all of them. */
export const TOY = ['--in', `${packageFile('adapters/skeleton.js')}:adapter`, '--at', 'beforeModel'];

/** The report of a check, faults included. Conversations of findings are made smaller only with AGENTCORE_WHOLE=1, or by `shrinking`. */
export async function report(options) {
  try {
    return await checkHook({ examples, failOn: 'note', shrinking: whole ? undefined : 0, ...options });
  } catch (error) {
    if (error instanceof HookFaultError) return error.report;
    throw error;
  }
}

/** The kinds that were found, sorted. */
export const kindsOf = ({ findings }) => findings.map(({ kind }) => kind).sort();

/** The report on a prepareStep hook. */
export const judged = (make, major, options = {}) =>
  report({ at: 'prepareStep', hooks: () => ({ prepareStep: make() }), project: project(major), ...options });

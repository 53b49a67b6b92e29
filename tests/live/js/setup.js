// Where the packages are that the tests run on; tests/live/test_js.py installs them.
import { createHash } from 'node:crypto';
import { join } from 'node:path';

export const root = process.env.AGENTCORE_LIVE_JS;
if (!root) throw new Error('run these tests with pytest tests/live/test_js.py');
export const packageFile = (name) => join(root, 'check-hook', name);
export const project = (major) => join(root, `ai-${major}`);
export const types = join(root, 'types');
export const majors = [5, 6, 7];
export const whole = process.env.AGENTCORE_WHOLE === '1';
const seed = process.env.AGENTCORE_SAMPLE_SEED ?? '';
export const examples = Number(process.env.AGENTCORE_LIVE_EXAMPLES ?? 14);

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

/** The report of a check, faults included. */
export async function report(options) {
  try {
    return await checkHook({ examples, failOn: 'note', ...options });
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

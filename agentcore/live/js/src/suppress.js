// Suppressions: comments in the hook's files, `agentcore: allow KIND for=ai>=6,<7 -- reason` (live.suppression).
import { readFileSync } from 'node:fs';
import { KINDS } from './options.js';
import { UsageError } from './files.js';

const COMMENT = /(?:\/\/|#|\/\*)\s*agentcore:\s*allow\b(.*)$/;
const FORM = /^\s+([\w-]+)\s+for=([A-Za-z][\w-]*)([<>=@]\S*)\s+--\s+(.*?)\s*(?:\*\/\s*)?$/;

/** The suppressions in `files`, by line; `shown` names a file as the person does. */
export function suppressionsIn(files, shown) {
  return files.flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .flatMap((text, index) => {
        const comment = COMMENT.exec(text);
        return comment ? [suppression(comment[1], shown(file), index + 1)] : [];
      }),
  );
}

function suppression(text, file, line) {
  const [, kind, framework, range, reason] = FORM.exec(text) ?? [];
  if (!reason)
    throw new UsageError(
      `${file}:${line}: a suppression needs a kind, releases and a reason: agentcore: allow write for=ai>=6,<7 -- why it is harmless there`,
    );
  if (!(kind in KINDS))
    throw new UsageError(
      `${file}:${line}: there is no kind ${kind}; kinds are ${Object.keys(KINDS).join(', ')}`,
    );
  const bounds = range
    .replace(/^@/, '=')
    .split(',')
    .map((bound) => boundOf(bound, `${file}:${line}`));
  const holds = (task) =>
    task.framework === framework &&
    task.version !== undefined &&
    bounds.every(([sign, version]) => SIGNS[sign](compare(task.version, version)));
  return { kind, for: `${framework}${range}`, reason, file, line, holds };
}

const SIGNS = {
  '<': (order) => order < 0,
  '<=': (order) => order <= 0,
  '>': (order) => order > 0,
  '>=': (order) => order >= 0,
  '=': (order) => order === 0,
  '==': (order) => order === 0,
};

function boundOf(text, place) {
  const match = /^(<=|>=|==|<|>|=)(\d+(?:\.\d+)*)$/.exec(text);
  if (!match) throw new UsageError(`${place}: ${text} is no bound of releases, such as >=6 or <7.1`);
  return [match[1], match[2]];
}

// As many numbers are compared as the bound has: 6.0.134 is =6, and not <6.
function compare(version, bound) {
  const [one, other] = [version, bound].map((text) => text.split(/[.+-]/).map(Number));
  for (const [index, number] of other.entries()) {
    const difference = (one[index] || 0) - number;
    if (difference !== 0) return difference;
  }
  return 0;
}

// Suppressions: comments in the hook's files, `agentcore: allow KIND for=ai>=6,<7 -- reason` (live.suppression).
import { readFileSync } from 'node:fs';
import { KINDS } from './options.js';
import { UsageError } from './files.js';

const COMMENT = /(?:\/\/|#|\/\*)\s*agentcore:\s*allow\b(.*)$/;
const FORM = /^\s+([\w-]+)\s+for=([A-Za-z][\w-]*)([<>=@]\S*)\s+--\s+(.*?)\s*(?:\*\/\s*)?$/;

/**
 * The suppressions in `files`. One right above the hook, or above its method, holds for all of it; one of another definition is never reported as
 * unused.
 * @param {string[]} files
 * @param {(file: string) => string} shown Names a file as the person does.
 * @param {{names: string[], methods: string[]}} [hook] What the hook is called, and its methods where the framework calls several.
 */
export function suppressionsIn(files, shown, { names, methods } = { names: [], methods: [] }) {
  return files.flatMap((file) => {
    const lines = readFileSync(file, 'utf8').split('\n');
    const known = [...names, ...localNames(lines, names)];
    return lines.flatMap((text, index) => {
      const comment = COMMENT.exec(text);
      if (!comment) return [];
      const made = suppression(comment[1], shown(file), index + 1);
      return [{ ...made, ...placeIn(lines, index, known, methods) }];
    });
  });
}

const DEFINITION =
  /^(?:export\s+)?(?:default\s+)?(?:abstract\s+)?(?:async\s+)?(?:const|let|var|function\s*\*?|class)\s+([\w$]+)|^(?:module\.)?exports\.([\w$]+)\s*=/;
const MEMBER =
  /^\s+(?:(?:public|static|override|readonly|async|get)\s+)*\*?\s*['"]?([\w$]+)['"]?\s*(?:[:=(<,]|$)/;
const isBeside = (text) => /^\s*(?:\/\/|\/\*|\*|@[\w$])/.test(text);

/** The name that a line at the top of a module defines: 'default' for a default export without a name. */
function definedAt(text = '') {
  const [, name, member] = DEFINITION.exec(text) ?? [];
  return name ?? member ?? (/^(?:export\s+default|module\.exports\s*=)/.test(text) ? 'default' : undefined);
}

// What is exported by another name than it has here.
function localNames(lines, names) {
  const found = [];
  for (const text of lines) {
    const [, local] = /^(?:export\s+default|module\.exports\s*=)\s+([\w$]+)\s*;?\s*$/.exec(text) ?? [];
    if (local && names.includes('default')) found.push(local);
    for (const [, own, name] of text.matchAll(/([\w$]+)\s+as\s+([\w$]+)/g))
      if (text.startsWith('export') && names.includes(name)) found.push(own);
  }
  return found;
}

// Whether a comment stands right above the hook, or above one of its methods and holds for that; `foreign` if it belongs to another definition.
function placeIn(lines, index, names, methods) {
  let next = index + 1;
  while (next < lines.length && isBeside(lines[next])) next++;
  const own = definedAt(lines[next]);
  if (own !== undefined) return { whole: names.includes(own), foreign: !names.includes(own) };
  const above = lines.slice(0, index).findLastIndex((text) => /^[^\s/*]/.test(text));
  const owner = definedAt(lines[above]);
  const foreign = owner !== undefined && !names.includes(owner);
  const [, member] = MEMBER.exec(lines[next] ?? '') ?? [];
  const method = methods.find((name) => name === member);
  return { whole: !foreign && (names.includes(member) || method !== undefined), method, foreign };
}

/** What a hook is called that is exported as `name`, at the boundary `at`. */
export const namesOf = ({ name, at }, { methods = {} }) => ({
  names: [...(name?.split('.') ?? ['default']), at],
  methods: Object.keys(methods),
});

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
  if (kind === 'raises') throw new UsageError(`${file}:${line}: raises cannot be suppressed`);
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

/** Whether a suppression is for a finding: it stands at its line or above it, or right above the hook. */
export function isFor({ kind, whole, method, file, line }, found) {
  if (kind !== found.kind) return false;
  if (whole) return method === undefined || found.hook.endsWith(`.${method}`);
  if (found.line === null) return true;
  return file === found.line.file && [0, 1].includes(found.line.line - line);
}

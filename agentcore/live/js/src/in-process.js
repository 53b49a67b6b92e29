// A check inside a test: the hook is a value of the test's process, so there is no process of its own to end it in.
import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { missingIn, pathsOf } from './adapters.js';
import { Collection, sampleOf } from './collect.js';
import { nameOf } from './bundle.js';
import { packageFolder, readJson } from './files.js';
import { formatted } from './formats.js';
import { hookOf } from './hooks.js';
import { Judge } from './judge.js';
import { keepStray } from './outcome.js';
import { reportOf } from './report.js';
import { install, uninstall } from './seeded.js';
import { namesOf, suppressionsIn } from './suppress.js';

/** Thrown by checkHook; `report` has the findings. */
export class HookFaultError extends Error {
  constructor(report) {
    super(`\n${formatted(report, 'text')}`);
    this.name = 'HookFaultError';
    this.report = report;
  }
}

export async function checkInProcess(
  {
    framework = 'ai',
    at,
    hooks,
    path,
    examples = 60,
    seed = 0,
    texts = [],
    conversations,
    kinds,
    failOn = 'fault',
    project = process.cwd(),
    shrinking,
  },
  own,
) {
  if (typeof hooks !== 'function')
    throw new TypeError(`hooks is a function that makes fresh hooks: hooks: () => ({ ${at} })`);
  const adapter = typeof framework === 'string' ? own[framework] : framework.boundaries ? framework : own.ai;
  const boundary = adapter?.boundaries[at];
  if (!boundary)
    throw new TypeError(
      `there is no boundary ${at} in ${adapter?.name ?? framework}; there are ${Object.keys(adapter?.boundaries ?? own).join(', ')}`,
    );
  const { sdk, version, resolvedFrom } = await packageOf(adapter, framework, project);
  const missing = missingIn(adapter, at, version);
  if (missing) throw new TypeError(missing);
  const task = {
    framework: adapter.name,
    version,
    resolvedFrom,
    at,
    name: at,
    paths: path ? [path] : pathsOf(adapter, at),
    seed,
    texts,
    recorded: [],
    conversations,
    testable: false,
  };
  const load = async () => {
    const made = await hooks();
    return await hookOf(made, { name: at, at, boundaries: adapter.boundaries, owner: made });
  };
  await load();
  install();
  const giveBack = takeOver(['uncaughtException', 'unhandledRejection']);
  try {
    const judge = new Judge({
      adapter,
      sdk,
      version,
      at,
      load,
      idempotent: kinds?.includes('not-idempotent'),
    });
    // Conversations that are given are those to show.
    const collection = new Collection(judge, { shrinking: shrinking ?? (conversations ? 0 : undefined) });
    for (let index = 0; index < (conversations?.length ?? examples); index++)
      if (!(await collection.add(sampleOf(index, task)))) break;
    const groups = (await collection.findings()).map((group) => ({
      ...group.signal,
      ...group,
      call: group.signal.call ?? group.signal.write?.call,
      talk: group.sample.talk,
      path: group.sample.path,
      seen: [...group.seen],
      paths: [...group.paths],
    }));
    const { counts, makers, foreign, foreignError, outside, unrecorded, prefix } = collection;
    const report = reportOf({
      task,
      options: { kinds, failOn },
      answer: { groups, counts, makers, foreign, foreignError, outside, unrecorded, prefix, deaths: [] },
      suppressions: suppressionsAt(groups, task, boundary),
      boundary,
    });
    if (report.exit !== 0) throw new HookFaultError(report);
    return report;
  } finally {
    giveBack();
    uninstall();
  }
}

// Those in the files that findings are in: which other files the hook comes from is not known here.
function suppressionsAt(groups, task, boundary) {
  const files = new Set(groups.flatMap(({ frame }) => (frame ? [frame.file] : [])));
  const readable = [...files].filter((file) => existsSync(file));
  const shown = (file) => relative(process.cwd(), file);
  return suppressionsIn(readable, shown, namesOf(task, boundary)).map((each) => ({ ...each, foreign: true }));
}

// What a hook leaves running may throw when nobody listens: that is for the check, and no failure of the test that it runs in.
function takeOver(events) {
  const listeners = events.map((event) => [event, process.listeners(event)]);
  for (const event of events) process.removeAllListeners(event).on(event, keepStray);
  return () => {
    for (const [event, own] of listeners) {
      process.removeAllListeners(event);
      for (const listener of own) process.on(event, listener);
    }
  };
}

// The release that the test's project imports, or the module that the test gives.
export async function packageOf(adapter, framework, project) {
  const [name] = adapter.packages ?? [];
  if (!name) return { sdk: {}, version: adapter.version };
  const folder = packageFolder(name, project);
  if (!folder) throw new Error(`${name} is not installed in ${project} nor above it; pass project: FOLDER`);
  const manifest = readJson(join(folder, 'package.json'));
  const sdk =
    typeof framework === 'object' && !framework.boundaries
      ? framework
      : Object.assign(
          {},
          ...(await Promise.all(adapter.packages.map((module) => imported(module, project)))),
        );
  return { sdk, version: manifest.version, resolvedFrom: folder };
}

async function imported(module, project) {
  const folder = packageFolder(nameOf(module), project);
  if (!folder) throw new Error(`${nameOf(module)} is not installed in ${project} nor above it`);
  const path = `.${module.slice(nameOf(module).length)}`;
  return await import(
    pathToFileURL(join(folder, entryOf(readJson(join(folder, 'package.json')), folder, path)))
  );
}

/** The file that `import` of a package, or of the module `path` of it, loads. */
export function entryOf({ exports, module, main }, folder, path = '.') {
  const condition = (target) => {
    if (typeof target === 'string') return target;
    if (Array.isArray(target)) return target.map(condition).find(Boolean);
    for (const [name, below] of Object.entries(target ?? {}))
      if (['node', 'import', 'module-sync', 'default'].includes(name)) {
        const found = condition(below);
        if (found) return found;
      }
    return undefined;
  };
  const root =
    exports === undefined
      ? undefined
      : condition(typeof exports === 'string' || !('.' in exports) ? exports : exports[path]);
  return root ?? [module, main, 'index.js'].find((file) => file && existsSync(join(folder, file)));
}

// Folders, packages and the cache on disk. Nothing here starts a process but `npm install` of what the person asked for.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

/** A reason not to judge, with the exit code that goes with it: 3, or 2 for wrong usage. */
export class NotJudged extends Error {
  constructor(reason, message) {
    super(message);
    this.reason = reason;
  }
}

export class UsageError extends Error {}

/** The cache of the tool: the only place that it writes to. */
export function cacheFolder() {
  if (process.env.AGENTCORE_CACHE) return join(process.env.AGENTCORE_CACHE, 'check-hook');
  if (process.platform === 'win32')
    return join(process.env.LOCALAPPDATA ?? tmpdir(), 'agentcore', 'check-hook');
  return join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'agentcore', 'check-hook');
}

export const readJson = (file) => JSON.parse(readFileSync(file, 'utf8'));

/** The folder of the package `name` that code in `folder` imports, or undefined. */
export function packageFolder(name, folder) {
  for (let at = resolve(folder); ; at = dirname(at)) {
    const found = join(at, 'node_modules', name);
    if (existsSync(join(found, 'package.json'))) return found;
    if (dirname(at) === at) return undefined;
  }
}

/** A folder of the cache in which `wanted` (`ai@6.0.134`) is installed. */
export function installed(wanted, { quiet = false } = {}) {
  const folder = join(cacheFolder(), 'packages', wanted.replace('/', '+'));
  const name = wanted.slice(0, wanted.lastIndexOf('@'));
  if (packageFolder(name, folder)?.startsWith(folder)) return folder;
  mkdirSync(dirname(folder), { recursive: true });
  const fresh = mkdtempSync(join(dirname(folder), '.new-'));
  writeFileSync(
    join(fresh, 'package.json'),
    JSON.stringify({ name: 'agentcore-check-hook-cache', private: true }),
  );
  if (!quiet) process.stderr.write(`installing ${wanted} into ${folder}\n`);
  const done = spawnSync(
    'npm',
    ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error', wanted],
    { cwd: fresh, encoding: 'utf8', shell: process.platform === 'win32' },
  );
  if (done.status !== 0) {
    rmSync(fresh, { recursive: true, force: true });
    throw new NotJudged(
      'no-framework',
      `npm could not install ${wanted}: ${firstLine(done.stderr || done.error?.message)}; check the version, or the connection`,
    );
  }
  try {
    renameSync(fresh, folder);
  } catch {
    rmSync(fresh, { recursive: true, force: true }); // another check was faster
  }
  return folder;
}

const firstLine = (text) =>
  String(text ?? '')
    .trim()
    .split('\n')[0];

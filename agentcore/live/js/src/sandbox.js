// What a hook must not do while it is checked: end or start processes, connect, write files. Each attempt is thrown back at it, and kept.
import childProcess from 'node:child_process';
import dgram from 'node:dgram';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import workers from 'node:worker_threads';
import { BlockedError, keepAttempt } from './outcome.js';

const refuse = (what, kind) =>
  function refused() {
    keepAttempt({ what, kind });
    throw new BlockedError(
      `the hook called ${what}, which a check does not allow${kind === 'outside' ? ': give it a stand-in, or make it with --factory' : ''}`,
      kind,
    );
  };

const WRITERS = [
  'writeFile',
  'appendFile',
  'writeFileSync',
  'appendFileSync',
  'createWriteStream',
  'mkdir',
  'mkdirSync',
  'mkdtemp',
  'mkdtempSync',
  'rm',
  'rmSync',
  'unlink',
  'unlinkSync',
  'rename',
  'renameSync',
  'copyFile',
  'copyFileSync',
  'cp',
  'cpSync',
  'symlink',
  'symlinkSync',
  'truncate',
  'truncateSync',
  'chmod',
  'chmodSync',
  'writeSync',
  'write',
];

/** Puts refusals in place of what would leave the process. */
export function close() {
  for (const name of ['exit', 'reallyExit', 'abort', 'kill'])
    process[name] = refuse(`process.${name}()`, 'exits');
  for (const name of ['spawn', 'spawnSync', 'exec', 'execSync', 'execFile', 'execFileSync', 'fork'])
    childProcess[name] = refuse(`child_process.${name}()`, 'forks');
  workers.Worker = class Worker {
    constructor() {
      refuse('new Worker()', 'forks')();
    }
  };
  net.Socket.prototype.connect = refuse('the network', 'outside');
  dgram.createSocket = refuse('the network', 'outside');
  globalThis.fetch = async () => refuse('fetch()', 'outside')();
  for (const name of WRITERS) fs[name] = refuseFile(name, fs[name]);
  for (const name of WRITERS)
    if (name in fs.promises) fs.promises[name] = async () => refuse(`fs.promises.${name}()`, 'outside')();
  syncBuiltinESMExports();
}

// The standard streams stay open: what a hook prints is discarded by the other side.
function refuseFile(name, original) {
  const refused = refuse(`fs.${name}()`, 'outside');
  return (target, ...rest) => (target === 1 || target === 2 ? original(target, ...rest) : refused());
}

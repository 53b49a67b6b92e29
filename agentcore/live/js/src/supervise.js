// Runs a check in a process of its own, and ends that process when it hangs or grows. A conversation that ended it is left out the next time.
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { NotJudged } from './files.js';
import { mergedAnswers } from './merge.js';

const SILENCE_OF_LOADING = 20_000;
const SILENCE_OF_FINDINGS = 60_000;
const HEAP = 512;
const MOST_MEMORY = 4 * 1024 * HEAP; // kilobytes, of all that the process holds
const MOST_DEATHS = 2;

const MANY = 100; // conversations from which a second process pays for its start

/** The answer for `task`, with the deaths that conversations caused: `[{index, cause, message}]`; many conversations are judged in two processes. */
export async function supervised(task) {
  const parts = task.examples >= MANY && availableParallelism() > 1 ? 2 : 1;
  const all = Array.from({ length: parts }, (_, part) => supervisedPart({ ...task, part, parts }));
  return mergedAnswers(await Promise.all(all));
}

async function supervisedPart(task) {
  const deaths = [];
  for (;;) {
    const end = await lived({
      ...task,
      skip: deaths.map(({ index }) => index),
      examples: isEnough(deaths) ? Math.min(...deaths.map(({ index }) => index)) : task.examples,
    });
    if (end.answer) return { ...end.answer, deaths };
    if (end.notJudged) throw new NotJudged(end.notJudged.reason, end.notJudged.message);
    if (end.broken) throw new Error(end.broken);
    if (end.at === undefined)
      throw new NotJudged('not-loadable', `${task.shown} ${end.message} while it was loaded`);
    if (end.at === 'findings')
      throw new Error(`the process ${end.message} while findings were made smaller\n${end.stderr}`);
    deaths.push({ index: end.at, cause: end.cause, message: end.message });
    if (deaths.length > MOST_DEATHS)
      return {
        groups: [],
        counts: { run: 0, judged: 0, errors: 0, calls: 0 },
        foreign: 0,
        unrecorded: 0,
        prefix: { of: 0 },
        deaths,
      };
  }
}

// A hook that hangs ends the check (live.time-limit): what was judged before is judged again, for the findings.
const isEnough = (deaths) => deaths.length >= MOST_DEATHS || deaths.some(({ cause }) => cause === 'hangs');

function lived(task) {
  const permission = process.allowedNodeEnvironmentFlags.has('--permission')
    ? '--permission'
    : '--experimental-permission';
  const flags = [
    '--enable-source-maps',
    `--max-old-space-size=${HEAP}`,
    '--max-semi-space-size=32', // most objects of a run die with it
    '--no-warnings',
    permission,
    '--allow-fs-read=*',
    '--allow-addons',
    '--allow-worker',
  ];
  const child = spawn(process.execPath, [...flags, fileURLToPath(new URL('child.js', import.meta.url))], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    cwd: task.cwd,
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  children.add(child);
  return new Promise((resolve) => {
    const state = { at: undefined, cause: undefined, stderr: '', heard: performance.now(), used: 0 };
    const kill = (cause) => {
      state.cause ??= cause;
      child.kill('SIGKILL');
    };
    const watch = setInterval(() => {
      if (isStuck(state, child.pid, task.limit)) kill('hangs');
      else if (memoryOf(child.pid) > MOST_MEMORY) kill('out-of-memory');
    }, 100);
    child.stdout.resume();
    child.stderr.on('data', (data) => {
      state.stderr = (state.stderr + data).slice(-4000);
    });
    child.on('message', (message) => {
      Object.assign(state, { heard: performance.now(), used: secondsOf(child.pid) });
      if ('begins' in message) state.at = message.begins;
      else Object.assign(state, { end: message });
      if (state.end) child.kill('SIGKILL');
    });
    child.on('exit', (code, signal) => {
      clearInterval(watch);
      children.delete(child);
      resolve(state.end ?? { at: state.at, stderr: state.stderr, ...death(state, code, signal, task.limit) });
    });
    child.send(task);
  });
}

// Silence counts only while the process works, or if it is very long: a busy machine is no fault of the hook.
function isStuck({ heard, used, at }, pid, most) {
  const silence = performance.now() - heard;
  const limit = at === undefined ? SILENCE_OF_LOADING : at === 'findings' ? SILENCE_OF_FINDINGS : most;
  if (silence <= limit) return false;
  const now = secondsOf(pid);
  return now === undefined || used === undefined || (now - used) * 1000 > limit * 0.75 || silence > limit * 8;
}

// Seconds of the processor that a process has used, where the system says.
function secondsOf(pid) {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
    return (Number(fields[11]) + Number(fields[12])) / 100;
  } catch {
    return undefined;
  }
}

function death({ cause, stderr }, code, signal, limit) {
  if (cause === 'hangs') return { cause, message: `did nothing for ${limit / 1000} s and was ended` };
  if (cause === 'out-of-memory' || /heap out of memory|Allocation failed/.test(stderr))
    return {
      cause: 'out-of-memory',
      message: `needed more memory than a check gives it (${HEAP} MB) and was ended`,
    };
  if (signal) return { cause: 'killed', message: `was ended by ${signal}` };
  return { cause: 'exits', message: `ended with exit code ${code}` };
}

// Where the system says how much a process holds; elsewhere only the limit of the heap counts.
function memoryOf(pid) {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

const children = new Set();

/** Ends what is still running. */
export function endChildren() {
  for (const child of children) child.kill('SIGKILL');
}

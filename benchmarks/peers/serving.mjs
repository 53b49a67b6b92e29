// What every peer in Node shares; serving.py says what requests and answers are. Memory is by process.memoryUsage.
import { serve as serveLines } from '../../agentcore/kit/drivers/lines.mjs';

const MESSAGE_LENGTH = 500;
const RESULT_LENGTH = 450;
const TURNS = 50;
const SETTLED = 500;
export const DONE = 'done';
export const REMINDER = 'remember';
export const TOOL = 'look';
export const TOOL_DOES = 'Look something up.';
export const TOOL_TAKES = { type: 'object', properties: { q: { type: 'number' } }, required: ['q'] };

const print = console.error;
for (const method of ['debug', 'error', 'info', 'log', 'trace', 'warn']) console[method] = () => {};

// The loop has no means for what is asked.
export class Unsupported extends Error {}

// Ends a run that takes too long, by throwing where it calls its model; whatever its loop makes of that, `over` stays.
class Watch {
  over = false;

  constructor(limit) {
    this.limit = limit;
  }

  start() {
    this.begun = performance.now();
  }

  look(now) {
    if (now - this.begun <= this.limit * 1000) return;
    this.over = true;
    throw new Error(`over ${this.limit} s`);
  }
}

// Roles and texts of what the run begins with: the history, by turns, and what is asked last.
export function messages({ history }) {
  const turns = Array.from({ length: history }, (_, index) => ({
    role: index % 2 === 0 ? 'user' : 'assistant',
    text: `message ${index} `.padEnd(MESSAGE_LENGTH, 'x'),
  }));
  return [...turns, { role: 'user', text: 'go' }];
}

// What the model and the tool say, the same for every loop; every step but the last calls the tool once.
export class Script {
  calls = 0;
  looks = 0;
  prompt = 0;

  constructor(task) {
    this.task = task;
    task.watch.start();
  }

  // The model is called with so many messages: the number to look up, undefined to say that it is done.
  call(prompt) {
    this.last = performance.now();
    this.first ??= this.last;
    this.task.watch.look(this.last);
    this.calls += 1;
    this.prompt = prompt;
    return this.calls < this.task.steps ? this.calls : undefined;
  }

  look(number) {
    this.looks += 1;
    return `found ${number} `.padEnd(RESULT_LENGTH, 'x');
  }

  check(text) {
    return { calls: this.calls, looks: this.looks, prompt: this.prompt, text };
  }
}

// `peer.prepare(task, script)` gives the run of a new agent, which comes to its text and what its caller has of it;
// `peer.forks(task, script)` a run that was run, as `fork(number)` and `length(fork)`.
export function serve(peer) {
  const implementation = { name: 'peer', version: '1', formats: [] };
  serveLines(implementation, (request) => answer(peer, request), () => {});
}

async function answer(peer, { id, measure, runs, forks, limit, ...asked }) {
  const task = { ...asked, watch: new Watch(limit) };
  const answered = await measured(peer, task, { measure, runs, forks });
  return { id, ...(task.watch.over ? { over: limit } : answered) };
}

async function measured(peer, task, { measure, runs, forks }) {
  const measures = {
    time: () => times(peer, task, runs),
    memory: () => memory(peer, task),
    forks: () => forked(peer, task, forks, taken),
    'fork memory': () => forked(peer, task, forks, allocated),
  };
  try {
    return await measures[measure]();
  } catch (error) {
    if (error instanceof Unsupported) return { unsupported: error.message };
    print(error);
    return { failed: `${error.name}: ${error.message}`.slice(0, 500) };
  }
}

async function times(peer, task, runs) {
  const seconds = [];
  const between = [];
  const checks = new Set();
  for (let run = 0; run < runs; run += 1) checks.add(JSON.stringify(await time(peer, task, seconds, between)));
  if (checks.size > 1) throw new Error(`runs differ: ${[...checks].join(' ')}`);
  return { seconds, between, check: JSON.parse([...checks][0]) };
}

async function time(peer, task, seconds, between) {
  const script = new Script(task);
  const run = await peer.prepare(task, script);
  // What runs before it left behind is not its to clear away; what it makes itself is.
  globalThis.gc();
  const begun = performance.now();
  const { text } = await run();
  seconds.push((performance.now() - begun) / 1000);
  between.push((script.last - script.first) / 1000);
  return script.check(text);
}

async function memory(peer, task) {
  // What is loaded and cached at the first run is no run's. One is enough: of more, some packages hold on to something.
  const small = { ...task, history: 2, steps: 10 };
  await (await peer.prepare(small, new Script(small)))();
  const script = new Script(task);
  const run = await peer.prepare(task, script);
  const [{ text }, { bytes }] = await allocated(run);
  return { bytes, check: script.check(text) };
}

async function allocated(make) {
  const before = await used();
  const made = await make();
  return [made, { bytes: (await used()) - before }];
}

// What finalizers and finished promises hold is free only some turns later.
async function used() {
  let [before, now] = [Infinity, 0];
  for (let turn = 0; turn < TURNS && Math.abs(before - now) > SETTLED; turn += 1) {
    await new Promise((resolve) => { setTimeout(resolve, 20); });
    globalThis.gc();
    const { heapUsed, external } = process.memoryUsage();
    [before, now] = [now, heapUsed + external];
  }
  return now;
}

async function forked(peer, task, count, measured) {
  if (peer.forks === undefined) throw new Unsupported('it has no states to go back to');
  const script = new Script(task);
  const { fork, length } = await peer.forks(task, script);
  fork(0);
  const [made, answer] = await measured(async () => {
    task.watch.start();
    return Array.from({ length: count }, (_, number) => {
      task.watch.look(performance.now());
      return fork(number);
    });
  });
  return { ...answer, check: { ...script.check(DONE), forked: [...new Set(made.map(length))] } };
}

async function taken(make) {
  globalThis.gc();
  const begun = performance.now();
  const made = await make();
  return [made, { seconds: [(performance.now() - begun) / 1000] }];
}

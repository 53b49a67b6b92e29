// What every driver is: requests of the driver protocol in, answers out; or, until it is asked to start, a filter, programs in and
// traces out. One JSON value per line, in order.
import { once } from 'node:events';

const VERSION = 1;
const TICKS = 4; // of a moment

// What a tool that takes so many moments waits for. A clock of its own counts turns of the event loop's timers: on a busy machine
// it is late as a whole, where timers of 10 and of 20 ms can both be due when the process runs again. It ticks while somebody
// waits, and releases one tool at a tick, the one that is due first: what that tool's end leads to happens before the next one's.
export const moments = (count) => new Promise((resolve) => {
  if (waiting.length === 0) setTimeout(tick, 1);
  waiting.push({ due: now + count * TICKS, resolve });
});
const waiting = [];
let now = 0;

function tick() {
  now += 1;
  const due = Math.min(...waiting.map((one) => one.due));
  if (due <= now) waiting.splice(waiting.findIndex((one) => one.due === due), 1)[0].resolve();
  if (waiting.length > 0) setTimeout(tick, 1);
}

// Taken before a package can write to standard output, which is for answers alone.
const out = process.stdout.write.bind(process.stdout);

async function write(line) {
  if (!out(line + '\n')) await once(process.stdout, 'drain');
}

const badProgram = (id, message) => ({ id, error: { name: 'BadProgram', message } });

// `implementation` is what runs the programs: its name, its version and the formats of its programs. `check` throws for a value
// that is no program; `refusal` is a filter's answer to it. Up to `atOnce` programs are run side by side; the answers keep the
// order of the programs.
export function serve(implementation, run, check, refusal = badProgram, { atOnce = 1 } = {}) {
  serveLines(new Speech(implementation, run, check, refusal), atOnce).catch((error) => {
    console.error(error);
    process.exit(1);
  });
}

async function serveLines(speech, atOnce) {
  // A promise of the package that nobody awaits (a hung run leaves one) is not the driver's failure.
  process.on('unhandledRejection', () => {});
  const running = [];
  let written = Promise.resolve();
  for await (const line of lines(process.stdin)) {
    if (line.trim() === '') continue;
    const answer = speech.answer(line);
    if (answer === undefined) break;
    written = inOrder(answer, written);
    running.push(written);
    if (running.length >= atOnce) await running.shift();
  }
  await written;
}

async function inOrder(answer, before) {
  const [value] = await Promise.all([answer, before]);
  await write(JSON.stringify(value));
}

// They end at \n and nowhere else: readline ends a line at \r too, which is white space to JSON.
async function* lines(input) {
  input.setEncoding('utf8');
  let begun = [];
  for await (const chunk of input) {
    const [end, ...others] = chunk.split('\n');
    begun.push(end);
    for (const other of others) {
      yield begun.join('');
      begun = [other];
    }
  }
  yield begun.join('');
}

class Speech {
  started = false;

  constructor({ name, version, formats }, run, check, refusal) {
    this.introduction = { version: VERSION, implementation: { name, version }, formats };
    Object.assign(this, { run, check, refusal });
  }

  // The answer to a line, or a promise of it; undefined where there is none to come, because this is the end.
  answer(line) {
    const value = parsed(line);
    if (value?.cmd === 'start') {
      this.started = true;
      return this.introduction;
    }
    if (!this.started) return this.filtered(value);
    if (value?.cmd === 'stop') return undefined;
    if (value?.cmd === 'run' && 'seq' in value) return this.traced(value);
    return { seq: null, error: { name: 'BadRequest', message: 'a request is {"cmd": "run", "seq": ..., "program": {...}} or {"cmd": "stop"}' } };
  }

  async filtered(program) {
    const problem = program === undefined ? 'is not JSON' : this.problem(program);
    return problem === undefined ? await this.run(program) : this.refusal(program?.id, problem);
  }

  async traced({ seq, program }) {
    const problem = this.problem(program);
    if (problem !== undefined) return { seq, error: { name: 'BadProgram', message: problem } };
    return { seq, trace: await this.run(program) };
  }

  problem(program) {
    try {
      this.check(program);
    } catch (error) {
      return error.message;
    }
  }
}

function parsed(line) {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

// The filter that every driver is: programs in, traces out, one JSON value per line, in order.
import { createInterface } from 'node:readline';

// Taken before a package can write to standard output, which is for traces alone.
const out = process.stdout.write.bind(process.stdout);

function write(line) {
  return new Promise((resolve) => (out(line + '\n') ? resolve() : process.stdout.once('drain', resolve)));
}

// `run` gives the trace of a program. Up to `atOnce` programs are run side by side; answers keep the programs' order.
// `required` are the fields that a program has, each of them a list.
export function serve(run, { atOnce = 1, required = ['messages', 'script'] } = {}) {
  filter(run, atOnce, required).catch((error) => {
    console.error(error);
    process.exit(1);
  });
}

async function filter(run, atOnce, required) {
  // A promise of the package that nobody awaits (a hung run leaves one) is not the driver's failure.
  process.on('unhandledRejection', () => {});
  const asked = [];
  let written = Promise.resolve();
  for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
    if (line.trim() === '') continue;
    const answer = answered(line, run, required);
    const before = written;
    written = Promise.all([answer, before]).then(([text]) => write(text));
    asked.push(written);
    if (asked.length >= atOnce) await asked.shift();
  }
  await written;
}

async function answered(line, run, required) {
  let program;
  try {
    program = JSON.parse(line);
    for (const field of required) {
      if (!Array.isArray(program[field])) throw new TypeError(`${field} is no list`);
    }
  } catch (error) {
    return JSON.stringify({ id: program?.id, error: { name: 'BadProgram', message: error.message } });
  }
  return JSON.stringify(await run(program));
}

// The filter that every driver is: programs in, traces out, one JSON value per line, in order.
import { createInterface } from 'node:readline';

// Taken before a package can write to standard output, which is for traces alone.
const out = process.stdout.write.bind(process.stdout);

function write(line) {
  return new Promise((resolve) => (out(line + '\n') ? resolve() : process.stdout.once('drain', resolve)));
}

const badProgram = (id, message) => ({ id, error: { name: 'BadProgram', message } });

// `check` throws for a value that is no program; `refusal` is the answer to it. Up to `atOnce` programs are run side by side; the
// answers keep the order of the programs.
export function serve(run, check, refusal = badProgram, { atOnce = 1 } = {}) {
  filter((line) => answered(line, run, check, refusal), atOnce).catch((error) => {
    console.error(error);
    process.exit(1);
  });
}

async function filter(answer, atOnce) {
  // A promise of the package that nobody awaits (a hung run leaves one) is not the driver's failure.
  process.on('unhandledRejection', () => {});
  const running = [];
  let written = Promise.resolve();
  for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
    if (line.trim() === '') continue;
    written = inOrder(answer(line), written);
    running.push(written);
    if (running.length >= atOnce) await running.shift();
  }
  await written;
}

async function inOrder(answer, before) {
  const [text] = await Promise.all([answer, before]);
  await write(text);
}

async function answered(line, run, check, refusal) {
  let program;
  try {
    program = JSON.parse(line);
    check(program);
  } catch (error) {
    return JSON.stringify(refusal(program?.id, error.message));
  }
  return JSON.stringify(await run(program));
}

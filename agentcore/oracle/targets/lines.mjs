// The filter that every driver is: programs in, traces out, one JSON value per line, in order.
import { createInterface } from 'node:readline';

function write(line) {
  return new Promise((resolve) => (process.stdout.write(line + '\n') ? resolve() : process.stdout.once('drain', resolve)));
}

const badProgram = (id, message) => ({ id, error: { name: 'BadProgram', message } });

// `check` throws for a value that is no program; `refusal` is the answer to it.
export function serve(run, check, refusal = badProgram) {
  filter(run, check, refusal).catch((error) => {
    console.error(error);
    process.exit(1);
  });
}

async function filter(run, check, refusal) {
  // A promise of the package that nobody awaits (a hung run leaves one) is not the driver's failure.
  process.on('unhandledRejection', () => {});
  for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
    if (line.trim() === '') continue;
    let program;
    try {
      program = JSON.parse(line);
      check(program);
    } catch (error) {
      await write(JSON.stringify(refusal(program?.id, error.message)));
      continue;
    }
    await write(JSON.stringify(await run(program)));
  }
}

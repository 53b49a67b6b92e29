// The filter that every driver is: programs in, traces out, one JSON value per line, in order.
import { createInterface } from 'node:readline';

function write(line) {
  return new Promise((resolve) => (process.stdout.write(line + '\n') ? resolve() : process.stdout.once('drain', resolve)));
}

export function serve(run) {
  filter(run).catch((error) => {
    console.error(error);
    process.exit(1);
  });
}

async function filter(run) {
  // A promise of the package that nobody awaits (a hung run leaves one) is not the driver's failure.
  process.on('unhandledRejection', () => {});
  for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
    if (line.trim() === '') continue;
    let program;
    try {
      program = JSON.parse(line);
      if (!Array.isArray(program.messages) || !Array.isArray(program.script)) throw new TypeError('messages and script are lists');
    } catch (error) {
      await write(JSON.stringify({ id: program?.id, error: { name: 'BadProgram', message: error.message } }));
      continue;
    }
    await write(JSON.stringify(await run(program)));
  }
}

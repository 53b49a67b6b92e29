// The process in which the hook runs. What it hears is one task; what it says are progress and one answer.
import { pathToFileURL } from 'node:url';
import { adapterOf } from './adapters.js';
import { Collection, sampleOf } from './collect.js';
import { hookOf } from './hooks.js';
import { Judge } from './judge.js';
import { NotJudged } from './files.js';
import { close } from './sandbox.js';
import { keepStray } from './outcome.js';
import { install } from './seeded.js';

const send = process.send.bind(process);
// The hook shares this process, but not the way to the other one.
Object.assign(process, { send: undefined, disconnect: undefined });
process.once('message', (task) => {
  check(task).then(
    (answer) => send({ answer }),
    (error) =>
      send(
        error instanceof NotJudged
          ? { notJudged: { reason: error.reason, message: error.message } }
          : { broken: error.stack ?? String(error) },
      ),
  );
});

async function check(task) {
  const adapter = await adapterOf(task.framework, task.adapterFile);
  close();
  install();
  strayErrors();
  let loads = 0;
  const load = async () =>
    await hookOf((await import(`${pathToFileURL(task.module)}?run=${loads++}`)).hook, {
      name: task.name,
      at: task.at,
      factory: task.factory,
      boundaries: adapter.boundaries,
    });
  const first = await loaded(task, load);
  const judge = new Judge({
    adapter,
    sdk: first.framework ?? {},
    version: task.version,
    at: task.at,
    load,
    sources: task.sources,
    idempotent: task.idempotent,
    limit: task.limit,
  });
  const collection = new Collection(judge, { sources: task.sources });
  for (let index = 0; index < task.examples; index++) {
    // Two by two, so that each part has all paths.
    if ((index >> 1) % task.parts !== task.part || task.skip.includes(index)) continue;
    send({ begins: index });
    if (!(await collection.add(sampleOf(index, task)))) break;
  }
  send({ begins: 'findings' });
  return {
    groups: (await collection.findings()).map(plainGroup),
    counts: collection.counts,
    foreign: collection.foreign,
    foreignError: collection.foreignError,
    outside: collection.outside,
    unrecorded: collection.unrecorded,
    makers: collection.makers,
    prefix: collection.prefix,
  };
}

async function loaded(task, load) {
  try {
    const module = await import(pathToFileURL(task.module));
    await load();
    return module;
  } catch (error) {
    if (error instanceof NotJudged) throw error;
    throw new NotJudged('not-loadable', `${task.shown} cannot be loaded: ${error.message}`);
  }
}

// What a hook left running may throw when nobody listens.
function strayErrors() {
  process.on('uncaughtException', keepStray);
  process.on('unhandledRejection', keepStray);
}

// Only data crosses to the other process.
function plainGroup({ signal, sample, count, paths, seen, frame, places, runs }) {
  const { kind, cause, key, place, piece, surplus, alone, type, why, first, error } = signal;
  const call = signal.call ?? signal.write?.call;
  const write = signal.write && {
    place: signal.write.place,
    before: signal.write.before,
    after: signal.write.after,
    own: signal.write.own,
    late: signal.write.late,
  };
  return {
    kind,
    cause,
    key,
    place,
    piece,
    surplus,
    alone,
    type,
    why,
    first,
    error,
    write,
    call: call && { name: call.name, turn: call.turn, step: call.step },
    talk: sample.talk,
    path: sample.path,
    count,
    paths: [...paths],
    seen: [...seen],
    frame,
    places,
    runs,
  };
}

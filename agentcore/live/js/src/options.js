// The command line of check-hook.
import { parseArgs } from 'node:util';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { UsageError } from './files.js';

export const KINDS = {
  write: 'fault',
  accumulates: 'fault',
  raises: 'fault',
  'cuts-pair': 'fault',
  'loses-request': 'fault',
  'harmless-write': 'note',
  'not-isolated': 'note',
  undetermined: 'note',
  opaque: 'note',
  'not-idempotent': 'note',
};

export const USAGE = `Usage: check-hook FILE#EXPORT [--in FRAMEWORK[@VERSION]] --at BOUNDARY [options]

Runs your hook in the framework release that you installed, on random conversations with a scripted model, and reports what it
changes where it should only return. Your hook runs many times, in a process of its own, without network.

  --in FRAMEWORK[@VERSION]  ai (the default), or the adapter of a loop of your own: ./loop.js:adapter. With a version, that release is installed into the cache.
  --at BOUNDARY             Where the framework calls the hook: --list says which there are.
  --project FOLDER          Where the framework is installed; by default the nearest place above the hook.
  --factory                 EXPORT is a function that makes the hook.
  --examples N              Conversations (60).
  --seed N                  Number of the first random conversation (0).
  --from FILE               Recorded conversations or messages, as JSON, to start from.
  --texts TEXT              A text that the hook reacts to. Repeatable.
  --path generate|stream    Only this path of the framework; by default all, by turns.
  --kinds KIND,...          Only findings of these kinds count. not-idempotent is looked for only if it is named.
  --time-limit SECONDS      What one call of the hook may take (10); one that takes longer hangs, and ends the check.
  --fail-on fault|note      What makes the exit code 1 (fault).
  --json, --junit, --sarif  Print this format instead of text.
  --report FILE             Write the report as JSON to a file, too.
  --list                    Print frameworks, boundaries and versions tried.

Exit codes: 0 judged, nothing at or above --fail-on; 1 something; 2 wrong usage; 3 not judged; 4 a fault of the tool.`;

const SPEC = {
  in: { type: 'string', default: 'ai' },
  at: { type: 'string' },
  project: { type: 'string' },
  factory: { type: 'boolean' },
  examples: { type: 'string', default: '60' },
  seed: { type: 'string', default: '0' },
  from: { type: 'string' },
  texts: { type: 'string', multiple: true, default: [] },
  path: { type: 'string' },
  kinds: { type: 'string' },
  json: { type: 'boolean' },
  junit: { type: 'boolean' },
  sarif: { type: 'boolean' },
  report: { type: 'string' },
  'time-limit': { type: 'string', default: '10' },
  'fail-on': { type: 'string', default: 'fault' },
  list: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
};

/** The options in `argv`, checked. */
export function optionsOf(argv) {
  const { values, positionals } = parsed(argv[0] === 'check-hook' ? argv.slice(1) : argv);
  if (values.help || values.list) return values;
  if (positionals.length !== 1)
    throw new UsageError(`one FILE#EXPORT is expected, there are ${positionals.length}`);
  if (!values.at)
    throw new UsageError('--at is missing: it says where the framework calls the hook; --list has all');
  const formats = ['json', 'junit', 'sarif'].filter((name) => values[name]);
  if (formats.length > 1) throw new UsageError(`only one of --${formats.join(', --')} can be printed`);
  if (!['fault', 'note'].includes(values['fail-on']))
    throw new UsageError(`--fail-on is fault or note, not ${values['fail-on']}`);
  return {
    ...values,
    ...hookFile(positionals[0]),
    ...framework(values.in),
    kinds: kinds(values.kinds),
    examples: whole('examples', values.examples, 1),
    seed: whole('seed', values.seed, 0),
    limit: milliseconds(values['time-limit']),
    format: formats[0] ?? 'text',
  };
}

function parsed(argv) {
  try {
    return parseArgs({ args: argv, options: SPEC, allowPositionals: true });
  } catch (error) {
    throw new UsageError(error.message);
  }
}

function hookFile(text) {
  const [path, name] = text.split('#');
  const file = resolve(path);
  if (!existsSync(file)) throw new UsageError(`${path}: there is no such file`);
  return { file, name: name || undefined };
}

function framework(text) {
  const at = text.indexOf('@', 1);
  return /^[.\/]/.test(text) || at < 0
    ? { framework: text, wanted: undefined }
    : { framework: text.slice(0, at), wanted: text.slice(at + 1) };
}

function whole(name, text, least) {
  const number = Number(text);
  if (!Number.isInteger(number) || number < least)
    throw new UsageError(`--${name} is a whole number from ${least}, not ${text}`);
  return number;
}

function milliseconds(text) {
  const seconds = Number(text);
  if (!(seconds > 0)) throw new UsageError(`--time-limit is a number of seconds above 0, not ${text}`);
  return seconds * 1000;
}

function kinds(text) {
  if (text === undefined) return undefined;
  const wanted = text
    .split(',')
    .map((kind) => kind.trim())
    .filter(Boolean);
  for (const kind of wanted)
    if (!(kind in KINDS))
      throw new UsageError(`--kinds: there is no kind ${kind}; kinds are ${Object.keys(KINDS).join(', ')}`);
  return wanted;
}

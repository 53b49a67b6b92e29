// The command check-hook: from arguments to a report and an exit code.
import { existsSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { adapterFile, adapterOf, missingIn, names, pathsOf } from './adapters.js';
import { bundle, removeBundles, shown } from './bundle.js';
import { sampleOf } from './collect.js';
import { formatted } from './formats.js';
import { installed, NotJudged, packageFolder, readJson, UsageError } from './files.js';
import { optionsOf, USAGE } from './options.js';
import { recordedIn } from './recorded.js';
import { reportOf } from './report.js';
import { endChildren, supervised } from './supervise.js';
import { namesOf, suppressionsIn } from './suppress.js';

/** Runs the command; resolves to the exit code. */
export async function main(
  argv,
  { out = (text) => process.stdout.write(text), err = (text) => process.stderr.write(text) } = {},
) {
  process.once('exit', removeBundles);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
    process.once(signal, () => {
      endChildren();
      process.exit(130);
    });
  try {
    const options = optionsOf(argv);
    if (options.help) return (out(`${USAGE}\n`), 0);
    if (options.list) return (out(await list()), 0);
    const report = await checked(options);
    if (options.report !== undefined) writeFileSync(options.report, formatted(report, 'json'));
    out(formatted(report, options.format));
    return report.exit;
  } catch (error) {
    if (error instanceof UsageError)
      return (err(`check-hook: ${error.message}\n\ncheck-hook --help says how it is used\n`), 2);
    err(
      `check-hook: a fault of the tool; please report it with what follows\nnode ${process.version}, ${process.platform}\n${error.stack}\n`,
    );
    return 4;
  } finally {
    removeBundles();
    endChildren();
  }
}

async function list() {
  const lines = [];
  for (const name of names) {
    const adapter = await adapterOf(name);
    lines.push(
      `${name}  versions tried: ${adapter.versions.join(', ')}; paths: ${adapter.paths.join(', ')}`,
      ...Object.entries(adapter.boundaries).map(
        ([at, { paths }]) => `  ${at}${paths ? ` (${paths.join(', ')})` : ''}`,
      ),
    );
  }
  return `${lines.join('\n')}\n`;
}

async function checked(options) {
  const own = await ownAdapter(options.framework);
  const adapter = await adapterOf(options.framework, own);
  const boundary = adapter.boundaries[options.at];
  if (!boundary)
    throw new UsageError(
      `--at ${options.at}: ${options.framework} has no such boundary; it has ${Object.keys(adapter.boundaries).join(', ')}`,
    );
  const paths = pathsOf(adapter, options.at);
  if (options.path && !paths.includes(options.path))
    throw new UsageError(
      `--path ${options.path}: ${options.framework} has ${paths.join(', ')} at ${options.at}`,
    );
  const task = { ...taskOf(options, adapter), adapterFile: own };
  task.talkOf = (index) => sampleOf(index, task).talk;
  const about = {
    task,
    options: { kinds: options.kinds, failOn: options['fail-on'], showFile: shown },
    boundary,
  };
  try {
    Object.assign(task, release(options, adapter));
    const made = await bundle({
      file: options.file,
      packages: adapter.packages,
      frameworkRoot: task.frameworkRoot,
    });
    Object.assign(task, { module: made.file, sources: made.sources });
    about.suppressions = suppressionsIn(made.sources, shown, namesOf(task, boundary));
    const { talkOf, ...plain } = task;
    return reportOf({ ...about, answer: await supervised(plain) });
  } catch (error) {
    if (error instanceof NotJudged)
      return reportOf({ ...about, notJudged: { reason: error.reason, message: error.message } });
    throw error;
  }
}

function taskOf(options, adapter) {
  return {
    framework: options.framework,
    at: options.at,
    name: options.name,
    factory: options.factory === true,
    shown: shown(options.file),
    cwd: process.cwd(),
    examples: options.examples,
    seed: options.seed,
    limit: options.limit,
    texts: options.texts,
    recorded: options.from ? recordedIn(options.from, adapter) : [],
    paths: options.path ? [options.path] : pathsOf(adapter, options.at),
    idempotent: options.kinds?.includes('not-idempotent') === true,
  };
}

// An adapter in TypeScript is made a module, as hooks are.
async function ownAdapter(framework) {
  const file = adapterFile(framework);
  return file && /\.m?ts$/.test(file) ? (await bundle({ file })).file : file;
}

// The release that is judged: the one that the hook imports, one of another folder, or one of the cache.
function release({ file, project, wanted, framework, at }, adapter) {
  const [name] = adapter.packages ?? [];
  if (!name) return {};
  if (project && !existsSync(project)) throw new UsageError(`--project ${project}: there is no such folder`);
  const frameworkRoot = wanted ? installed(`${name}@${wanted}`) : project ? resolve(project) : undefined;
  const folder = packageFolder(name, frameworkRoot ?? dirname(realpathSync(file)));
  if (!folder)
    throw new NotJudged(
      'no-framework',
      `${name} is installed neither in ${frameworkRoot ?? dirname(file)} nor above it; install it, pass --project FOLDER, or name a release: --in ${framework}@${adapter.versions?.at(-1) ?? 'VERSION'}`,
    );
  const { version } = readJson(join(folder, 'package.json'));
  if (adapter.supports && !adapter.supports(version))
    throw new NotJudged(
      'unsupported',
      `${name} ${version} in ${folder} is not supported; versions tried are ${adapter.versions.join(', ')}`,
    );
  const missing = missingIn(adapter, at, version);
  if (missing) throw new NotJudged('unsupported', missing);
  return { version, resolvedFrom: shown(folder), frameworkRoot };
}

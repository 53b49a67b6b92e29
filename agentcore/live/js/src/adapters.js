// Adapters by the names of frameworks; an adapter of one's own by the path of its module.
import { pathToFileURL } from 'node:url';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { UsageError } from './files.js';

const OWN = Object.fromEntries(
  ['ai', 'mastra', 'langchain-js', 'strands', 'openai-agents-js'].map((name) => [
    name,
    new URL(`../adapters/${name}.js`, import.meta.url),
  ]),
);
const REQUIRED = { name: 'string', boundaries: 'object', run: 'function', paths: 'object' };
const SPEC = new Set([
  'when',
  'first',
  'params',
  'stay',
  'handles',
  'reaches',
  'outlets',
  'next',
  'messages',
  'output',
  'again',
  'passive',
  'methods',
  'method',
  'list',
  'mend',
  'paths',
  'majors',
]);

/** The names of frameworks that come with the package. */
export const names = Object.keys(OWN);

/** The adapter `name`: one of `names`, or `file:export` of an adapter of one's own. */
export async function adapterOf(name, file) {
  if (OWN[name]) return validated(await import(OWN[name]), name);
  const [path, member = 'default'] = splitOwn(name);
  const at = file ?? ownFile(path);
  if (!at)
    throw new UsageError(
      `--in ${name}: there is no such framework; ${names.join(', ')} are built in, and a loop of one's own is named by the file of its adapter: ./loop.js:adapter`,
    );
  const module = await import(pathToFileURL(at));
  return validated((module.hook ?? module)[member] ?? module.default, name);
}

const splitOwn = (name) => {
  const colon = name.lastIndexOf(':');
  return colon > 1 ? [name.slice(0, colon), name.slice(colon + 1)] : [name];
};

/** The file of an adapter of one's own, or undefined. */
export const ownFile = (path) =>
  ['', '.js', '.mjs', '.ts', '.mts', '/index.js', '/index.ts']
    .map((ending) => resolve(`${path}${ending}`))
    .find((at) => /\.m?[jt]s$/.test(at) && existsSync(at));

/** The file of the adapter `--in name`, or undefined if it is built in. */
export const adapterFile = (name) => (OWN[name] ? undefined : ownFile(splitOwn(name)[0]));

export function validated(adapter, name) {
  const missing = Object.entries(REQUIRED)
    .filter(([member, type]) => typeof adapter?.[member] !== type)
    .map(([member]) => member);
  if (missing.length > 0)
    throw new UsageError(
      `the adapter ${name} lacks ${missing.join(', ')}; adapters/skeleton.js has all members`,
    );
  for (const [at, boundary] of Object.entries(adapter.boundaries)) {
    const unknown = Object.keys(boundary).filter((member) => !SPEC.has(member));
    if (unknown.length > 0)
      throw new UsageError(
        `the adapter ${name} has boundary ${at} with unknown members ${unknown.join(', ')}; known are ${[...SPEC].join(', ')}`,
      );
  }
  return adapter;
}

/** The paths on which a boundary is met: its own, or all of the adapter's. */
export const pathsOf = (adapter, at) => adapter.boundaries[at].paths ?? adapter.paths;

/** Why a release has no such boundary, or undefined. */
export function missingIn(adapter, at, version) {
  const { majors } = adapter.boundaries[at];
  if (!majors || version === undefined || majors.includes(Number.parseInt(version, 10))) return undefined;
  return `${adapter.name} ${version} has no ${at}; releases that have it begin with ${majors.join(' or ')}`;
}

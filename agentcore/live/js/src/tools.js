// esbuild: beside this package, as npm installs it; else in the cache, for a copy of this package that npm did not install.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { installed, readJson } from './files.js';

export const manifest = readJson(fileURLToPath(new URL('../package.json', import.meta.url)));

let loaded;

/** The module esbuild. */
export function esbuild() {
  loaded ??= load();
  return loaded;
}

async function load() {
  try {
    return await import('esbuild');
  } catch (error) {
    if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
  }
  const folder = installed(`esbuild@${manifest.dependencies.esbuild}`);
  return await import(pathToFileURL(createRequire(join(folder, 'package.json')).resolve('esbuild')));
}

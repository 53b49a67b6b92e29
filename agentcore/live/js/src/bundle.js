// One temporary module of the hook's file, its local modules and the framework, beside the hook so that packages resolve as they do for it.
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { esbuild } from './tools.js';
import { NotJudged } from './files.js';

const PREFIX = '.agentcore-check-hook-';
const made = new Set();

/**
 * Writes the module that exports `hook` (the person's module) and `framework` (what the modules of its packages export).
 * @returns {Promise<{file: string, sources: string[]}>} The module, and the person's files that went into it.
 */
export async function bundle({ file, packages = [], frameworkRoot }) {
  const folder = dirname(file);
  removeStale(folder);
  const outfile = join(folder, `${PREFIX}${process.pid}-${made.size}.mjs`);
  const lines = [`export * as hook from ${JSON.stringify(`./${basename(file)}`)};`];
  const names = packages.map((_, index) => `framework${index}`);
  packages.forEach((name, index) => lines.push(`import * as ${names[index]} from ${JSON.stringify(name)};`));
  lines.push(`export const framework = { ${names.map((name) => `...${name}`).join(', ')} };`);
  const result = await build(lines.join('\n'), folder, outfile, packages, frameworkRoot);
  made.add(outfile);
  try {
    writeFileSync(outfile, result.outputFiles[0].contents);
  } catch (error) {
    throw new NotJudged(
      'not-loadable',
      `${folder} cannot be written (${error.code}): the check needs one temporary module beside the hook; copy the hook to a folder that can be`,
    );
  }
  return {
    file: outfile,
    sources: Object.keys(result.metafile.inputs)
      .filter((input) => input !== '<stdin>' && !input.startsWith('empty:'))
      .map((input) => resolve(folder, input)),
  };
}

async function build(contents, folder, outfile, packages, frameworkRoot) {
  try {
    return await (
      await esbuild()
    ).build({
      stdin: { contents, resolveDir: folder, loader: 'ts' },
      absWorkingDir: folder,
      outfile,
      bundle: true,
      write: false,
      metafile: true,
      format: 'esm',
      platform: 'node',
      target: 'node20',
      sourcemap: 'inline',
      sourcesContent: false,
      logLevel: 'silent',
      banner: {
        js: "import { createRequire as agentcoreRequire } from 'node:module'; const require = agentcoreRequire(import.meta.url);",
      },
      loader: { '.txt': 'text', '.md': 'text' },
      plugins: [marksOfReact, packagesOutside(packages, frameworkRoot)],
    });
  } catch (error) {
    const [first] = error.errors ?? [];
    const at = first?.location ? `${first.location.file}:${first.location.line}: ` : '';
    throw new NotJudged('not-loadable', `${at}${first?.text ?? error.message}`);
  }
}

// Packages that only say where a module may be imported, and throw elsewhere.
const marksOfReact = {
  name: 'marks-of-react',
  setup(builder) {
    builder.onResolve({ filter: /^(?:server|client)-only$/ }, ({ path }) => ({ path, namespace: 'empty' }));
    builder.onLoad({ filter: /.*/, namespace: 'empty' }, () => ({ contents: '' }));
  },
};

// Packages stay outside; what a workspace links to, which is source, goes in. The framework may be another release than the person's.
function packagesOutside(packages, frameworkRoot) {
  const swappable = new Set(frameworkRoot ? packages.map(nameOf) : []);
  return {
    name: 'packages-outside',
    setup(builder) {
      builder.onResolve({ filter: /^[^./]/ }, async ({ path, kind, resolveDir, pluginData }) => {
        if (pluginData === 'resolving' || kind === 'entry-point' || path.startsWith('node:'))
          return undefined;
        const swapped = swappable.has(nameOf(path));
        const found = await builder.resolve(path, {
          kind,
          resolveDir: swapped ? frameworkRoot : resolveDir,
          pluginData: 'resolving',
        });
        if (swapped && found.errors.length === 0)
          return { path: pathToFileURL(found.path).href, external: true };
        if (found.errors.length > 0 || found.external || found.path.includes(`${sep}node_modules${sep}`))
          return { path, external: true };
        return { path: found.path };
      });
    },
  };
}

/** The package of a module: `@mastra/core` of `@mastra/core/agent`. */
export const nameOf = (module) => /^(?:@[^/]+\/)?[^/]+/.exec(module)[0];

// A check that was killed leaves its module; the next one in the folder removes it.
function removeStale(folder) {
  for (const name of readdirSync(folder)) {
    const pid = name.startsWith(PREFIX) && Number.parseInt(name.slice(PREFIX.length), 10);
    if (pid && !isAlive(pid)) rmSync(join(folder, name), { force: true });
  }
}

function isAlive(pid) {
  if (pid === process.pid) return true;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** Removes what this process wrote beside hooks. */
export function removeBundles() {
  for (const file of made) if (existsSync(file)) rmSync(file, { force: true });
}

/** A file as the person names it. */
export const shown = (file, folder = process.cwd()) => {
  const path = relative(folder, file);
  return path.startsWith('..') ? file : path;
};

// The person's line in a stack: the first frame in their own files. Node maps frames to their sources.
import { fileURLToPath } from 'node:url';

const FRAME = /(?:\(|at (?:async )?)((?:file:\/\/)?(?:\/|[A-Za-z]:[\\/])[^():]*):(\d+):(\d+)\)?\s*$/;
const here = fileURLToPath(new URL('..', import.meta.url));

/** `{file, line, column}` of the first frame of `stack` in `sources`; without sources, of the first one that is in no package. */
export function frameOf(stack, sources) {
  for (const text of String(stack).split('\n')) {
    const match = FRAME.exec(text);
    if (!match) continue;
    const file = match[1].startsWith('file://') ? fileURLToPath(match[1]) : match[1];
    const own = sources ? sources.includes(file) : !file.includes('node_modules') && !file.startsWith(here);
    if (own) return { file, line: Number(match[2]), column: Number(match[3]) };
  }
  return undefined;
}

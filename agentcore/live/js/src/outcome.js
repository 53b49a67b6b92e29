// How a call of a hook ends other than by returning.

/** What `within` resolves to for a hook that does not end, and the error for it. */
export const HANGS = {
  Error: class HookHangsError extends Error {
    constructor(limit) {
      super(`the hook did not return within ${limit / 1000} s`);
      this.name = 'HookHangsError';
    }
  },
};

export const isHang = (value) => value === HANGS;

/** Thrown in place of what a hook must not do while it is checked: `cause` of `raises`, or 'outside' for network and files. */
export class BlockedError extends Error {
  constructor(what, kind) {
    super(what);
    this.name = 'BlockedError';
    this.kind = kind;
  }
}

/** An error as data: name, message, stack, and how the hook ended. */
export function describe(error) {
  const blocked =
    error instanceof BlockedError ? error : error?.cause instanceof BlockedError ? error.cause : undefined;
  const denied = error?.code === 'ERR_ACCESS_DENIED';
  const kind = blocked?.kind ?? (denied ? 'outside' : error instanceof HANGS.Error ? 'hangs' : 'throws');
  if (!(error instanceof Error)) return { name: 'thrown value', message: safe(error), stack: '', kind };
  const message = denied
    ? `the hook used ${error.permission} on ${error.resource || 'a file'}, which a check does not allow: give it a stand-in, or make it with --factory`
    : (blocked?.message ?? error.message);
  return { name: safe(error.name), message: safe(message), stack: safe(error.stack ?? ''), kind };
}

function safe(value) {
  try {
    return String(value).slice(0, 4000);
  } catch {
    return 'a value that cannot be shown';
  }
}

const strays = [];

/** Keeps an error that nobody caught: something that the hook left running. */
export function keepStray(error) {
  strays.push(describe(error));
}

/** The errors kept since the last time. */
export const takeStrays = () => strays.splice(0);

/** What the hook tried although a check does not allow it, in order: `{what, kind}`. */
const attempts = [];
export const keepAttempt = (attempt) => attempts.push(attempt);

/** The attempts kept since the last time. */
export const takeAttempts = () => attempts.splice(0);

/** The frameworks that come with the package. */
export type Framework = 'ai' | 'mastra' | 'langchain-js' | 'strands' | 'openai-agents-js';

/** `T` with everything in it read-only: what a hook is given. A write to it does not compile. */
export type ReadonlyDeep<T> = T extends (...args: any[]) => unknown
  ? T
  : T extends Date | RegExp | URL | Uint8Array | ArrayBuffer | AbortSignal
    ? T
    : T extends Map<infer K, infer V>
      ? ReadonlyMap<ReadonlyDeep<K>, ReadonlyDeep<V>>
      : T extends Set<infer V>
        ? ReadonlySet<ReadonlyDeep<V>>
        : T extends object
          ? { readonly [K in keyof T]: ReadonlyDeep<T[K]> }
          : T;

/**
 * A hook whose arguments are read-only: `const prepareStep: ReadonlyHook<PrepareStepFunction> = ({ messages }) => ...` does not compile if it
 * writes to `messages`. What it returns may hold what it was given.
 */
export type ReadonlyHook<H extends (...args: any[]) => unknown> = H extends (...args: infer A) => infer R
  ? (
      ...args: { [K in keyof A]: ReadonlyDeep<A[K]> }
    ) => ReadonlyLists<Awaited<R>> | PromiseLike<ReadonlyLists<Awaited<R>>>
  : never;

// What is returned may hold what was given in its lists; other fields are as the framework types them.
type ReadonlyLists<R> = R extends object
  ? { [K in keyof R]: NonNullable<R[K]> extends readonly unknown[] ? ReadonlyDeep<R[K]> : R[K] }
  : R;

/** Passes a hook whose arguments are read-only to a framework whose types are not. */
export function readonlyHook<H extends (...args: any[]) => unknown>(hook: ReadonlyHook<H>): H;

export type Kind =
  | 'write'
  | 'accumulates'
  | 'raises'
  | 'cuts-pair'
  | 'loses-request'
  | 'harmless-write'
  | 'not-isolated'
  | 'undetermined'
  | 'opaque'
  | 'not-idempotent';

export type Holder =
  | 'this-prompt'
  | 'next-prompt'
  | 'later-prompts'
  | 'later-runs'
  | 'caller'
  | 'result'
  | 'steps'
  | 'store'
  | 'observers';

export type Boundary =
  | 'prepareStep'
  | 'onStepFinish'
  | 'stopWhen'
  | 'execute'
  | 'middleware'
  | 'prepareCall'
  | 'onFinish'
  | 'onEnd'
  | 'onStepEnd'
  | 'onStart'
  | 'onStepStart'
  | 'experimental_onStart'
  | 'experimental_onStepStart'
  | 'onToolExecutionStart'
  | 'onToolExecutionEnd'
  | 'experimental_onToolCallStart'
  | 'experimental_onToolCallFinish'
  | 'onChunk'
  | 'experimental_transform'
  | 'repairToolCall'
  | 'experimental_repairToolCall'
  | 'needsApproval'
  | 'onInputAvailable'
  | 'toModelOutput';

/** A conversation that belongs to no framework: schemas/conversation.schema.json. */
export interface Conversation {
  format: 1;
  name?: string;
  variant?: number;
  instructions?: string;
  turns: Array<{ messages: Message[]; answers: Array<{ parts: Part[] }> }>;
}
export interface Message {
  role: 'user' | 'assistant';
  parts: Part[];
}
export type Part =
  | { type: 'text' | 'reasoning'; text: string }
  | { type: 'file'; mediaType: string; data: string }
  | ({ type: 'call'; id: string; tool: string; input: Record<string, unknown>; approval?: boolean } & (
      { output: unknown } | { error: string } | { denied: string }
    ));

export interface Finding {
  kind: Kind;
  severity: 'fault' | 'note';
  counts_for_verdict: boolean;
  message: string;
  cause: null | 'throws' | 'refused' | 'hangs' | 'exits' | 'killed' | 'out-of-memory' | 'forks';
  place: string | null;
  places: string[];
  before: string | null;
  after: string | null;
  line: null | { file: string; line: number; column: number | null };
  seen: Holder[];
  first_seen: null | { holder: Holder; turn: number; step: number | null; place: string };
  step: number | null;
  turn: number | null;
  hook: string;
  counts: { affected: number; of: number; text: string };
  paths: string[];
  conversation: Conversation | null;
  test: string | null;
  /** The smallest conversation, run twice more; absent if it ended the process. */
  runs?: { live: Run; value: Run; cut: { texts: number; lists: number; moments: number } };
  remedy: string;
  fingerprint: string;
  suppressed: null | { kind: Kind; for: string; reason: string; file: string; line: number };
}

/** What the hook was handed, wrote and returned, and each prompt, as plain data. */
export interface Run {
  moments: Array<{
    kind: 'handed' | 'written' | 'returned' | 'raised' | 'prompt' | 'end';
    turn: number;
    step: number;
    value: unknown;
    writes?: Array<{ places: string[]; before: string | null; after: string | null }>;
  }>;
  error: string | null;
}

/** Findings of a check: schemas/findings.schema.json. */
export interface Report {
  format: 1;
  verdict: 'fault' | 'note' | 'clean' | null;
  exit: 0 | 1 | 3;
  not_judged: null | { reason: string; message: string };
  tool: { name: string; version: string; language: 'javascript' };
  framework: { name: string; version: string | null; resolved_from: string | null; paths: string[] };
  hook: { name: string; file: string | null; at: string };
  seed: number;
  conversations: { run: number; judged: number; errors: number; calls: number };
  measures: {
    prefix: null | {
      with_hook: number;
      without_hook: number;
      broken_by: string | null;
      conversation: string | null;
    };
  };
  findings: Finding[];
  suppressions: { unused: Array<NonNullable<Finding['suppressed']>> };
}

export interface CheckOptions {
  /** The name of a framework, what its package exports, or an adapter. */
  framework?: Framework | object;
  at: Boundary | (string & {});
  /**
   * Makes fresh hooks: `() => ({ prepareStep: makePrepareStep() })`; others of the same object are put in beside the one that is judged.
   * A test runner caches modules, so state of a module lasts.
   */
  hooks: () => Record<string, any> | Promise<Record<string, any>>;
  path?: string;
  examples?: number;
  seed?: number;
  /** Texts that the hook reacts to. */
  texts?: string[];
  /** These instead of random ones. */
  conversations?: Conversation[];
  /** Only findings of these kinds count. */
  kinds?: Kind[];
  failOn?: 'fault' | 'note';
  /** Milliseconds for making conversations of findings smaller (20000, or 0 with `conversations`); 0 leaves them as they are. */
  shrinking?: number;
  /** Where the framework is installed; by default the working directory. */
  project?: string;
}

/** Checks a hook inside a test. Rejects with a HookFaultError if something at or above `failOn` is found, or if the hook cannot be judged. */
export function checkHook(options: CheckOptions): Promise<Report>;

export class HookFaultError extends Error {
  report: Report;
}

/** Makes a hook safe in one line: it gets copies, and only what it returns reaches the framework. */
export function isolate<H>(
  hook: H,
  options: { framework?: Framework | object; at: Boundary | (string & {}) },
): H;

/** Makes a hook throw a TypeError at the line where it writes; in production (NODE_ENV) it is left as it is. */
export function strict<H>(
  hook: H,
  options: { framework?: Framework | object; at: Boundary | (string & {}) },
): H;

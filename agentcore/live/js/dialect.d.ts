import type { Conversation, Message, Part } from './index.js';

/** What an adapter says of its framework's messages: the types of parts, and the names of their fields. */
export interface Dialect {
  call: { type: string; id: string; tool: string; input: string };
  result: { type: string; id: string; tool?: string; output: string; role?: string };
  output?: (outcome: { output?: unknown; error?: string; denied?: string }) => unknown;
  outcome?: (output: any) => { output?: unknown; error?: unknown; denied?: string };
  approval?: { request: string; response: string; id: string };
  file?: (part: { type: 'file'; mediaType: string; data: string }) => object;
  options?: string;
  text?: boolean;
}

/** The translations that `session.converse`, the rule of pairs and `--from` use. */
export function dialect(of: Dialect): {
  translated(message: Message, number: number, variant?: number): any[];
  said(parts: Part[]): any[];
  answered(messages: any[], callOf: (id: string) => any): any[];
  pairs(messages: any[]): Array<{ at: number; id: string; is: 'call' | 'result' }>;
  neutral(messages: any[]): { instructions?: string; messages: Message[] };
};

/** Reads a stream of parts to its end, and throws the first error in it. */
export function drained(stream: AsyncIterable<{ type: string; error?: unknown }>): Promise<void>;

/** `{[key]: value}`, or nothing where there is no value. */
export function field(key: string, value: unknown): Record<string, unknown>;

export type { Conversation };

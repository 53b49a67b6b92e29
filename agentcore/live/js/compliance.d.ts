export interface Check {
  level: 0 | 1 | 2;
  name: string;
  /** What to fill in; undefined if the check passed. */
  why: string | undefined;
}

/** Runs the compliance suite on an adapter: 0 what it says, 1 it repeats itself, 2 it hides nothing. */
export function compliance(
  adapter: object,
  options?: { sdk?: object; version?: string; examples?: number; without?: Record<string, string> },
): Promise<{ level: number; checks: Check[] }>;

import { z } from 'zod';
import { type CallerKind, callerKinds } from '../domain/caller.ts';

/** One request for what waits (S14). */
export interface AggregateSettings {
  /** The most stamps that one request is for. */
  readonly maxLeaves: number;
  /** How long the first stamp waits for others, milliseconds. */
  readonly windowMs: number;
  readonly callers: readonly CallerKind[];
}

/** Whose stamps may be leaves of a batch: a client of the RFC 3161 door wants an answer to its own request (T2). */
const batchedCallers = callerKinds.filter((kind) => kind !== 'tsa');

const members = z.strictObject({
  max_leaves: z.int().min(1).max(65_536).default(4_096),
  window_ms: z.int().min(0).max(1_000).default(0),
  callers: z.array(z.enum(batchedCallers)).default([...batchedCallers]),
});

/** The member `aggregate` of a provider; undefined where it is not there. */
export const aggregate = members
  .transform(({ max_leaves, window_ms, callers }): AggregateSettings => ({ maxLeaves: max_leaves, windowMs: window_ms, callers }))
  .nullish()
  .transform((given) => given ?? undefined);

import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { createLeafRecords } from '../domain/evidence.ts';
import { type Batch, type Imprint, imprintAlgorithms, type Stamp } from '../domain/stamp.ts';
import { prefixOf } from '../redis/connection.ts';
import type { Logger } from '../runtime/log.ts';
import {
  repliedQualificationOf,
  type StampedReply,
  type StampReply,
  stampedReplyFields,
  stampedReplyOf,
  stampReplySchema,
} from './jobs.ts';

/** How long one read waits for replies, in milliseconds. */
export const replyBlockMs = 2_000;

/**
 * The maximum number of entries in a stream. Replies are read within milliseconds, so a short stream is enough and saves memory in Redis. If entries
 * are so long that the stream would exceed `mostStreamBytes`, it keeps fewer. Replies that the stream has dropped are read from the store.
 */
const maxStreamLength = 1_024;
const leastStreamLength = 128;
const mostStreamBytes = 12 * 1024 * 1024;

/** Redis removes a stream this long after its last reply. */
const streamTtlMs = 60_000;

const repliesField = 'r';

/** Returns the key of an API process's reply stream. */
export const replyStreamOf = (redis: Redis, apiId: string): string => `${prefixOf(redis)}:replies:${apiId}`;

/** The stream of the replies about completions. Every API process reads it, because callers of several may wait for the same completion. */
export const completionStreamOf = (redis: Redis): string => `${prefixOf(redis)}:replies`;

/**
 * Writes the outcomes of a job to the stream of the waiting API process. If Redis refuses them, for example because its memory is full, this is only
 * logged: the job is done, and the API finds the stamps in the store. It sends two commands instead of a pipeline: with BullMQ's many scripts on the
 * connection, ioredis takes as long to build a pipeline as to send both commands.
 */
export async function sendReplies(
  { redis, log }: { redis: Redis; log: Logger },
  replyTo: string,
  replies: readonly WorkerReply[],
): Promise<void> {
  const text = textOfReplies(replies);
  const length = Math.min(maxStreamLength, Math.max(leastStreamLength, Math.floor(mostStreamBytes / text.length)));
  const outcomes = await Promise.allSettled([
    redis.xadd(replyTo, 'MAXLEN', '~', length, '*', repliesField, text),
    redis.pexpire(replyTo, streamTtlMs),
  ]);
  const refused = outcomes.find((outcome) => outcome.status === 'rejected');
  if (refused) log.warn({ err: refused.reason, stamps: replies.length }, 'the replies could not be sent; the API asks the store');
}

interface ReplyReader {
  stop(): Promise<void>;
}

/**
 * A reader starts as `reading`. If Redis cannot be read, the reader is `lost` and tries again every 100 ms. After the next successful read it
 * reports the gap and is `reading` again. From both states it can become `stopped`, which is final.
 */
type ReaderState = 'reading' | 'lost' | 'stopped';

/**
 * Reads the reply stream of an API process and that of the completions, over its own connection, until it is stopped. After a lost connection,
 * replies may be missing: it calls `onGap`, so that the caller reads the store.
 */
export function readReplies(options: {
  redis: Redis;
  stream: string;
  log: Logger;
  onReply: (reply: StampReply | CompletionReply) => void;
  onGap: () => void;
}): ReplyReader {
  const { redis, stream, log, onReply, onGap } = options;
  let state: ReaderState = 'reading';
  const lastIds = new Map([stream, completionStreamOf(redis)].map((key) => [key, '0-0']));

  /** After a stream was removed, a new one may begin with smaller ids, so it is read from its beginning. */
  async function forgetRemoved(): Promise<void> {
    for (const [key, lastId] of lastIds) if (lastId !== '0-0' && (await redis.exists(key)) === 0) lastIds.set(key, '0-0');
  }

  async function readOnce(): Promise<void> {
    const streams = await redis.xread('COUNT', 128, 'BLOCK', replyBlockMs, 'STREAMS', ...lastIds.keys(), ...lastIds.values());
    if (!streams) await forgetRemoved();
    for (const [key, entries] of streams ?? []) {
      for (const [id, [field, text = 'null'] = []] of entries) {
        lastIds.set(key, id);
        if (field !== repliesField) continue;
        try {
          repliesIn(text).forEach(onReply);
        } catch (error) {
          // A worker of another version wrote these replies.
          log.error({ err: error }, 'replies cannot be parsed; reading the store instead');
          onGap();
        }
      }
    }
  }

  const isStopped = () => state === 'stopped';

  async function readUntilStopped(): Promise<void> {
    while (!isStopped()) {
      try {
        await readOnce();
        if (state === 'lost') onGap();
        if (!isStopped()) state = 'reading';
      } catch (error) {
        if (isStopped()) return;
        log.debug({ err: error }, 'replies cannot be read; trying again');
        state = 'lost';
        await delay(100);
      }
    }
  }

  const reading = readUntilStopped();
  return {
    stop: async () => {
      state = 'stopped';
      redis.disconnect();
      await reading;
    },
  };
}

/** The outcome of a completion. `not_completed`: the root or the closing record could not be stamped. */
const completionReplySchema = z.discriminatedUnion('outcome', [
  z.object({ outcome: z.literal('completed'), workflowId: z.string() }),
  z.object({ outcome: z.literal('not_completed'), workflowId: z.string(), code: z.enum(['provider_failed', 'tier_unavailable']) }),
]);
export type CompletionReply = z.infer<typeof completionReplySchema>;

const { tokenId, output, ...fieldsOfBatch } = stampedReplyFields;

/**
 * The replies of a job in the form that is sent. A leaf's evidence record is mostly the token of its batch, so the token is sent once and the API
 * composes the records: `hashes` are digest, blind and siblings of a leaf, concatenated. With whole records, the service would make a third fewer
 * batched stamps per second.
 */
const sentRepliesSchema = z.object({
  batches: z.array(z.object({ ...fieldsOfBatch, tst: z.string() })),
  replies: z.array(
    z.discriminatedUnion('outcome', [
      stampReplySchema,
      completionReplySchema,
      z.object({
        outcome: z.literal('leaf'),
        tokenId,
        output,
        /** Index in `batches`. */
        batch: z.int(),
        algorithm: z.enum(imprintAlgorithms),
        hashes: z.string(),
      }),
    ]),
  ),
});
type SentReplies = z.output<typeof sentRepliesSchema>;

interface LeafReply extends Pick<StampedReply, 'tokenId' | 'output'> {
  readonly outcome: 'leaf';
  readonly imprint: Imprint;
  readonly batch: Batch;
  readonly path: readonly Buffer[];
}

/** A worker's reply about one stamp or completion, before the replies of a job are put together. */
export type WorkerReply = StampReply | LeafReply | CompletionReply;

/** Makes a worker's reply about an existing stamp. */
export function workerReplyOf(stamp: Stamp): StampedReply | LeafReply {
  const { tokenId, imprint, proofs } = stamp;
  const [proof] = proofs;
  if (proof.kind !== 'leaf' || proof.own || proof.batch.renewals?.length) return stampedReplyOf(stamp);
  return { outcome: 'leaf', tokenId, imprint, batch: proof.batch, path: proof.path };
}

export function textOfReplies(given: readonly WorkerReply[]): string {
  const batches = [...new Set(given.flatMap((reply) => (reply.outcome === 'leaf' ? reply.batch : [])))];
  const replies = given.map((reply): SentReplies['replies'][number] => {
    if (reply.outcome !== 'leaf') return reply;
    const { imprint, batch, path, ...rest } = reply;
    const hashes = Buffer.concat([Buffer.from(imprint.digest, 'hex'), ...path]).toString('base64');
    return { ...rest, batch: batches.indexOf(batch), algorithm: imprint.algorithm, hashes };
  });
  return JSON.stringify({
    batches: batches.map((batch) => {
      const { issuedAt, provider, isQualified, tst } = batch;
      return { issuedAt, provider, isQualified, ...repliedQualificationOf(batch), tst: tst.toString('base64') };
    }),
    replies,
  } satisfies SentReplies);
}

/** Reads the replies in a text that `textOfReplies` wrote. @throws Error for any other text */
export function repliesIn(text: string): (StampReply | CompletionReply)[] {
  const { batches, replies } = sentRepliesSchema.parse(JSON.parse(text));
  const made = batches.map(({ tst, ...batch }) => ({ ...batch, recordOf: createLeafRecords(Buffer.from(tst, 'base64')) }));
  return replies.map((reply) => {
    if (reply.outcome !== 'leaf') return reply;
    const { batch, algorithm, hashes, ...rest } = reply;
    const { recordOf, ...stamped } = made[batch] ?? {};
    if (!recordOf) throw new RangeError('the reply of a leaf names a missing batch');
    return { ...rest, ...stamped, outcome: 'stamped', token: recordOf(algorithm, Buffer.from(hashes, 'base64')) } as StampedReply;
  });
}

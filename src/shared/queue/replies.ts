import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Logger } from '../runtime/log.ts';
import { keyPrefix } from './connection.ts';
import { type StampReply, stampRepliesSchema } from './stamp-job.ts';

/** The reader blocks this long at a time. */
export const replyBlockMs = 2_000;

/** Replies are hints that are read within milliseconds: a short stream bounds Redis' memory, a gap is looked up in the store. */
const maxStreamLength = 512;

/** A stream that nobody reads any more (its API process is gone) disappears by itself. */
const streamTtlMs = 60_000;

const field = 'r';

/** The stream in which one API process takes its replies. */
export const replyStreamOf = (apiId: string): string => `${keyPrefix}:replies:${apiId}`;

/**
 * Writes the outcomes of one job to the stream of the API process that waits for them. One that Redis refuses, being out of
 * memory, is left to the store: the job is done, and its end frees memory. No pipeline: with all of BullMQ's scripts on a
 * connection, ioredis takes as long to make one as for both commands.
 */
export async function sendReplies({ redis, log }: { redis: Redis; log: Logger }, replyTo: string, replies: readonly StampReply[]) {
  const outcomes = await Promise.allSettled([
    redis.xadd(replyTo, 'MAXLEN', '~', maxStreamLength, '*', field, JSON.stringify(replies)),
    redis.pexpire(replyTo, streamTtlMs),
  ]);
  const refused = outcomes.find((outcome) => outcome.status === 'rejected');
  if (refused) log.warn({ err: refused.reason, stamps: replies.length }, 'the replies could not be sent');
}

export interface ReplyReader {
  stop(): Promise<void>;
}

/**
 * Reads one reply stream over a connection of its own until it is stopped. `onGap` is called whenever replies may have been
 * missed, after the connection was lost: the caller then asks the store, which is the truth.
 */
export function readReplies(options: {
  redis: Redis;
  stream: string;
  log: Logger;
  onReply: (reply: StampReply) => void;
  onGap: () => void;
}): ReplyReader {
  const { redis, stream, log, onReply, onGap } = options;
  let stopping = false;
  let lastId = '0-0';

  async function readOnce(): Promise<void> {
    const streams = await redis.xread('COUNT', 128, 'BLOCK', replyBlockMs, 'STREAMS', stream, lastId);
    // A stream that has gone takes its ids along: the next one may count from an earlier time.
    if (!streams && lastId !== '0-0' && (await redis.exists(stream)) === 0) lastId = '0-0';
    for (const [, entries] of streams ?? []) {
      for (const [id, fields] of entries) {
        lastId = id;
        const parsed = stampRepliesSchema.safeParse(JSON.parse(fields?.[1] ?? 'null'));
        if (parsed.success) parsed.data.forEach(onReply);
        else log.error({ err: parsed.error }, 'a reply does not fit its contract');
      }
    }
  }

  async function readUntilStopped(): Promise<void> {
    let lost = false;
    while (!stopping) {
      try {
        await readOnce();
        if (lost) onGap();
        lost = false;
      } catch (error) {
        if (stopping) return;
        log.debug({ err: error }, 'replies cannot be read');
        lost = true;
        await delay(100);
      }
    }
  }

  const reading = readUntilStopped();
  return {
    stop: async () => {
      stopping = true;
      redis.disconnect();
      await reading;
    },
  };
}

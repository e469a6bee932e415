import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Logger } from '../runtime/log.ts';
import { keyPrefix } from './connection.ts';
import { repliesIn, textOfReplies, type WorkerReply } from './sent-reply.ts';
import type { StampReply } from './stamp-job.ts';

/** How long one read waits for a reply. */
export const replyBlockMs = 2_000;

/**
 * Replies are read within milliseconds, so a short stream is enough and limits the memory of Redis. What falls out of it is looked up in
 * the store. The stream has fewer entries where they are so long that these would take more than `mostStreamBytes`.
 */
const maxStreamLength = 1_024;
const leastStreamLength = 128;
const mostStreamBytes = 12 * 1024 * 1024;

/** When its API process is gone, Redis removes the stream after this time. */
const streamTtlMs = 60_000;

const repliesField = 'r';

/** The stream in which one API process takes its replies. */
export const replyStreamOf = (apiId: string): string => `${keyPrefix}:replies:${apiId}`;

/**
 * Writes the outcomes of a job to the stream of the API process that waits for them. Where Redis refuses them, for lack of memory, that
 * is only logged: the job is done, and the API finds the stamps in the store. Two commands instead of a pipeline: with BullMQ's many
 * scripts on the connection, ioredis takes as long to build a pipeline as to send both.
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
  if (refused) log.warn({ err: refused.reason, stamps: replies.length }, 'the replies could not be sent');
}

export interface ReplyReader {
  stop(): Promise<void>;
}

/**
 * Reads one reply stream over a connection of its own until it is stopped. After a lost connection replies may be missing: then `onGap`
 * is called, and the caller asks the store.
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
    // The stream was removed. A new one may begin with smaller ids, so read it from its start.
    if (!streams && lastId !== '0-0' && (await redis.exists(stream)) === 0) lastId = '0-0';
    for (const [, entries] of streams ?? []) {
      for (const [id, [field, text = 'null'] = []] of entries) {
        lastId = id;
        if (field !== repliesField) continue;
        try {
          repliesIn(text).forEach(onReply);
        } catch (error) {
          // A worker of another version wrote it.
          log.error({ err: error }, 'replies cannot be understood; the store is asked');
          onGap();
        }
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

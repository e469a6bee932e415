import { type Redis, ReplyError } from 'ioredis';
import type { Logger } from '../runtime/log.ts';
import { warnOfError } from './connection.ts';

/** How long replicas may take to receive a job, and then to have it on disk, in milliseconds. A replica with `appendfsync everysec` needs a second. */
const receivedWithinMs = 400;
const onDiskWithinMs = 1_200;
/** A replica that was asked a moment too early is asked again after this time. By itself it reports only once a second. */
const askAgainMs = 10;

/**
 * Whether this many replicas have on disk what this connection has written. Redis before 7.2 has no WAITAOF: then they have only received it. Too few
 * replicas, a lost connection, and a server that is not the primary any more are all *no*: then nobody knows whether a failover keeps the job.
 *
 * WAIT comes first, because WAITAOF alone waits until a replica reports its disk by itself, once a second: it would take 1 000 ms instead of one.
 */
export async function isReplicated(redis: Redis, replicas: number, log: Logger): Promise<boolean> {
  try {
    if ((await redis.wait(replicas, receivedWithinMs)) < replicas) return false;
    const askedAt = performance.now();
    while (performance.now() - askedAt < onDiskWithinMs) {
      const [here, there] = (await redis.call('WAITAOF', 1, replicas, askAgainMs)) as [number, number];
      if (here >= 1 && there >= replicas) return true;
    }
    return false;
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    if (error.message.includes('unknown command')) return true;
    if (error instanceof ReplyError) warnOfError(redis, log, 'REDIS_REPLICAS_ACK', error);
    return false;
  }
}

import { randomUUIDv7 } from 'node:crypto';
import { setTimeout as delay, setImmediate as restOfTurn } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { ServiceError } from '../domain/service-error.ts';
import { idInSeries, mostIdsInSeries, timeOfId } from '../domain/stamp-id.ts';
import type { Logger } from '../runtime/log.ts';
import { createMicroBatcher } from '../runtime/micro-batcher.ts';
import { type Acceptance, acceptanceOf, checkConnection, jobOptionsOf, openQueue, queueUnavailable } from './open-queue.ts';
import { announceOutputs } from './output-order.ts';
import type { QueueWatch } from './queue-state.ts';
import { maxItemsPerJob, type StampItem, type StampJob, stampQueueName } from './stamp-job.ts';

/** The API's side of the `stamps` queue. */
export interface StampQueue {
  /**
   * Checks in advance whether `accept` would take this many items (default 1), before anything is stored for a request.
   *
   * @throws ServiceError `overloaded` if too many stamps wait, `queue_unavailable` while Redis does not answer
   */
  checkCapacity(items?: number): void;
  /**
   * Accepts all items or none. The jobs sort in the order of the items. Each promise resolves when Redis has acknowledged the job of the item. If
   * Redis does not confirm a job, the job is sent again as long as a caller waits for one of its items. A promise rejects with `queue_unavailable`
   * if its job certainly did not reach Redis.
   *
   * @throws ServiceError see `checkCapacity`
   */
  accept(items: readonly StampItem[], isWaitedFor: (item: StampItem) => boolean): Promise<Acceptance>[];
  close(): Promise<void>;
}

/** The pause before a job is sent again, in milliseconds. If Redis did take the job, its replies arrive within this time. */
const sendAgainMs = 500;

interface Entering {
  readonly item: StampItem;
  readonly isWaitedFor: (item: StampItem) => boolean;
}

/** Returns a function that makes ids of jobs (UUIDs version 7). In one process they sort in order of creation, unless its clock is set back. */
function createJobIds(): () => string {
  let seriesId = randomUUIDv7();
  let made = 0;
  return () => {
    const fresh = randomUUIDv7();
    if (timeOfId(fresh) !== timeOfId(seriesId) || made === mostIdsInSeries) [seriesId, made] = [fresh, 0];
    made += 1;
    return idInSeries(seriesId, made - 1);
  };
}

/** Opens the queue for an API process. `maxDepth`: if this many stamps wait, more are refused. `replyTo`: the stream for replies. */
export function createStampQueue(options: {
  redis: Redis;
  replyTo: string;
  maxDepth: number;
  watch: Pick<QueueWatch, 'depth' | 'isSilent' | 'sent'>;
  log: Logger;
}): StampQueue {
  const { redis, replyTo, maxDepth, watch, log } = options;
  const queue = openQueue<StampJob>(stampQueueName, { redis, log });
  const nextJobId = createJobIds();

  const checkAnswers = () => {
    checkConnection(redis);
    if (watch.isSilent()) throw queueUnavailable('silent');
  };

  const send = (jobId: string, job: StampJob): Promise<Acceptance> =>
    acceptanceOf(redis, async () => {
      const announcing = announceOutputs(redis, jobId, job.items);
      const adding = queue.add('stamp', job, { ...jobOptionsOf('stamp'), jobId });
      // The job counts as accepted even if the order of its outputs cannot be recorded: only the job itself was promised.
      await Promise.allSettled([announcing, adding]);
      await adding;
    });

  /**
   * Sends a job again with the same id. If Redis did take it the first time, it is not added twice while it waits or runs. After it has run, its
   * replies have arrived, and no caller waits any more.
   */
  async function sendAgain(jobId: string, entering: readonly Entering[]): Promise<Acceptance> {
    for (;;) {
      await delay(sendAgainMs);
      const items = entering.filter(({ item, isWaitedFor }) => isWaitedFor(item)).map(({ item }) => item);
      if (items.length === 0) return 'unanswered';
      try {
        checkAnswers();
        if ((await send(jobId, { replyTo, items, isRepeated: true })) === 'acknowledged') return 'acknowledged';
      } catch (error) {
        log.debug({ err: error, job: jobId }, 'the job cannot be sent again yet');
      }
    }
  }

  const batcher = createMicroBatcher<Entering, Acceptance>({
    maxItems: maxItemsPerJob,
    gather: restOfTurn,
    send: async (entering) => {
      checkAnswers();
      const jobId = nextJobId();
      const answered = await send(jobId, { replyTo, items: entering.map(({ item }) => item) });
      watch.sent(entering.length);
      if (answered === 'acknowledged') return entering.map(() => answered);
      log.warn({ job: jobId, stamps: entering.length }, 'Redis did not confirm a job; sending it again');
      const acceptance = sendAgain(jobId, entering);
      return entering.map(() => acceptance);
    },
  });

  function checkCapacity(items = 1): void {
    checkAnswers();
    if (watch.depth() + items > maxDepth) {
      throw new ServiceError('overloaded', 'Too many stamps are waiting; please try again shortly.', { retryAfterSeconds: 5 });
    }
  }

  return {
    checkCapacity,
    accept: (items, isWaitedFor) => {
      checkCapacity(items.length);
      return items.map((item) => batcher.add({ item, isWaitedFor }));
    },
    close: () => queue.close(),
  };
}

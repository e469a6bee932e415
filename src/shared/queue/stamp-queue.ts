import { randomUUIDv7 } from 'node:crypto';
import { setTimeout as delay, setImmediate as restOfTurn } from 'node:timers/promises';
import type { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { ServiceError } from '../domain/service-error.ts';
import { idInSeries, mostIdsInSeries, timeOfId } from '../domain/stamp-id.ts';
import type { Logger } from '../runtime/log.ts';
import { createMicroBatcher, type MicroBatcher } from '../runtime/micro-batcher.ts';
import type { CallerShares } from './caller-shares.ts';
import { jobContracts } from './jobs.ts';
import { type Acceptance, acceptanceOf, checkConnection, jobOptionsOf, openQueue, queueUnavailable } from './open-queue.ts';
import { announceOutputs } from './output-order.ts';
import type { QueueWatch } from './queue-state.ts';
import { maxItemsPerJob, type StampItem, type StampJob } from './stamp-job.ts';

/** The API's side of the queues of stamps. */
export interface StampQueue {
  /**
   * Checks in advance whether `accept` would take this many items of a caller, before anything is stored for a request.
   *
   * @throws ServiceError `rate_limited` if too many stamps of this caller are unanswered, `overloaded` if too many stamps wait, `queue_unavailable`
   *   while Redis does not answer
   */
  checkCapacity(callerId: string, items: number): void;
  /**
   * Accepts all items or none. The jobs sort in the order of the items. Each promise resolves when Redis has acknowledged the job of the item. If
   * Redis does not confirm a job, the job is sent again as long as a caller waits for one of its items. A promise rejects with `queue_unavailable`
   * if its job certainly did not reach Redis. Stamps that nobody waits for have their own queue; outputs of workflows are always in `stamps`, because
   * they keep their order (W8).
   *
   * @throws ServiceError see `checkCapacity`
   */
  accept(callerId: string, items: readonly StampItem[], isWaitedFor: (item: StampItem) => boolean): Promise<Acceptance>[];
  close(): Promise<void>;
}

/** The pause before a job is sent again, in milliseconds. If Redis did take the job, its replies arrive within this time. */
const sendAgainMs = 500;

type StampJobName = 'stamp' | 'promised-stamp';

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

/** Opens the queues for an API process. `maxDepth`: if this many stamps wait, more are refused. `replyTo`: the stream for replies. */
export function createStampQueue(options: {
  redis: Redis;
  replyTo: string;
  maxDepth: number;
  watch: Pick<QueueWatch, 'depth' | 'isSilent' | 'sent'>;
  shares: Pick<CallerShares, 'check' | 'add' | 'settle'>;
  log: Logger;
}): StampQueue {
  const { redis, replyTo, maxDepth, watch, shares, log } = options;
  const nextJobId = createJobIds();

  const checkAnswers = () => {
    checkConnection(redis);
    if (watch.isSilent()) throw queueUnavailable('silent');
  };

  const queueOf = (name: StampJobName): Queue<StampJob> => openQueue<StampJob>(jobContracts[name].queue, { redis, log });
  const queues = { stamp: queueOf('stamp'), 'promised-stamp': queueOf('promised-stamp') };

  const send = (name: StampJobName, jobId: string, job: StampJob): Promise<Acceptance> =>
    acceptanceOf(redis, async () => {
      const announcing = announceOutputs(redis, jobId, job.items);
      const adding = queues[name].add(name, job, { ...jobOptionsOf(name), jobId });
      // The job counts as accepted even if the order of its outputs cannot be recorded: only the job itself was promised.
      await Promise.allSettled([announcing, adding]);
      await adding;
    });

  /**
   * Sends a job again with the same id. If Redis did take it the first time, it is not added twice while it waits or runs. After it has run, its
   * replies have arrived, and no caller waits any more.
   */
  async function sendAgain(name: StampJobName, jobId: string, entering: readonly Entering[]): Promise<Acceptance> {
    const waitedFor = () => entering.filter(({ item, isWaitedFor }) => isWaitedFor(item)).map(({ item }) => item);
    while (waitedFor().length > 0) {
      await delay(sendAgainMs);
      const items = waitedFor();
      if (items.length === 0) break;
      try {
        checkAnswers();
        if ((await send(name, jobId, { replyTo, items, isRepeated: true })) === 'acknowledged') return 'acknowledged';
      } catch (error) {
        log.debug({ err: error, job: jobId }, 'the job cannot be sent again yet');
      }
    }
    return 'unanswered';
  }

  const batcherOf = (name: StampJobName): MicroBatcher<Entering, Acceptance> =>
    createMicroBatcher({
      maxItems: maxItemsPerJob,
      gather: restOfTurn,
      send: async (entering) => {
        checkAnswers();
        const jobId = nextJobId();
        const answered = await send(name, jobId, { replyTo, items: entering.map(({ item }) => item) });
        watch.sent(entering.length);
        if (answered === 'acknowledged') return entering.map(() => answered);
        log.warn({ job: jobId, stamps: entering.length }, 'Redis did not confirm a job; sending it again');
        const acceptance = sendAgain(name, jobId, entering);
        return entering.map(() => acceptance);
      },
    });
  const batchers = { stamp: batcherOf('stamp'), 'promised-stamp': batcherOf('promised-stamp') };

  async function enter(callerId: string, entering: Entering): Promise<Acceptance> {
    const { item } = entering;
    const name = item.isPromised && !item.output ? 'promised-stamp' : 'stamp';
    shares.add(callerId, item.tokenId);
    try {
      return await batchers[name].add(entering);
    } catch (error) {
      shares.settle(item.tokenId);
      throw error;
    }
  }

  function checkCapacity(callerId: string, items: number): void {
    checkAnswers();
    shares.check(callerId, items);
    if (watch.depth() + items > maxDepth) {
      throw new ServiceError('overloaded', 'Too many stamps are waiting; please try again shortly.', { retryAfterSeconds: 5 });
    }
  }

  return {
    checkCapacity,
    accept: (callerId, items, isWaitedFor) => {
      checkCapacity(callerId, items.length);
      return items.map((item) => enter(callerId, { item, isWaitedFor }));
    },
    close: async () => void (await Promise.all(Object.values(queues).map((queue) => queue.close()))),
  };
}

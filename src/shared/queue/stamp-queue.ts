import { setTimeout as delay, setImmediate as restOfTurn } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { ServiceError } from '../domain/service-error.ts';
import { type Batcher, createBatcher } from '../runtime/batcher.ts';
import type { Logger } from '../runtime/log.ts';
import { type Acceptance, acceptanceOf } from './acceptance.ts';
import { countEntering, createJobIds } from './backlog.ts';
import { producerTimeoutMs } from './connection.ts';
import { createDepthGauge, depthRefreshMs } from './depth.ts';
import { createJobsUnderWay } from './jobs-under-way.ts';
import { checkConnection, openQueue, queueUnavailable } from './open-queue.ts';
import { announceOutputs } from './output-order.ts';
import { type SentJob, sentJobOf } from './sent-job.ts';
import { maxItemsPerJob, type StampItem, type StampJob, stampQueueName, usualItemsPerJob } from './stamp-job.ts';

/** The API's end of the `stamps` queue. */
export interface StampQueue {
  /**
   * Says early what `accept` would say of so many items (default 1), before anything is stored for a request.
   *
   * @throws ServiceError `overloaded` beyond the depth allowed, `queue_unavailable` without a connection.
   */
  checkCapacity(items?: number): void;
  /**
   * Accepts an item: resolves when Redis has acknowledged the job that carries it. Where Redis does not say whether it took the job, it is
   * sent again for as long as somebody waits for the item. Until its `outcome` is there, its job counts as under way, and others gather.
   *
   * @throws ServiceError `overloaded` beyond the depth allowed, `queue_unavailable` when the job surely did not reach Redis.
   */
  accept(item: StampItem, isWaitedFor: () => boolean, outcome?: Promise<unknown>): Promise<Acceptance>;
  /**
   * Accepts many items: there is room for all or none. Their jobs sort in the order of the items, and may carry those of other requests too.
   * Resolves when Redis has answered to each job, or was silent too long. Until the `outcomes` of its items are there, a job counts as under way,
   * and others gather.
   *
   * @throws ServiceError as `accept`, where no job has reached Redis
   */
  acceptAll(
    items: readonly StampItem[],
    isWaitedFor: (item: StampItem) => boolean,
    outcomes?: readonly Promise<unknown>[],
  ): Promise<readonly AcceptedPart[]>;
  close(): Promise<void>;
}

/** Items that travel in one job. */
export interface AcceptedPart {
  readonly items: readonly StampItem[];
  /** As of `accept`; it rejects where this job surely did not reach Redis. */
  readonly acceptance: Promise<Acceptance>;
}

/** What is sent to a Redis that has been silent for longer would only leave more callers without an outcome. */
const longestSilenceMs = depthRefreshMs + producerTimeoutMs;

/** With so many jobs under way every process has something to do. */
const gathering = { most: 4, patienceMs: 20 };

/** The same for requests with many items. With four jobs 16 connections of 64 items hardly gather; two and three did about the same. */
const gatheringGroups = { most: 3, patienceMs: 100 };

/** Before a job is sent again: its replies, should it have been taken, need that long to arrive. */
const sendAgainMs = 500;

interface Entering {
  readonly item: StampItem;
  readonly outcome?: Promise<unknown> | undefined;
  readonly isWaitedFor: () => boolean;
  acceptance?: Promise<Acceptance>;
}

/** Items of one request that travel in the same job. */
interface EnteringGroup {
  readonly items: readonly StampItem[];
  readonly isWaitedFor: (item: StampItem) => boolean;
  /** Of the last of them, which mostly comes with the others'; undefined where nobody waits for it. */
  readonly outcome: Promise<unknown> | undefined;
  /** When it came, by `performance.now()`. */
  readonly since: number;
  sent?: Promise<Entered>;
}

interface Entered {
  readonly acceptance: Promise<Acceptance>;
}

const chunksOf = <Item>(items: readonly Item[], size: number): Item[][] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, index) => items.slice(index * size, (index + 1) * size));

/** `maxDepth`: how many stamps may wait before more are refused. `replyTo`: the stream that replies are read from. */
export function createStampQueue(options: { redis: Redis; replyTo: string; maxDepth: number; log: Logger }): StampQueue {
  const { redis, replyTo, maxDepth, log } = options;
  const queue = openQueue<SentJob>(stampQueueName, { redis, log, retryKind: 'stamp', removeOnFail: { count: 1_000 } });
  const depth = createDepthGauge({ redis, log });
  const underWay = createJobsUnderWay(gathering);
  const nextJobId = createJobIds();
  /** Stamps that Redis has not acknowledged yet. */
  let entering = 0;

  const checkAnswers = () => {
    checkConnection(redis);
    if (depth.silentForMs() > longestSilenceMs) throw queueUnavailable('silent');
  };

  async function send(jobId: string, job: StampJob): Promise<Acceptance> {
    const add = async () => {
      const notes = [announceOutputs(redis, jobId, job.items), ...(job.isRepeated ? [] : [countEntering(redis, jobId)])];
      const [added] = await Promise.allSettled([queue.add('stamp', sentJobOf(job), { jobId }), ...notes]);
      // An order that could not be noted is lost with the next failure and a count becomes right again; the job is what was promised.
      if (added.status === 'rejected') throw added.reason;
    };
    return acceptanceOf(redis, add);
  }

  /**
   * Under the id that it had: a job that Redis has taken after all is not added twice while it waits or runs. Once it has run, its
   * replies have come and nobody waits for them any more.
   */
  async function sendAgain(jobId: string, waitedFor: () => StampItem[]): Promise<Acceptance> {
    for (;;) {
      await delay(sendAgainMs);
      const items = waitedFor();
      if (items.length === 0) return 'unanswered';
      try {
        checkAnswers();
        if ((await send(jobId, { replyTo, items, isRepeated: true })) === 'acknowledged') return 'acknowledged';
      } catch (error) {
        log.debug({ err: error, job: jobId }, 'the job cannot be sent again yet');
      }
    }
  }

  /**
   * The acceptance of a new job, once Redis has answered or was silent too long. @param waitedFor those of its items that somebody waits for still
   *
   * @throws ServiceError `queue_unavailable`
   */
  async function enter(items: StampItem[], waitedFor: () => StampItem[]): Promise<Entered> {
    const jobId = nextJobId(items.length);
    const answered = await send(jobId, { replyTo, items });
    if (answered === 'unanswered') log.warn({ job: jobId, stamps: items.length }, 'redis did not say whether it took a job');
    depth.added(jobId);
    return { acceptance: answered === 'unanswered' ? sendAgain(jobId, waitedFor) : Promise.resolve(answered) };
  }

  const batcher = createBatcher<Entering>({
    maxSize: usualItemsPerJob,
    gather: async () => {
      await restOfTurn();
      await underWay.room();
    },
    flush: async (batch) => {
      checkAnswers();
      const { acceptance } = await enter(
        batch.map(({ item }) => item),
        () => batch.filter(({ isWaitedFor }) => isWaitedFor()).map(({ item }) => item),
      );
      underWay.begin(Promise.allSettled(batch.map(({ outcome }) => outcome)));
      for (const waiting of batch) waiting.acceptance = acceptance;
      entering -= batch.length;
    },
  });

  function createLane(): Batcher<EnteringGroup> {
    const jobs = createJobsUnderWay(gatheringGroups);
    /** When no job had ended for too long: what came before that waits no more, and leaves in jobs of usual size, for many workers. */
    let lateAt = Number.NEGATIVE_INFINITY;
    return createBatcher<EnteringGroup>({
      maxSize: usualItemsPerJob,
      sizeOf: ({ items }) => items.length,
      gather: async ({ since, outcome }) => {
        await restOfTurn();
        if (since < lateAt) return;
        const room = await jobs.room();
        if (room === 'late') lateAt = performance.now();
        // A job that nobody waits for ends here when Redis has it, which says nothing of the workers.
        return room === 'ended' && outcome ? maxItemsPerJob : undefined;
      },
      // The next job need not wait until Redis has answered: the groups themselves wait for that.
      flush: async (batch) => {
        checkAnswers();
        const sent = enter(
          batch.flatMap(({ items }) => items),
          () => batch.flatMap(({ items, isWaitedFor }) => items.filter(isWaitedFor)),
        );
        jobs.begin(sent.then(() => Promise.allSettled(batch.map(({ outcome }) => outcome))));
        for (const group of batch) group.sent = sent;
      },
    });
  }

  /** Items that only a qualified provider may make gather by themselves: a job is answered when the slowest provider has answered. */
  const lanes = { qualified: createLane(), any: createLane() };

  async function acceptAll(
    items: readonly StampItem[],
    isWaitedFor: (item: StampItem) => boolean,
    outcomes: readonly Promise<unknown>[] = [],
  ): Promise<readonly AcceptedPart[]> {
    checkCapacity(items.length);
    entering += items.length;
    const parts = chunksOf(items, usualItemsPerJob);
    const answers = await Promise.allSettled(
      parts.map(async (part, index) => {
        const outcome = outcomes[index * usualItemsPerJob + part.length - 1];
        const group: EnteringGroup = { items: part, isWaitedFor, outcome, since: performance.now() };
        try {
          await lanes[part[0]?.requiresQualified ? 'qualified' : 'any'].add(group);
          return await group.sent!;
        } finally {
          entering -= part.length;
        }
      }),
    );
    const refusals = answers.filter((answer) => answer.status === 'rejected');
    if (refusals.length === parts.length && refusals[0]) throw refusals[0].reason;
    return parts.map((part, index) => {
      const answer = answers[index];
      return { items: part, acceptance: answer?.status === 'fulfilled' ? answer.value.acceptance : Promise.reject(answer?.reason) };
    });
  }

  const checkCapacity = (items = 1) => {
    checkAnswers();
    if (depth.current() + entering + items > maxDepth) {
      throw new ServiceError('overloaded', 'Too many stamps are waiting; please try again shortly.', { retryAfterSeconds: 5 });
    }
  };
  return {
    checkCapacity,
    accept: async (item, isWaitedFor, outcome) => {
      checkCapacity();
      entering += 1;
      try {
        const waiting: Entering = { item, isWaitedFor, outcome };
        await batcher.add(waiting);
        return (await waiting.acceptance) ?? 'unanswered';
      } catch (error) {
        entering -= 1;
        throw error;
      }
    },
    acceptAll,
    close: async () => {
      await depth.stop();
      await queue.close();
    },
  };
}

import assert from 'node:assert/strict';
import { randomUUID, randomUUIDv7 } from 'node:crypto';
import { setTimeout as delay, setImmediate as restOfTurn } from 'node:timers/promises';
import { ServiceError } from '../../shared/domain/service-error.ts';
import { idInSeries, mostIdsInSeries, timeOfId } from '../../shared/domain/stamp.ts';
import {
  isForPromisedQueue,
  type JobPayload,
  maxItemsPerJob,
  type StampedReply,
  type StampItem,
  type StampJob,
  type StampReply,
} from '../../shared/queue/jobs.ts';
import { type CompletionReply, readReplies, replyStreamOf } from '../../shared/queue/replies.ts';
import { type Acceptance, queueUnavailable } from '../../shared/queue/sender.ts';
import type { Logger } from '../../shared/runtime/log.ts';
import { createMicroBatcher } from '../../shared/runtime/micro-batcher.ts';
import { answerWithin, TooLateError, within } from '../../shared/runtime/timers.ts';
import type { ApiTools } from '../tools.ts';
import { findReplies, type StoredStampJudge } from './idempotency.ts';

/*
 * The way of an item to its outcome:
 *
 * 1. It takes a place in the share of its caller.
 * 2. It is sent, in a job with other items.
 * 3. Redis acknowledges the job, and the item is accepted. If Redis leaves the job unanswered, the job is sent again as long as a caller waits for
 *    one of its items.
 * 4. A worker replies about the item, or the store is asked and has it, or the time of its caller is up.
 *
 * `openSubmission` owns the shares and the waits. Each of their changes is one step without `await`, so no other callback sees half of it.
 *
 * - A share: `enter` takes a place. `onReply` frees it, or `enter` itself if the job certainly did not reach Redis. A place without a reply is free
 *   again after an hour. The end of a caller's time frees no place, because the item may still be in the queue.
 * - A wait: `waitForAll` begins it. `onReply` ends it, or a look into the store (after a gap in the replies, and when the time is up), or its timer.
 *   `informWaits` notes that the queue has the job, or ends the wait with the error of the queue.
 *
 * A completion of a workflow has a wait, but no share. The parts follow in this order: jobs, their ids, shares, deadline, waits.
 */

/** The tools of the operations on stamps: those of the API, the way of a stamp to its outcome, and the judge of stored stamps. */
export type StampTools<Judge extends StoredStampJudge = StoredStampJudge> = ReturnType<typeof openStampTools<Judge>>;

/** Opens the tools of the operations on stamps. `lifecycle` closes them again when the process ends. */
export function openStampTools<Judge extends StoredStampJudge>(tools: ApiTools, stampJudge: Judge) {
  const submission = openSubmission(tools, stampJudge);
  tools.lifecycle.onClose('submission', () => submission.close());
  return { ...tools, stampJudge, submission };
}

/**
 * What became of an item. `stamped`: a worker has made the stamp, or the store has it. `failed`: it will not be made. `accepted`: it is in the queue
 * and not finished in time. `unconfirmed`: it may be in the queue.
 */
export type Outcome =
  | { readonly state: 'stamped'; readonly reply: StampedReply }
  | ({ readonly state: 'failed' } & Pick<Extract<StampReply, { outcome: 'failed' }>, 'code' | 'fault'>)
  | { readonly state: 'accepted' | 'unconfirmed' };

/** Whose items they are, and how long they are waited for. */
export interface SubmitOptions {
  /** The owner of a share of the queue: a product, or an address. */
  readonly callerId: string;
  readonly deadline: Deadline;
  /**
   * Undefined for a caller who waits until the deadline. A number for *promised* items (N1): once they are accepted, the caller waits so many
   * milliseconds more, or not at all if it is 0. Workers then make the stamps however long that takes.
   */
  readonly patienceMs?: number | undefined;
}

/** The pause before a job is sent again, in milliseconds. If Redis did take the job, its replies arrive within this time. */
const sendAgainMs = 500;

/** An item on its way into a job. */
interface Entering {
  readonly item: StampItem;
  /** Whether a caller still waits for the item, so that its job is worth sending again. */
  readonly isWaitedFor: () => boolean;
}

/** Opens the way of jobs whose outcome a request waits for: the share of its caller, the depth of the queue, the job, Redis's confirmation, the reply. */
export function openSubmission({ config, store, jobs, queueWatch: watch, repliesRedis, log }: ApiTools, stampJudge: StoredStampJudge) {
  const { QUEUE_MAX_DEPTH: maxDepth } = config;
  const shares = createCallerShares(Math.ceil(maxDepth * shareOfCaller));
  const nextJobId = createJobIds();
  const replyTo = replyStreamOf(repliesRedis, randomUUID());
  const waits = createReplyWaits<StampReply>(log, (tokenIds) => findReplies(store, stampJudge, tokenIds));
  const completions = createReplyWaits<CompletionReply>(log, async (ids) => {
    const completed = await store.workflows.findCompleted(ids);
    return new Map(completed.map((workflowId) => [workflowId, { outcome: 'completed', workflowId }]));
  });
  const replies = readReplies({
    redis: repliesRedis,
    stream: replyTo,
    log,
    onReply: (reply) => {
      if ('workflowId' in reply) return completions.settle(reply.workflowId, reply);
      shares.settle(reply.tokenId);
      waits.settle(reply.tokenId, reply);
    },
    onGap: () => {
      void waits.lookUp();
      void completions.lookUp();
    },
  });

  function checkAnswers(): void {
    jobs.checkConnection();
    if (watch.isSilent()) throw queueUnavailable('silent');
  }

  /**
   * Checks in advance whether `submit` would take this many items of a caller, before anything is stored for a request.
   *
   * @throws ServiceError `rate_limited` if too many items of this caller are unanswered, `overloaded` if too many stamps wait, `queue_unavailable`
   *   while Redis does not answer
   */
  function checkCapacity(callerId: string, items: number): void {
    checkAnswers();
    shares.check(callerId, items);
    if (watch.depth() + items > maxDepth) {
      throw new ServiceError('overloaded', 'Too many stamps are waiting; please try again shortly.', { retryAfterSeconds: 5 });
    }
  }

  type StampJobName = 'stamp' | 'promised-stamp';

  /**
   * Sends a job again with the same id. If Redis did take it the first time, it is not added twice while it waits or runs. After it has run, its
   * replies have arrived, and no caller waits any more.
   */
  async function sendAgain(name: StampJobName, jobId: string, entering: readonly Entering[]): Promise<Acceptance> {
    const waitedFor = () => entering.filter(({ isWaitedFor }) => isWaitedFor()).map(({ item }) => item);
    while (waitedFor().length > 0) {
      await delay(sendAgainMs);
      const items = waitedFor();
      if (items.length === 0) break;
      try {
        checkAnswers();
        if ((await jobs.send(name, { replyTo, items, isRepeated: true }, jobId)) === 'acknowledged') return 'acknowledged';
      } catch (error) {
        log.debug({ err: error, job: jobId }, 'the job cannot be sent again yet');
      }
    }
    return 'unanswered';
  }

  async function send(name: StampJobName, entering: readonly Entering[]): Promise<(Acceptance | Promise<Acceptance>)[]> {
    checkAnswers();
    const jobId = nextJobId();
    const job: StampJob = { replyTo, items: entering.map(({ item }) => item) };
    const answered = await jobs.send(name, job, jobId);
    watch.sent(entering.length);
    if (answered === 'acknowledged') return entering.map(() => answered);
    log.warn({ job: jobId, stamps: entering.length }, 'Redis did not confirm a job; sending it again');
    const acceptance = sendAgain(name, jobId, entering);
    return entering.map(() => acceptance);
  }

  const batcherOf = (name: StampJobName) =>
    createMicroBatcher<Entering, Acceptance>({ maxItems: maxItemsPerJob, gather: restOfTurn, send: (entering) => send(name, entering) });
  const batchers = { stamp: batcherOf('stamp'), 'promised-stamp': batcherOf('promised-stamp') };

  async function enter(callerId: string, entering: Entering): Promise<Acceptance> {
    const { item } = entering;
    const name = isForPromisedQueue(item) ? 'promised-stamp' : 'stamp';
    shares.add(callerId, item.tokenId);
    try {
      return await batchers[name].add(entering);
    } catch (error) {
      shares.settle(item.tokenId);
      throw error;
    }
  }

  /**
   * Accepts all items or none. The jobs sort in the order of the items (W8). Resolves when Redis has confirmed one of the items; each outcome resolves
   * by the deadline, or about a second later. If the job of an item certainly did not reach Redis although another job did, its outcome
   * rejects with `queue_unavailable`. If Redis does not confirm a job, it is sent again under its id as long as a caller waits for one of its items.
   *
   * @throws ServiceError see `checkCapacity`: nothing was accepted
   */
  async function submit(items: readonly StampItem[], options: SubmitOptions): Promise<Promise<Outcome>[]> {
    const { accepted, outcomes } = options.patienceMs === undefined ? submitAwaited(items, options) : submitPromised(items, options);
    outcomes.forEach(handled);
    if (accepted.size === 0) return outcomes;
    return Promise.any([...accepted.values(), ...outcomes]).then(
      () => outcomes,
      ({ errors }: AggregateError) => Promise.reject(errors[0]),
    );
  }

  /** The caller waits until the deadline. An item that another request waits for is in the queue already. */
  function submitAwaited(items: readonly StampItem[], { callerId, deadline }: SubmitOptions) {
    const fresh = items.filter(isUnheard);
    const accepted = enterAll(callerId, fresh, waits.isWaitedFor);
    const results = waits.waitForAll(idsOf(items), deadline.leftMs());
    informWaits(fresh, accepted);
    return { accepted, outcomes: results.map((result) => result.then(outcomeOf)) };
  }

  /** A promised item is queued even if another request waits for it: the job of that request may give the item up. */
  function submitPromised(given: readonly StampItem[], { callerId, deadline, patienceMs }: SubmitOptions) {
    const items = given.map((item) => ({ ...item, isPromised: true }));
    const unheard = items.filter(isUnheard);
    const accepted = enterAll(callerId, items, () => deadline.leftMs() > 0);
    const results = patienceMs ? waits.waitForAll(idsOf(items), deadline.leftMs()) : [];
    informWaits(unheard, accepted);
    const over = patienceMs ? delay(patienceMs, undefined, { ref: false }) : undefined;
    const outcomes = items.map(async ({ tokenId }, place) => {
      // The wait may be that of another request, which fails if its own job is not accepted.
      const result = over && Promise.race([results[place]!.catch(() => undefined), over]);
      const [acceptance, known] = await Promise.all([accepted.get(tokenId), result]);
      return outcomeOf({ reply: known?.reply, isAccepted: acceptance === 'acknowledged' });
    });
    return { accepted, outcomes };
  }

  const isUnheard = ({ tokenId }: StampItem): boolean => !waits.isWaitedFor(tokenId);

  function enterAll(callerId: string, items: readonly StampItem[], isWaitedFor: (tokenId: string) => boolean) {
    checkCapacity(callerId, items.length);
    return new Map(items.map((item) => [item.tokenId, enter(callerId, { item, isWaitedFor: () => isWaitedFor(item.tokenId) })]));
  }

  /** Lets the waits for these items know whether the queue has them. */
  function informWaits(items: readonly StampItem[], accepted: ReadonlyMap<string, Promise<Acceptance>>): void {
    for (const { tokenId } of items) {
      accepted.get(tokenId)!.then(
        (acceptance) => acceptance === 'acknowledged' && waits.accepted(tokenId),
        (error) => waits.fail(tokenId, error),
      );
    }
  }

  /**
   * Queues the completion of a workflow, unless it is queued already, and waits for its outcome. Returns undefined if it is not finished in time.
   *
   * @throws ServiceError `queue_unavailable`
   */
  async function complete(job: JobPayload<'workflow-completion'>, deadline: Deadline): Promise<CompletionReply | undefined> {
    const ids = [job.workflowId];
    let [result] = completions.waitForAll(ids, deadline.leftMs());
    await jobs.send('workflow-completion', job, `completion-${job.workflowId}`);
    // The job may have ended before this wait began.
    void completions.lookUp(ids);
    for (;;) {
      const { reply } = await result!;
      if (reply || deadline.leftMs() === 0) return reply;
      // It was the wait of an earlier caller, whose time is up.
      [result] = completions.waitForAll(ids, deadline.leftMs());
    }
  }

  return { checkCapacity, submit, complete, close: () => replies.stop() };
}

/** Marks a promise as handled: if the request fails as a whole, nobody reads the answers to its places. */
export function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

const idsOf = (items: readonly StampItem[]): string[] => items.map(({ tokenId }) => tokenId);

function outcomeOf({ reply, isAccepted }: WaitResult<StampReply>): Outcome {
  if (reply?.outcome === 'stamped') return { state: 'stamped', reply };
  if (reply) return { state: 'failed', code: reply.code, fault: reply.fault };
  return { state: isAccepted ? 'accepted' : 'unconfirmed' };
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

/** Each caller may have this share of `QUEUE_MAX_DEPTH`. */
const shareOfCaller = 0.5;

/** After this time without a reply, the reply counts as lost, in milliseconds. */
const lostAfterMs = 3_600_000;

/**
 * Counts the items that this API process has sent and no worker has answered, for each caller. So one caller can fill at most half of the queue
 * through one API process (R7).
 */
function createCallerShares(most: number) {
  /** The unanswered items, oldest first. */
  const unanswered = new Map<string, { readonly callerId: string; readonly since: number }>();
  const counts = new Map<string, number>();

  /** An item was answered, or it did not reach the queue. */
  function settle(tokenId: string): void {
    const item = unanswered.get(tokenId);
    if (!item) return;
    unanswered.delete(tokenId);
    const count = counts.get(item.callerId);
    assert(count, 'the caller of an unanswered item is counted');
    if (count > 1) counts.set(item.callerId, count - 1);
    else counts.delete(item.callerId);
  }

  function forgetLost(): void {
    const before = performance.now() - lostAfterMs;
    for (const [tokenId, { since }] of unanswered) {
      if (since > before) return;
      settle(tokenId);
    }
  }

  return {
    /** @throws ServiceError `rate_limited` if the caller would have too many unanswered items */
    check: (callerId: string, items: number): void => {
      forgetLost();
      if ((counts.get(callerId) ?? 0) + items <= most) return;
      const advice = items > most ? `this request has ${items}: send at most ${most} at once` : 'try again when some of them are finished';
      throw new ServiceError('rate_limited', `At most ${most} stamps of one caller may be unfinished at a time; ${advice}.`, {
        retryAfterSeconds: 5,
      });
    },
    add: (callerId: string, tokenId: string): void => {
      if (unanswered.has(tokenId)) return;
      unanswered.set(tokenId, { callerId, since: performance.now() });
      counts.set(callerId, (counts.get(callerId) ?? 0) + 1);
    },
    settle,
  };
}

/** The time that a request has, measured with the monotonic clock, which cannot be set. */
interface Deadline {
  /** When the request began, in milliseconds since the epoch. */
  readonly begunAt: number;
  leftMs(): number;
}

/** `spentMs`: the time that the request has spent before. `extraMs`: the time that its contents may be on their way to the store. */
export function startDeadline({ config, clock }: ApiTools, spentMs = 0, extraMs = 0): Deadline {
  const until = performance.now() + config.STAMP_WAIT_MS - spentMs + extraMs;
  return { begunAt: clock() - spentMs, leftMs: () => Math.max(0, until - performance.now()) };
}

/** How much longer than the caller's wait the store may take, in milliseconds. The last look for the stamp may take as long again. */
const graceMs = 500;

/**
 * Returns what the store answers to a request. If that takes longer than the request has, and half a second, the answer is ignored.
 *
 * @throws ServiceError `store_unavailable` after the deadline, and the errors of `ask`
 */
export async function storeBefore<T>(deadline: Deadline, ask: () => Promise<T>): Promise<T> {
  try {
    return await within(deadline.leftMs() + graceMs, ask);
  } catch (error) {
    if (!(error instanceof TooLateError)) throw error;
    throw new ServiceError('store_unavailable', 'The store did not answer in time.', { retryAfterSeconds: 2 });
  }
}

/** When the time of a caller is up, the store is asked once more. This is the maximum wait for its answer, in milliseconds. */
const lastLookMs = 500;

/** The result of a wait. `reply` is undefined if there was none in time. `isAccepted`: whether the queue has confirmed the job. */
interface WaitResult<Reply> {
  readonly reply: Reply | undefined;
  readonly isAccepted: boolean;
}

/** Waits that began together. */
interface Group {
  left: number;
  timer?: NodeJS.Timeout;
}

/**
 * A wait is `sent` until the queue confirms the job, then `accepted`. In both states a worker's reply, or a record found in the store, ends the wait
 * with an answer, and a timeout ends it without one. In `sent`, an error of the queue ends it with this error. After its end, a wait is removed.
 */
interface Wait<Reply> extends PromiseWithResolvers<WaitResult<Reply>> {
  state: 'sent' | 'accepted';
  readonly group: Group;
}

/**
 * Creates the waits of requests for the replies of workers, by the id of what is made. `findStored` reads what exists under these ids from the store,
 * and returns a reply for each by its id.
 */
export function createReplyWaits<Reply>(log: Logger, findStored: (ids: readonly string[]) => Promise<ReadonlyMap<string, Reply>>) {
  const waits = new Map<string, Wait<Reply>>();

  function take(id: string): Wait<Reply> | undefined {
    const wait = waits.get(id);
    waits.delete(id);
    if (wait) wait.group.left -= 1;
    if (wait?.group.left === 0) clearTimeout(wait.group.timer);
    return wait;
  }

  function settle(id: string, reply: Reply | undefined): void {
    const wait = take(id);
    wait?.resolve({ reply, isAccepted: wait.state === 'accepted' });
  }

  /** Asks the store about these ids, or all, because their replies may be lost, or may have come before the wait. */
  async function lookUp(ids: readonly string[] = [...waits.keys()]): Promise<void> {
    if (ids.length === 0) return;
    try {
      for (const [id, reply] of await findStored(ids)) settle(id, reply);
    } catch (error) {
      log.warn({ err: error, waits: ids.length }, 'could not ask the store for what requests wait for');
    }
  }

  async function giveUp(ids: readonly string[], group: Group): Promise<void> {
    // A wait that a later request began for the same id is not in this group and continues.
    const left = () => ids.filter((id) => waits.get(id)?.group === group);
    await answerWithin(lastLookMs, () => lookUp(left()));
    for (const id of left()) settle(id, undefined);
  }

  function begin(id: string, group: Group): Wait<Reply> {
    assert(!waits.has(id), 'an id has one wait at a time');
    group.left += 1;
    const wait: Wait<Reply> = { state: 'sent', group, ...Promise.withResolvers<WaitResult<Reply>>() };
    waits.set(id, wait);
    return wait;
  }

  return {
    /**
     * Waits this long for replies, in the order of the ids, and then up to half a second for the store, which is asked once for all ids without a reply.
     * Call it as soon as the job is sent to the queue, so that no reply is missed.
     */
    waitForAll: (ids: readonly string[], waitMs: number): Promise<WaitResult<Reply>>[] => {
      const group: Group = { left: 0 };
      const all = ids.map((id) => waits.get(id) ?? begin(id, group));
      if (group.left > 0) group.timer = setTimeout(() => void giveUp(ids, group), waitMs);
      return all.map(({ promise }) => promise);
    },
    isWaitedFor: (id: string): boolean => waits.has(id),
    /** Ends the wait for something that was not accepted. Its callers get `reason` as error. */
    fail: (id: string, reason: unknown): void => take(id)?.reject(reason),
    /** Notes that the queue has confirmed the job. */
    accepted: (id: string): void => {
      const wait = waits.get(id);
      if (wait) wait.state = 'accepted';
    },
    settle,
    lookUp,
  };
}

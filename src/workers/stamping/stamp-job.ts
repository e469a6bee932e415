import { isTransient } from '../../shared/queue/consumer.ts';
import {
  type FailedJob,
  isStampJob,
  type JobRun,
  NotItsTurnError,
  type StampItem,
  type StampJob,
  type StampReply,
} from '../../shared/queue/jobs.ts';
import { type WorkerReply, workerReplyOf } from '../../shared/queue/replies.ts';
import type { HandOver } from '../../shared/queue/sender.ts';
import type { StoredStamp } from '../../shared/store/stamps.ts';
import { ProviderError } from '../providers/index.ts';
import type { WorkerTools } from '../tools.ts';
import { announce } from '../webhooks/index.ts';
import { type Appending, createOutputAppender, type StampedOutput } from './output-appender.ts';
import { makeStamps } from './stamp-maker.ts';

/**
 * Whether a caller waits for the stamp of an item, by the time when the API accepted the item.
 *
 * - `promised`: nobody waits. The service has promised the stamp.
 * - `awaited`: the caller certainly still waits, so a failure can be reported.
 * - `unsure`: nobody knows, so no failure is reported, and the stamp is owed: the job retries it. In the last tenth of the wait, the reply might come
 *   too late. And the clocks of API and worker may differ: the item seems to come from the future by more than a tenth of the wait.
 * - `over`: the caller got 504, which promises the stamp. The job retries it.
 *
 * As time passes, an item is `awaited`, then `unsure`, then `over`. If the clocks differ much, it is `unsure` at first. `handOver` makes it `promised`.
 */
type CallerWait = 'promised' | 'awaited' | 'unsure' | 'over';

const nobodyWaits: readonly CallerWait[] = ['promised', 'over'];

/** The share of the wait in which a failure is reported. */
const shareOfWait = 0.9;

/** The shortest pause of a job whose stamps wait for the rate of a provider, in milliseconds. */
const shortestPauseMs = 1_000;

/** The items of a job that one run makes together. */
interface JobPart {
  readonly replyTo: string;
  readonly items: readonly StampItem[];
  /** The other unfinished items of the job. */
  readonly others: readonly StampItem[];
  /** Whether an earlier run or another job may have made some of the stamps. */
  readonly mayExist: boolean;
}

/**
 * The processors of both queues of stamps, which append outputs in one order. They make the stamps of one job and send the API one message with the
 * finished stamps, and one for each workflow: the stamp of an output is answered after the output has its number (W8). If every provider fails, a
 * caller who still waits gets the error. A caller who got 504 was promised the stamp, so it is retried: in another queue, so that it does not delay
 * stamps that callers wait for, or in this one if it is an output (W8). A request that every TSA refuses, or that no provider can make qualified, is
 * not retried: its id shows the reason. An item with a fault of its own does not stop the others.
 *
 * @throws ServiceError `store_unavailable`, ProviderError, NotItsTurnError: the unfinished part of the job is retried
 */
export function createStampProcessors(tools: WorkerTools) {
  const { config, store, sendReplies, clock, log } = tools;
  const waitMs = config.STAMP_WAIT_MS;
  const appendOutputs = createOutputAppender(tools);

  async function removeContents(items: readonly StampItem[]): Promise<void> {
    for (const { sealed } of items) if (sealed) await store.sealedContents.remove(sealed.contentId);
  }

  /** The outputs of a job, grouped by chain. An output waits for its turn without delaying other stamps. */
  function appendingsOf(
    jobId: string,
    items: readonly StampItem[],
    stored: readonly StoredStamp[],
    owed: readonly StampItem[],
  ): Appending[] {
    const stamps = new Map(stored.map((stamp) => [stamp.tokenId, stamp]));
    const distinct = new Map(items.map((item) => [item.tokenId, item])).values();
    const byWorkflow = Map.groupBy(distinct, ({ output }) => output?.workflowId);
    return [...byWorkflow.values()].flatMap((ofWorkflow) => {
      const [first] = ofWorkflow;
      if (!first?.output) return [];
      const { workflowId, briefingHash } = first.output;
      const outputs = ofWorkflow.flatMap(({ tokenId, output }): StampedOutput[] => {
        const stamp = stamps.get(tokenId);
        return output && stamp ? [{ output, stamp }] : [];
      });
      return [
        { jobId, chain: { workflowId, briefingHash }, outputs, isLast: !owed.some(({ output }) => output?.workflowId === workflowId) },
      ];
    });
  }

  async function appendAndReply(replyTo: string, items: readonly StampItem[], appending: Appending): Promise<void> {
    const appended = await appendOutputs(appending);
    await announce(
      tools,
      items.filter(({ tokenId }) => appended.has(tokenId)),
    );
    const replies = appending.outputs.map(({ stamp }): WorkerReply => {
      const record = appended.get(stamp.tokenId);
      if (!record) return { outcome: 'failed', tokenId: stamp.tokenId, code: 'workflow_closed' };
      const { outputId, sequenceNumber, chainHash } = record;
      return { ...workerReplyOf(stamp), output: { outputId, sequenceNumber, chainHash } };
    });
    if (replies.length > 0) await sendReplies(replyTo, replies);
  }

  function waitOf({ acceptedAt, isPromised = false }: StampItem): CallerWait {
    if (isPromised) return 'promised';
    const ageMs = clock() - acceptedAt;
    if (ageMs > waitMs) return 'over';
    return ageMs >= (shareOfWait - 1) * waitMs && ageMs < shareOfWait * waitMs ? 'awaited' : 'unsure';
  }

  /** Whether a failure of the item is reported. Otherwise the item is owed. */
  const isFinal = (item: StampItem): boolean => waitOf(item) === 'awaited';

  /** Whether an item leaves before its job runs: certainly nobody waits for it, and it may change its queue. */
  const canLeave = (item: StampItem): boolean => !item.output && nobodyWaits.includes(waitOf(item));

  /**
   * Makes the items' stamps and replies to their callers. Returns the items that are still owed, and when to try again if they wait only for the rate
   * of a provider.
   */
  async function work(
    { replyTo, items, others, mayExist }: JobPart,
    run: JobRun,
  ): Promise<{ owed: StampItem[]; retryInMs: number | undefined }> {
    const { stored, failed, refused, owed, retryInMs } = await makeStamps(tools, items, { mayExist, isFinal });
    const storedIds = new Set(stored.map(({ tokenId }) => tokenId));
    // Done before the replies: if the queue does not accept the webhooks, this job runs again.
    await announce(
      tools,
      items.filter(({ tokenId, output }) => !output && storedIds.has(tokenId)),
    );
    const at = new Date(clock());
    // Done before the replies: if a reply is lost, its caller gets 504, and the `verify_url` in that answer shows the refusal.
    await store.refusals.insertOnce(refused.map(({ item: { tokenId }, code, fault }) => ({ tokenId, reason: code, fault, at })));
    const appendings = appendingsOf(run.jobId, items, stored, [...owed, ...others]);
    const ofWorkflows = new Set(appendings.flatMap(({ outputs }) => outputs.map(({ stamp }) => stamp.tokenId)));
    const made = stored.filter(({ tokenId }) => !ofWorkflows.has(tokenId)).map(workerReplyOf);
    // Not awaited: the end of the job is sent on the same connection, so Redis receives it after the replies.
    if (made.length > 0) void sendReplies(replyTo, made);
    await Promise.all(appendings.map((appending) => appendAndReply(replyTo, items, appending)));

    // Failures are reported last: if the job reported them earlier, stopped and ran again, it could make a stamp that a caller already knows as
    // failed. If a caller's time ran out meanwhile, no failure is reported, and the stamp is owed.
    const reported = failed.filter(({ item }) => isFinal(item));
    const kept = [...owed, ...failed.filter((one) => !reported.includes(one)).map(({ item }) => item)];
    const contentInUse = new Set([...stored, ...kept].map(({ sealed }) => sealed?.contentId));
    await removeContents(items.filter(({ sealed }) => sealed && !contentInUse.has(sealed.contentId)));
    const replies = [
      ...reported.map(({ item: { tokenId }, code }): WorkerReply => ({ outcome: 'failed', tokenId, code })),
      ...refused.map(({ item: { tokenId }, code, fault }): WorkerReply => ({ outcome: 'failed', tokenId, code, fault })),
    ];
    if (replies.length > 0) {
      if (!(await run.isOurs())) throw new ProviderError('another worker has taken the job over and will answer');
      void sendReplies(replyTo, replies);
      store.counters.addStamps(reported.map(({ tally }) => tally));
    }
    return { owed: kept, retryInMs: kept.length === owed.length ? retryInMs : undefined };
  }

  /** Runs a job. If one of its items has a fault of its own, each item runs alone to find those that can never succeed. */
  async function workApart({ replyTo, items, isRepeated = false }: StampJob, run: JobRun) {
    const broken: { readonly item: StampItem; readonly error: unknown }[] = [];
    try {
      return { ...(await work({ replyTo, items, others: [], mayExist: run.isRetry || isRepeated }, run)), broken };
    } catch (error) {
      if (isTransient(error)) throw error;
    }
    const owed: StampItem[] = [];
    for (const [index, item] of items.entries()) {
      const later = items.slice(index + 1);
      try {
        const others = [...later, ...broken.map((one) => one.item)];
        owed.push(...(await work({ replyTo, items: [item], others, mayExist: true }, run)).owed);
      } catch (error) {
        if (isTransient(error)) {
          // Do not run answered items again.
          owed.push(item, ...later);
          break;
        }
        log.error({ err: error, requestId: item.requestId, tokenId: item.tokenId }, 'a stamp cannot be made');
        broken.push({ item, error });
      }
    }
    return { owed, retryInMs: undefined, broken };
  }

  /**
   * Hands over items for which nobody waits, before their job makes the others. If the worker dies before `keepOnly`, both queues have the items; each
   * looks in the store before it asks a provider.
   */
  async function keepWaitedFor(job: StampJob, run: JobRun, handOver?: HandOver): Promise<StampJob | undefined> {
    const leaving = new Set(handOver ? job.items.filter(canLeave) : []);
    if (!handOver || leaving.size === 0) return job;
    await handOver(job.replyTo, [...leaving]);
    const items = job.items.filter((item) => !leaving.has(item));
    if (items.length === 0) return undefined;
    await run.keepOnly({ replyTo: job.replyTo, items, isRepeated: job.isRepeated });
    return { ...job, items };
  }

  /** @param handOver undefined for the jobs of the queue for which nobody waits */
  async function processJob(given: StampJob, run: JobRun, handOver?: HandOver): Promise<void> {
    const job = await keepWaitedFor(given, run, handOver);
    if (!job) return;
    const { owed, retryInMs, broken } = await workApart(job, run);
    const leaving = new Set(handOver ? owed.filter((item) => !item.output && !isFinal(item)) : []);
    if (handOver && leaving.size > 0) await handOver(job.replyTo, [...leaving]);
    const staying = owed.filter((item) => !leaving.has(item));
    if (staying.length + broken.length === 0) return;
    await run.keepOnly({ replyTo: job.replyTo, items: [...staying, ...broken.map(({ item }) => item)] });
    if (staying.length > 0 && retryInMs !== undefined) throw new NotItsTurnError(Math.max(retryInMs, shortestPauseMs));
    if (staying.length > 0) throw new ProviderError(`${staying.length} stamps are owed`);
    throw broken[0]?.error;
  }

  return {
    stamp: (job: StampJob, run: JobRun) => processJob(job, run, tools.handOver),
    'promised-stamp': (job: StampJob, run: JobRun) => processJob(job, run),
  };
}

/** Records that the stamps of a job are not made, and tells the callers that still wait. @throws ServiceError `store_unavailable` */
export async function tellFailed(tools: WorkerTools, job: FailedJob): Promise<void> {
  const replies = await recordFailedStamps(tools, job);
  if (isStampJob(job) && replies.length > 0) await tools.sendReplies(job.payload.replyTo, replies);
}

/**
 * Records that the stamps of a job are not made. `verify_url` then shows the failure, and later outputs no longer wait for them. An operator may
 * retry the job. For other kinds of jobs it does nothing. It may be repeated.
 *
 * @returns the failure replies, only for stamps that do not exist
 * @throws ServiceError `store_unavailable`
 */
export async function recordFailedStamps({ store, outputOrder, clock }: WorkerTools, job: FailedJob): Promise<readonly StampReply[]> {
  if (!isStampJob(job)) return [];
  const { items } = job.payload;
  const made = new Set((await store.stamps.findMany(items.map(({ tokenId }) => tokenId))).map(({ tokenId }) => tokenId));
  const missing = items.map(({ tokenId }) => tokenId).filter((tokenId) => !made.has(tokenId));
  const at = new Date(clock());
  await store.refusals.insertOnce(missing.map((tokenId) => ({ tokenId, reason: 'stamp_failed', at })));
  const workflowIds = new Set(items.flatMap(({ output }) => output?.workflowId ?? []));
  for (const workflowId of workflowIds) await outputOrder.leave(workflowId, [job.id]);
  return missing.map((tokenId) => ({ outcome: 'failed', tokenId, code: 'stamp_failed' }));
}

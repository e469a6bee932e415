import { randomBytes, randomUUIDv7 } from 'node:crypto';
import { checkLink, commitmentsOf, createTreeHeadBuilder, hashOfClosingText, saltBytes } from '../../shared/domain/proofs.ts';
import { needsQualifiedProvider, sha256Imprint } from '../../shared/domain/stamp.ts';
import { canonicalTextOf, closingRecordOf, readClosingRecord } from '../../shared/proof/closing-record.js';
import { hexOf, octetsOfSha256 } from '../../shared/proof/octets.js';
import { type ChainEnd, chainStart } from '../../shared/proof/output-chain.js';
import { type JobPayload, NotItsTurnError } from '../../shared/queue/jobs.ts';
import type { CompletionReply } from '../../shared/queue/replies.ts';
import type { OutputStore } from '../../shared/store/outputs.ts';
import type { StoredStamp } from '../../shared/store/stamps.ts';
import type { ChainSum, StoredClosingRecord, WorkflowRecord } from '../../shared/store/workflows.ts';
import { ProviderError, RateReachedError, TierUnavailableError } from '../providers/index.ts';
import { makeStamps } from '../stamping/index.ts';
import type { WorkerTools } from '../tools.ts';
import { announceCompleted, mailCompleted } from '../webhooks/index.ts';

/** The maximum wait for outputs that were accepted before the completion. The pause between two checks grows from the shortest to the longest. */
const patienceMs = 3_600_000;
const shortestLookMs = 25;
const longestLookMs = 5_000;

/**
 * Completes a workflow in steps. Each step may be repeated: if a run stops, the next run continues.
 *
 * 1. It waits for outputs that were accepted earlier.
 * 2. It checks that the tier can be served, before anything is closed (W19).
 * 3. It closes the workflow, and gives the future stamp of the root its id.
 * 4. It closes the chain, and computes, stores and stamps the root (W9).
 * 5. It writes the closing record with the time of the root's stamp, and stamps it.
 * 6. It marks the workflow as completed, and tells everybody who waits.
 *
 * @throws NotItsTurnError while outputs are in progress, and while a provider allows no request; ProviderError if no provider stamped the root or the
 *   closing record; ServiceError `store_unavailable`: the job is retried
 */
export async function completeWorkflow(tools: WorkerTools, job: JobPayload<'workflow-completion'>): Promise<void> {
  const { store, clock, log } = tools;
  const { workflowId, acceptedAt, requestId } = job;
  await letOutputsJoin(tools, job);
  if (!(await canStamp(tools, workflowId))) return;
  const workflow = await store.workflows.beginClosing(workflowId, randomUUIDv7(), new Date(acceptedAt));
  if (!workflow?.closing) return;
  if (workflow.status === 'completed') {
    // An earlier run may have ended before it replied and queued the mail.
    await reply(tools, { outcome: 'completed', workflowId });
    return mailCompleted(tools, workflow, job);
  }
  const root = await rootOf(tools, workflow, workflow.closing.rootTokenId);
  const rootStamp = await stamp(tools, job, workflow, workflow.closing.rootTokenId, root.hash);
  if (!rootStamp) return;
  const { tokenId, text } = await recordOf(tools, workflow, root, rootStamp);
  if (!(await stamp(tools, job, workflow, tokenId, hashOfClosingText(text)))) return;
  const completedAt = readClosingRecord(text)?.completed_at ?? rootStamp.proofs[0].issuedAt;
  await announceCompleted(tools, workflow, requestId);
  const isFirst = await store.workflows.complete(workflowId, new Date(completedAt));
  await reply(tools, { outcome: 'completed', workflowId });
  if (!isFirst) return;
  log.info({ requestId, workflowId, outputs: root.outputCount }, 'a workflow was completed');
  store.counters.add({ workflowsCompleted: 1 }, clock());
  await mailCompleted(tools, workflow, job);
}

/** Waits for outputs that were accepted earlier. @throws NotItsTurnError while they are in progress */
async function letOutputsJoin(
  { outputOrder, clock }: WorkerTools,
  { workflowId, acceptedAt }: JobPayload<'workflow-completion'>,
): Promise<void> {
  // Not longer than this process runs: a clock that jumps ahead does not end the wait.
  const waitedMs = Math.min(clock() - acceptedAt, performance.now());
  if (waitedMs > patienceMs || !(await outputOrder.hasEarlier(workflowId, acceptedAt))) return;
  throw new NotItsTurnError(Math.min(Math.max(Math.abs(waitedMs) / 4, shortestLookMs), longestLookMs));
}

const reply = ({ sendReplies, completionStream }: WorkerTools, outcome: CompletionReply) => sendReplies(completionStream, [outcome]);

/**
 * Checks that the stamps of a workflow can be made, before anything is closed (W19). Returns false if no provider may make them: then a retry is
 * useless.
 *
 * @throws NotItsTurnError while a provider allows no request; ProviderError if none answers
 */
async function canStamp(tools: WorkerTools, workflowId: string): Promise<boolean> {
  const workflow = await tools.store.workflows.find(workflowId);
  if (!workflow || workflow.closing || !needsQualifiedProvider(workflow.tier)) return true;
  try {
    await tools.provider.checkQualified();
    return true;
  } catch (error) {
    if (error instanceof RateReachedError) throw new NotItsTurnError(Math.max(error.retryInMs, shortestLookMs));
    if (!(error instanceof ProviderError)) throw error;
    const isUnserved = error instanceof TierUnavailableError;
    await reply(tools, { outcome: 'not_completed', workflowId, code: isUnserved ? 'tier_unavailable' : 'provider_failed' });
    if (isUnserved) return false;
    throw error;
  }
}

async function rootOf({ store }: WorkerTools, workflow: WorkflowRecord, rootTokenId: string): Promise<ChainSum> {
  if (workflow.root) return workflow.root;
  const closed = await closeChain(store.outputs, workflow, rootTokenId);
  await store.workflows.setRoot(workflow._id, closed);
  return closed;
}

/** Returns the stamp of a hash, or undefined if no configured provider may make it: then a retry is useless. */
async function stamp(
  tools: WorkerTools,
  job: JobPayload<'workflow-completion'>,
  { _id, tier }: WorkflowRecord,
  tokenId: string,
  digest: string,
) {
  const { acceptedAt, requestId } = job;
  const item = {
    tokenId,
    imprint: sha256Imprint(digest),
    tier: 'basic',
    caller: { kind: 'workflow' },
    acceptedAt,
    requestId,
    requiresQualified: needsQualifiedProvider(tier),
  } as const;
  // An earlier job may already have stamped it.
  const { stored, failed, retryInMs } = await makeStamps(tools, [item], { mayExist: true });
  if (stored[0]) return stored[0];
  if (retryInMs !== undefined) throw new NotItsTurnError(Math.max(retryInMs, shortestLookMs));
  tools.store.counters.addStamps(failed.map(({ tally }) => tally));
  await reply(tools, { outcome: 'not_completed', workflowId: _id, code: failed.length > 0 ? 'provider_failed' : 'tier_unavailable' });
  if (failed.length > 0) throw new ProviderError('the root or the closing record could not be stamped');
  return undefined;
}

const freshSalt = (): string => randomBytes(saltBytes).toString('hex');

/** Returns the stored closing record. Only the first record that is written is kept: salts are random, so a second one would differ. */
async function recordOf(
  { store }: WorkerTools,
  workflow: WorkflowRecord,
  root: ChainSum,
  rootStamp: StoredStamp,
): Promise<StoredClosingRecord> {
  if (workflow.closingRecord) return workflow.closingRecord;
  const salts = workflow.wordsKey && { email: freshSalt(), agent: freshSalt() };
  const record = closingRecordOf({
    workflowId: workflow._id,
    tier: workflow.tier,
    briefingHash: workflow.briefingHash,
    createdAt: workflow.createdAt,
    confirmedAt: workflow.emailVerifiedAt,
    completedAt: new Date(rootStamp.proofs[0].issuedAt),
    outputCount: root.outputCount,
    chainHash: root.chainHash,
    merkleRoot: root.hash,
    commitments: salts && commitmentsOf(salts, workflow),
  });
  const written = { text: canonicalTextOf(record), tokenId: randomUUIDv7() };
  const { closingRecord } = (await store.workflows.setClosingRecord(workflow, written, salts)) ?? {};
  if (!closingRecord) throw new Error(`workflow ${workflow._id} is gone`);
  return closingRecord;
}

/** Reads the outputs as a stream, and checks the chain before computing the root. */
async function computeRoot(outputs: OutputStore, { _id: workflowId, briefingHash }: WorkflowRecord): Promise<ChainSum> {
  const tree = createTreeHeadBuilder();
  let end: ChainEnd = chainStart(briefingHash);
  for await (const link of outputs.scanLinks(workflowId)) {
    const fault = checkLink(end, link);
    if (fault) throw new Error(`the chain of workflow ${workflowId} breaks at ${fault.sequenceNumber}: ${fault.fault}`);
    tree.append(octetsOfSha256(link.outputHash));
    end = link;
  }
  const { treeSize, rootHash } = tree.head();
  return { hash: hexOf(rootHash), outputCount: treeSize, chainHash: end.chainHash };
}

/**
 * Closes a chain, so that no more outputs can be added, and computes its root. It may be repeated.
 *
 * @throws Error if the stored chain is damaged; ServiceError `store_unavailable`
 */
async function closeChain(outputs: OutputStore, workflow: WorkflowRecord, rootTokenId: string): Promise<ChainSum> {
  const { _id: workflowId, briefingHash } = workflow;
  const closing = await outputs.close({ workflowId, briefingHash }, rootTokenId);
  const root = await computeRoot(outputs, workflow);
  if (root.outputCount !== closing.sequenceNumber - 1) {
    throw new Error(`the chain of workflow ${workflowId} has ${root.outputCount} outputs, not ${closing.sequenceNumber - 1}`);
  }
  return root;
}

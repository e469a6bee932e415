import { evidencePath, workflowPath } from '../../shared/domain/addresses.ts';
import { publicNameOf } from '../../shared/domain/public-name.ts';
import { trialOf } from '../../shared/domain/qualification.ts';
import type { JobPayload } from '../../shared/queue/jobs.ts';
import type { WorkerTools } from '../tools.ts';
import { sendToClient } from './client-mail.ts';
import { buildCompletionMessage } from './message.ts';

/**
 * Tells the client of a completed workflow, once, what was made for him and where its evidence is (W27). Unconfirmed and erased addresses get no mail.
 *
 * @throws MailError if it should be retried; ServiceError `store_unavailable`
 */
export async function sendCompletionMail(tools: WorkerTools, job: JobPayload<'completion-mail'>): Promise<void> {
  const { engine, log } = tools;
  const { workflows } = tools.store;
  const { workflowId, requestId, baseUrl } = job;
  const workflow = await workflows.find(workflowId);
  if (!workflow?.emailVerifiedAt || workflow.redactedAt) return;
  const { completedAt, root, closing, closingRecord, completionMail, briefingMetadata } = workflow;
  if (!completedAt || !root || !closing || !closingRecord || completionMail?.sentAt || completionMail?.failedAt) return;
  const seals = await judgeSeals(tools, [closing.rootTokenId, closingRecord.tokenId]);
  if (!seals) {
    log.error({ requestId, workflowId }, 'the stamps of a completed workflow do not verify, so no mail is sent about it');
    return;
  }
  await sendToClient(tools, {
    name: 'the mail about a completed workflow',
    workflow,
    job,
    baseUrl,
    build: (parts) =>
      buildCompletionMessage(engine, {
        ...parts,
        title: publicNameOf(briefingMetadata, 'title'),
        outputCount: root.outputCount,
        completedAt: completedAt.toISOString(),
        isTest: seals.isTest,
        pageLink: `${baseUrl}${workflowPath(workflowId)}`,
        bundleLink: `${baseUrl}${evidencePath(workflowId, 'zip')}`,
        messageKey: `completed-${workflowId}`,
      }),
    record: (outcome) => workflows.recordCompletionMail(workflowId, outcome),
  });
}

/** Judges the stamps of root and closing record for this mail (V9). Undefined if one of them does not verify. */
async function judgeSeals({ store, tokenJudge }: WorkerTools, tokenIds: readonly string[]) {
  const stored = await store.stamps.findMany(tokenIds);
  const judged = await Promise.all(
    stored.map(({ proofs: [{ token, provider }], imprint }) => tokenJudge.judge(token, { provider, imprints: [imprint] })),
  );
  const proved = judged.filter((judgement) => judgement.ok);
  if (proved.length < tokenIds.length) return undefined;
  return { isTest: proved.some(({ qualification }) => trialOf(qualification) !== null) };
}

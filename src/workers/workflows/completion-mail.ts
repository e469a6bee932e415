import { evidencePath, workflowPath } from '../../shared/domain/addresses.ts';
import { mockProviderName } from '../../shared/domain/mock-token.ts';
import { publicNameOf } from '../../shared/domain/public-name.ts';
import { type JobPayload, NotItsTurnError } from '../../shared/queue/jobs.ts';
import type { StampStore } from '../../shared/store/stamps.ts';
import type { WorkflowStore } from '../../shared/store/workflows.ts';
import { type ClientMailDeps, sendToClient, tryForMs } from './client-mail.ts';
import { buildCompletionMessage } from './message.ts';

export interface CompletionMailDeps extends ClientMailDeps {
  readonly workflows: Pick<WorkflowStore, 'find' | 'recordCompletionMail'>;
  readonly stamps: Pick<StampStore, 'find'>;
}

/** The pause until the workflow is looked at again. The job is queued just before the workflow is recorded as completed. */
const lookAgainMs = 250;

/**
 * Tells the client of a completed workflow, once, what was made for him and where its evidence is (W27). Only a confirmed address gets this mail, and none
 * that was erased.
 *
 * @throws NotItsTurnError until the workflow is completed; MailError if it should be retried; ServiceError `store_unavailable`
 */
export function createCompletionMailProcessor(deps: CompletionMailDeps): (job: JobPayload<'completion-mail'>) => Promise<void> {
  const { workflows, stamps, engine, publicBaseUrl, clock, log } = deps;

  return async (job) => {
    const { workflowId, requestId, acceptedAt } = job;
    const workflow = await workflows.find(workflowId);
    if (!workflow?.emailVerifiedAt || workflow.redactedAt) return;
    const { status, completedAt, root, closing, completionMail, briefingMetadata } = workflow;
    if (completionMail?.sentAt || completionMail?.failedAt) return;
    if (status !== 'completed' || !completedAt || !root || !closing) {
      // If the completion was interrupted, it queues this job again.
      if (clock() - acceptedAt >= tryForMs) return;
      throw new NotItsTurnError(lookAgainMs);
    }
    const baseUrl = publicBaseUrl ?? job.baseUrl;
    if (!baseUrl) {
      log.warn(
        { requestId, workflowId, outcome: 'advice' },
        'PUBLIC_BASE_URL is not set: the mail about a completed workflow has no links and was not sent',
      );
      return;
    }
    const rootStamp = await stamps.find(closing.rootTokenId);
    await sendToClient(deps, {
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
          isTest: rootStamp?.proofs[0].provider === mockProviderName,
          pageLink: `${baseUrl}${workflowPath(workflowId)}`,
          bundleLink: `${baseUrl}${evidencePath(workflowId, 'zip')}`,
          messageKey: `completed-${workflowId}`,
        }),
      record: (outcome) => workflows.recordCompletionMail(workflowId, outcome),
    });
  };
}

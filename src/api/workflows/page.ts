import { closingRecordPath, evidencePath, outputsPath, workflowPath } from '../../shared/domain/addresses.ts';
import { publicNameOf } from '../../shared/domain/public-name.ts';
import { maskEmail, redactedEmail } from '../../shared/domain/recipient.ts';
import { readStatus } from '../../shared/domain/workflow-state.ts';
import { linkMailStateOf, snapshotOf, type WorkflowRecord } from '../../shared/store/workflows.ts';
import { isoOf, isTierServed } from './access.ts';
import type { RecomputedChain } from './chain-proof.ts';
import { proveWorkflow } from './proof.ts';
import type { WorkflowTools } from './workflow-tools.ts';
import { type FindResult, outputsPerPage as pageSize, type WorkflowPage } from './workflow-view.ts';

const mostFound = 100;

interface PageQuery {
  /** The number of the page, from 1. If there is no such page, the nearest page is shown. */
  readonly page: number;
  /** The SHA-256 of the outputs to find, lower-case hex. */
  readonly find?: string | undefined;
  /** Called with the number of outputs on the page before they are verified. It throws if they are too many for the caller. */
  readonly passLimit: (outputs: number) => Promise<void>;
  /** The base URL of the service, without a final slash. */
  readonly baseUrl: string;
}

/** The name that the agent gave itself. If it contains the client's e-mail address, the address is masked, like everywhere on the page. */
function agentShown({ agentId, email, redactedAt }: WorkflowRecord): string | null {
  if (redactedAt) return agentId === redactedEmail ? null : agentId;
  const at = agentId.toLowerCase().indexOf(email.toLowerCase());
  return at < 0 ? agentId : agentId.slice(0, at) + maskEmail(email) + agentId.slice(at + email.length);
}

/**
 * Returns the data of a workflow's public page, or null if there is no such workflow. Nothing in it is secret.
 *
 * @throws ServiceError `store_unavailable`; the errors of `passLimit`
 */
export async function readWorkflowPage(tools: WorkflowTools, workflowId: string, query: PageQuery): Promise<WorkflowPage | null> {
  const { config, makesTestStamps, clock } = tools;
  const { workflows, outputs } = tools.store;
  const found = await workflows.find(workflowId);
  if (!found) return null;
  const { passLimit, baseUrl } = query;
  const end = await outputs.findEnd(workflowId);
  // If the chain is closed, the workflow may have been completed since it was read, so it is read again.
  const workflow = (end?.isClosed && found.status !== 'completed' && (await workflows.find(workflowId))) || found;
  const total = end?.sequenceNumber ?? 0;
  const page = Math.min(Math.max(1, query.page), Math.max(1, Math.ceil(total / pageSize)));
  const firstNumber = (page - 1) * pageSize + 1;
  const lastNumber = Math.min(page * pageSize, total);
  await passLimit(Math.max(0, lastNumber - firstNumber + 1));
  const listed = await outputs.list(workflowId, firstNumber, pageSize);
  // The total was read before the list. Outputs that were added between are not shown.
  const records = listed.filter(({ sequenceNumber }) => sequenceNumber <= total);
  const { proof, rows, root, closingRecord, chain } = await proveWorkflow(tools, { workflow, end, firstNumber, lastNumber, rows: records });
  const unknown = query.find === undefined ? null : { hash: query.find, sequenceNumbers: [] };
  const find = chain ? await findOutputs(tools, workflowId, query.find, chain) : unknown;
  const now = clock();
  return {
    workflowId,
    address: `${baseUrl}${workflowPath(workflowId)}`,
    proof,
    status: readStatus(snapshotOf(workflow), now),
    isClosing: workflow.status === 'closing',
    tier: workflow.tier,
    makesTestStamps,
    isTierServed: await isTierServed(workflow, tools),
    startedAt: workflow.createdAt.toISOString(),
    expiresAt: workflow.expiresAt.toISOString(),
    // The stamp of the root proves the time of completion. The recorded time is not proved.
    completedAt:
      root?.stamp.verdict.kind === 'proved'
        ? root.stamp.stampedAt
        : isoOf(workflow.status === 'completed' ? workflow.completedAt : undefined),
    agentId: agentShown(workflow),
    title: publicNameOf(workflow.briefingMetadata, 'title'),
    maskedEmail: workflow.redactedAt ? null : maskEmail(workflow.email),
    emailVerifiedAt: isoOf(workflow.emailVerifiedAt),
    confirmWith: workflow.confirmedWith ?? config.CONFIRM_WITH,
    mail: linkMailStateOf(workflow),
    briefingHash: workflow.briefingHash,
    outputs: { rows, total, unqualifiedTotal: end?.unqualifiedTotal ?? 0, page, pageSize },
    root,
    closingRecord,
    published: { outputsUrl: outputsPath(workflowId), closingRecordUrl: closingRecord && closingRecordPath(workflowId) },
    evidence: closingRecord && { jsonUrl: evidencePath(workflowId, 'json'), zipUrl: evidencePath(workflowId, 'zip') },
    find,
    shownAt: new Date(now).toISOString(),
  };
}

async function findOutputs(
  { store: { outputs } }: WorkflowTools,
  workflowId: string,
  hash: string | undefined,
  chain: RecomputedChain,
): Promise<FindResult | null> {
  if (hash === undefined) return null;
  const recorded = await outputs.findNumbers(workflowId, hash, mostFound);
  return { hash, sequenceNumbers: recorded.filter((number) => chain.linkAt(number)?.outputHash === hash) };
}

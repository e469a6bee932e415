import { verifyPath, workflowPath } from '../../../shared/domain/addresses.ts';
import { maskEmail, redactedEmail } from '../../../shared/domain/mask-email.ts';
import { reasonOf } from '../../../shared/domain/reasons.ts';
import { needsQualifiedProvider } from '../../../shared/domain/tiers.ts';
import { readStatus } from '../../../shared/domain/workflow-state.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { OutputRecord, OutputStore } from '../../../shared/store/outputs.ts';
import type { StampStore, StoredStamp } from '../../../shared/store/stamps.ts';
import { mailStateOf, snapshotOf, type WorkflowRecord, type WorkflowStore } from '../../../shared/store/workflows.ts';
import type { StampMark, StampVerdict } from '../../pages/stamp-model.ts';
import {
  type FindResult,
  type OutputRow,
  outputsPerPage,
  type StampedHash,
  type WorkflowFault,
  type WorkflowPage,
  type WorkflowProof,
} from '../../pages/workflow-model.ts';
import type { StoredStampJudge, StoredVerdict } from '../stored-stamps.ts';
import type { ChainProver, RecomputedChain } from './chain-proof.ts';

const mostFound = 100;

export interface PageQuery {
  /** From 1; a page that is not there reads as the nearest. */
  readonly page: number;
  /** SHA-256 that is looked for, lower-case hex. */
  readonly find?: string | undefined;
  readonly isPrintEdition: boolean;
  /** Where the service is reached: the page names its own address, for paper. */
  readonly baseUrl: string;
}

export interface WorkflowPagesDeps {
  readonly workflows: WorkflowStore;
  readonly outputs: OutputStore;
  readonly stamps: StampStore;
  readonly storedStamps: StoredStampJudge;
  readonly chains: ChainProver;
  /** Whether a qualified stamp can be made as the service is configured (W19). */
  readonly servesQualified: boolean;
  readonly clock: Clock;
}

/** What is recorded of a stamp; the page claims none of it unless the token says the same. */
interface Recorded {
  readonly tokenId: string;
  readonly hash: string;
  readonly stampedAt: string;
  readonly provider: string;
  readonly isQualified: boolean;
}

const shownVerdict = (verdict: StoredVerdict): StampVerdict =>
  verdict.kind === 'refused' ? { kind: 'refused', reason: reasonOf(verdict.code) } : { kind: verdict.kind };

/** A stamp as it is shown: where its token is good, what the token says; the stamp must be for the hash that stands beside it. */
function markOf(
  { tokenId, hash, stampedAt, provider, isQualified }: Recorded,
  stamp: StoredStamp | undefined,
  verdict: StoredVerdict,
): StampMark {
  const isForHash = stamp?.imprint.algorithm === 'sha256' && stamp.imprint.digest === hash;
  const told: StoredVerdict = stamp && !isForHash && verdict.kind === 'proved' ? { kind: 'refused', code: 'imprint_mismatch' } : verdict;
  const verifyUrl = verifyPath(tokenId);
  if (told.kind !== 'proved') return { tokenId, stampedAt, provider, isQualified, verifyUrl, verdict: shownVerdict(told) };
  const { vouched } = told;
  return {
    tokenId,
    stampedAt: vouched.issuedAt,
    provider: vouched.provider ?? 'another TSA',
    isQualified: vouched.isQualified,
    verifyUrl,
    verdict: { kind: 'proved' },
  };
}

function chainFaults({ status, root }: WorkflowRecord, chain: RecomputedChain): WorkflowFault[] {
  if (chain.fault) return [{ kind: chain.fault.fault, sequenceNumber: chain.fault.sequenceNumber }];
  if (status !== 'completed') return [];
  if (!root) return [{ kind: 'root_mismatch' }];
  const { sequenceNumber: found } = chain.end;
  if (root.outputCount !== found) return [{ kind: 'output_count_mismatch', recorded: root.outputCount, found }];
  return root.hash === chain.rootHash ? [] : [{ kind: 'root_mismatch' }];
}

/** A record of an output that is not the one in the chain: its hash was changed after it was linked. */
const rowFaults = (rows: readonly OutputRow[], chain: RecomputedChain): WorkflowFault[] =>
  rows
    .filter(({ sequenceNumber, hash }) => chain.hashAt(sequenceNumber) !== hash && chain.fault === undefined)
    .map(({ sequenceNumber }) => ({ kind: 'chain_hash_mismatch', sequenceNumber }));

function stampFaults(rows: readonly OutputRow[], root: StampedHash | null): WorkflowFault[] {
  const ofRoot = root?.stamp.verdict.kind === 'refused' ? [{ kind: 'root_stamp', reason: root.stamp.verdict.reason } as const] : [];
  const ofRows = rows.flatMap(({ sequenceNumber, verdict }) =>
    verdict.kind === 'refused' ? [{ kind: 'output_stamp', sequenceNumber, reason: verdict.reason } as const] : [],
  );
  return [...ofRoot, ...ofRows];
}

function proofOf(status: WorkflowRecord['status'], faults: readonly WorkflowFault[], marks: readonly StampMark[]): WorkflowProof {
  const [first, ...others] = faults;
  if (first) return { kind: 'broken', faults: [first, ...others] };
  if (marks.some(({ verdict }) => verdict.kind === 'unverifiable')) return { kind: 'unverifiable' };
  return { kind: status === 'completed' ? 'proved' : 'open' };
}

/**
 * What the public page of a workflow shows; null when there is none. Nothing in it is secret. Chain and root are recomputed and the
 * stamps of root and outputs verified for each answer (V9); what is recorded is only compared with that.
 *
 * @throws ServiceError `store_unavailable`
 */
export function createWorkflowPages(deps: WorkflowPagesDeps) {
  const { workflows, outputs, stamps, storedStamps, chains, servesQualified, clock } = deps;

  async function markAll(recorded: readonly Recorded[]): Promise<StampMark[]> {
    const stored = new Map((await stamps.findMany(recorded.map(({ tokenId }) => tokenId))).map((stamp) => [stamp.tokenId, stamp]));
    return Promise.all(
      recorded.map(async (each) => {
        const stamp = stored.get(each.tokenId);
        return markOf(each, stamp, stamp ? await storedStamps.judgeStamp(stamp) : { kind: 'refused', code: 'unknown_token_id' });
      }),
    );
  }

  async function rowsOf(records: readonly OutputRecord[]): Promise<OutputRow[]> {
    const marks = await markAll(records);
    return records.map(({ sequenceNumber, type, hash }, index) => ({ ...marks[index]!, sequenceNumber, type, hash }));
  }

  async function stampedRoot({ status, root, closing, completedAt }: WorkflowRecord): Promise<StampedHash | null> {
    if (status !== 'completed' || !root || !closing) return null;
    const stampedAt = completedAt?.toISOString() ?? '';
    const [stamp] = await markAll([{ tokenId: closing.rootTokenId, hash: root.hash, stampedAt, provider: '', isQualified: false }]);
    return stamp ? { hash: root.hash, stamp } : null;
  }

  async function findOutputs(workflowId: string, hash: string | undefined, chain: RecomputedChain): Promise<FindResult | null> {
    if (hash === undefined) return null;
    const recorded = await outputs.findNumbers(workflowId, hash, mostFound);
    return { hash, sequenceNumbers: recorded.filter((number) => chain.hashAt(number) === hash) };
  }

  return async (workflowId: string, query: PageQuery): Promise<WorkflowPage | null> => {
    const workflow = await workflows.find(workflowId);
    if (!workflow) return null;
    const pageSize = outputsPerPage[query.isPrintEdition ? 'print' : 'screen'];
    const end = await outputs.findEnd(workflowId);
    const total = end?.sequenceNumber ?? 0;
    const page = Math.min(Math.max(1, query.page), Math.max(1, Math.ceil(total / pageSize)));
    const [rows, root] = await Promise.all([
      outputs.list(workflowId, (page - 1) * pageSize + 1, pageSize).then(rowsOf),
      stampedRoot(workflow),
    ]);
    const chain = await chains.recompute({ workflowId, briefingHash: workflow.briefingHash });
    const faults = [...chainFaults(workflow, chain), ...rowFaults(rows, chain), ...stampFaults(rows, root)];
    if (faults.length > 0) chains.forget(workflowId);
    const now = clock();
    const isoOf = (date: Date | undefined): string | null => date?.toISOString() ?? null;
    return {
      workflowId,
      address: `${query.baseUrl}${workflowPath(workflowId)}`,
      proof: proofOf(workflow.status, faults, root ? [root.stamp, ...rows] : rows),
      status: readStatus(snapshotOf(workflow), now),
      isClosing: workflow.status === 'closing',
      tier: workflow.tier,
      isTierServed: servesQualified || !needsQualifiedProvider(workflow.tier),
      startedAt: workflow.createdAt.toISOString(),
      expiresAt: workflow.expiresAt.toISOString(),
      completedAt: isoOf(workflow.completedAt),
      agentId: workflow.agentId === redactedEmail ? null : workflow.agentId,
      maskedEmail: workflow.redactedAt ? null : maskEmail(workflow.email),
      emailVerifiedAt: isoOf(workflow.emailVerifiedAt),
      mail: mailStateOf(workflow),
      briefingHash: workflow.briefingHash,
      outputs: { rows, total, unqualifiedTotal: end?.unqualifiedTotal ?? 0, page, pageSize },
      root,
      closingRecord: null,
      evidence: null,
      find: await findOutputs(workflowId, query.find, chain),
      isPrintEdition: query.isPrintEdition,
      shownAt: new Date(now).toISOString(),
    };
  };
}

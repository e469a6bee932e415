import { verifyPath } from '../../../shared/domain/addresses.ts';
import { reasonOf } from '../../../shared/domain/reasons.ts';
import type { OutputRecord, OutputStore } from '../../../shared/store/outputs.ts';
import type { StampStore, StoredStamp } from '../../../shared/store/stamps.ts';
import type { WorkflowRecord } from '../../../shared/store/workflows.ts';
import type { StampMark } from '../../pages/stamp-model.ts';
import type { OutputRow, StampedHash, WorkflowFault, WorkflowProof } from '../../pages/workflow-model.ts';
import type { StampJudge, StampJudgement } from '../stamp-judge.ts';
import { createChainProofs } from './chain-proof.ts';

/** What a page is about to show of a workflow, as it is stored. */
export interface Recorded {
  readonly workflow: WorkflowRecord;
  readonly total: number;
  /** The chain hash that the last record names; null where there is none. */
  readonly chainHash: string | null;
  /** Consecutive outputs. */
  readonly rows: readonly OutputRecord[];
}

/** The same with what was verified for this very answer (V9). */
export interface Proved {
  readonly proof: WorkflowProof;
  readonly rows: readonly OutputRow[];
  readonly root: StampedHash | null;
}

/** What is recorded of a stamp beside the stamp itself. */
interface Claim {
  readonly tokenId: string;
  readonly hash: string;
  readonly stampedAt: string;
  readonly provider: string;
}

/** Recomputes and verifies what a page shows of a workflow; stored flags decide nothing. */
export function createWorkflowProofs(deps: { outputs: OutputStore; stamps: StampStore; stampJudge: StampJudge }) {
  const { stamps, stampJudge } = deps;
  const chainOf = createChainProofs(deps.outputs);

  async function judge(claim: Claim, stamp: StoredStamp | null): Promise<StampJudgement> {
    if (!stamp) return { ok: false, code: 'unknown_token_id' };
    const judgement = await stampJudge.judgeStamp(stamp);
    if (!judgement.ok) return judgement;
    if (judgement.imprint.algorithm !== 'sha256' || judgement.imprint.digest !== claim.hash) return { ok: false, code: 'imprint_mismatch' };
    const isAsRecorded = judgement.issuedAt === claim.stampedAt && stamp.proofs[0].provider === claim.provider;
    return isAsRecorded ? judgement : { ok: false, code: 'record_mismatch' };
  }

  async function markOf(claim: Claim, stamp: StoredStamp | null): Promise<StampMark> {
    const judgement = await judge(claim, stamp);
    const { tokenId, stampedAt } = claim;
    const shown = { tokenId, stampedAt, verifyUrl: verifyPath(tokenId) };
    if (judgement.ok) {
      const { isProviderKnown, isQualified, verified } = judgement;
      // Nobody vouches for a name that is not configured: the token says who signed it.
      const provider = isProviderKnown || !verified ? claim.provider : verified.signer.subject;
      return { ...shown, provider, isQualified, verdict: { kind: 'proved' } };
    }
    const isUnverifiable = stampJudge.isUnverifiable(judgement, claim.provider);
    const verdict = isUnverifiable ? ({ kind: 'unverifiable' } as const) : ({ kind: 'refused', reason: reasonOf(judgement.code) } as const);
    return { ...shown, provider: claim.provider, isQualified: false, verdict };
  }

  async function rowsOf(records: readonly OutputRecord[]): Promise<OutputRow[]> {
    const found = new Map((await stamps.findMany(records.map(({ tokenId }) => tokenId))).map((stamp) => [stamp.tokenId, stamp]));
    return Promise.all(
      records.map(async (record) => {
        const { sequenceNumber, type, hash } = record;
        return { ...(await markOf(record, found.get(record.tokenId) ?? null)), sequenceNumber, type, hash };
      }),
    );
  }

  async function rootOf({ status, root, closing }: WorkflowRecord): Promise<StampedHash | null> {
    if (status !== 'completed' || !root || !closing) return null;
    const tokenId = closing.rootTokenId;
    const stamp = await stamps.find(tokenId);
    const { issuedAt: stampedAt, provider } = stamp?.proofs[0] ?? { issuedAt: closing.at.toISOString(), provider: '' };
    return { hash: root.hash, stamp: await markOf({ tokenId, hash: root.hash, stampedAt, provider }, stamp) };
  }

  async function chainFaults({ workflow, total, chainHash, rows }: Recorded): Promise<WorkflowFault[]> {
    const { _id: workflowId, briefingHash, status, root } = workflow;
    const shown = { first: rows[0]?.sequenceNumber ?? 1, hashes: rows.map(({ hash }) => hash) };
    const chain = await chainOf({ workflowId, briefingHash, chainHash }, shown);
    const faults: WorkflowFault[] = [];
    if (chain.fault) faults.push({ kind: chain.fault.fault, sequenceNumber: chain.fault.sequenceNumber });
    // An open chain may have grown since it was counted.
    const recorded = root?.outputCount ?? total;
    if (chain.total < recorded || (status === 'completed' && chain.total > recorded)) {
      faults.push({ kind: 'output_count_mismatch', recorded, found: chain.total });
    }
    if (root && root.hash !== chain.rootHash) faults.push({ kind: 'root_mismatch' });
    return faults;
  }

  function stampFaults({ workflow }: Recorded, rows: readonly OutputRow[], root: StampedHash | null): WorkflowFault[] {
    const faults: WorkflowFault[] = [];
    if (workflow.status === 'completed' && !root) faults.push({ kind: 'root_stamp', reason: reasonOf('unknown_token_id') });
    if (root?.stamp.verdict.kind === 'refused') faults.push({ kind: 'root_stamp', reason: root.stamp.verdict.reason });
    for (const { verdict, sequenceNumber } of rows) {
      if (verdict.kind === 'refused') faults.push({ kind: 'output_stamp', sequenceNumber, reason: verdict.reason });
    }
    return faults;
  }

  return async (recorded: Recorded): Promise<Proved> => {
    const [faults, rows, root] = await Promise.all([chainFaults(recorded), rowsOf(recorded.rows), rootOf(recorded.workflow)]);
    const [first, ...others] = [...faults, ...stampFaults(recorded, rows, root)];
    if (first) return { proof: { kind: 'broken', faults: [first, ...others] }, rows, root };
    const isUnverifiable = [...rows, ...(root ? [root.stamp] : [])].some(({ verdict }) => verdict.kind === 'unverifiable');
    const kind = isUnverifiable ? 'unverifiable' : recorded.workflow.status === 'completed' ? 'proved' : 'open';
    return { proof: { kind }, rows, root };
  };
}

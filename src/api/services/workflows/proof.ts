import { setTimeout as delay } from 'node:timers/promises';
import { verifyPath } from '../../../shared/domain/addresses.ts';
import type { ChainEnd } from '../../../shared/domain/output-chain.ts';
import { reasonOf } from '../../../shared/domain/reasons.ts';
import type { OutputRecord, OutputStore } from '../../../shared/store/outputs.ts';
import type { StampStore, StoredStamp } from '../../../shared/store/stamps.ts';
import type { WorkflowRecord } from '../../../shared/store/workflows.ts';
import type { StampMark } from '../../pages/stamp-model.ts';
import type { OutputRow, StampedHash, WorkflowFault, WorkflowProof } from '../../pages/workflow-model.ts';
import type { StampJudge, StampJudgement } from '../stamp-judge.ts';
import { createChainProver, type RecomputedChain } from './chain-proof.ts';

/** What a page is about to show of a workflow, as it is stored. */
export interface Recorded {
  readonly workflow: WorkflowRecord;
  /** What the last record says; undefined where there is none. */
  readonly end: ChainEnd | undefined;
  /** The numbers of the outputs that the page has room for; none where the last is smaller than the first. */
  readonly firstNumber: number;
  readonly lastNumber: number;
  /** What is stored of them. */
  readonly rows: readonly OutputRecord[];
}

/** The same with what was verified for this very answer (V9). */
export interface Proved {
  readonly proof: WorkflowProof;
  readonly rows: readonly OutputRow[];
  readonly root: StampedHash | null;
  /** Undefined while it is still being recomputed. */
  readonly chain: RecomputedChain | undefined;
}

/** What is recorded of a stamp beside the stamp itself. */
interface Claim {
  readonly tokenId: string;
  readonly hash: string;
  readonly stampedAt: string;
  readonly provider: string;
}

/** How long a reader waits for a chain; the next one finds it further on. */
const longestMs = 500;

/** Recomputes and verifies what a page shows of a workflow; stored flags decide nothing. */
export function createWorkflowProofs(deps: { outputs: OutputStore; stamps: StampStore; stampJudge: StampJudge }) {
  const { stamps, stampJudge } = deps;
  const chains = createChainProver(deps);

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
      // The recorded name of a provider that is not configured is not shown: the certificate in the token says who signed.
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

  /** Numbers of outputs, as recorded in two places; an open chain may have grown since its end was read. */
  function countFault({ workflow: { status, root }, end }: Recorded, found: number): WorkflowFault | undefined {
    const recorded = [...(root ? [root.outputCount] : []), end?.sequenceNumber ?? 0].find(
      (count) => found < count || (status === 'completed' && found > count),
    );
    return recorded === undefined ? undefined : { kind: 'output_count_mismatch', recorded, found };
  }

  function chainFaults(recorded: Recorded, chain: RecomputedChain): WorkflowFault[] {
    const { workflow, end, rows, firstNumber, lastNumber } = recorded;
    if (chain.fault) return [{ kind: chain.fault.fault, sequenceNumber: chain.fault.sequenceNumber }];
    const wrongCount = countFault(recorded, chain.end.sequenceNumber);
    if (wrongCount) return [wrongCount];
    if (workflow.root && workflow.root.hash !== chain.rootHash) return [{ kind: 'root_mismatch' }];
    // An output that was changed in the database after it was linked differs from the link that was recomputed.
    const stored = new Map(rows.map((row) => [row.sequenceNumber, row]));
    const faults: WorkflowFault[] = [];
    for (let sequenceNumber = firstNumber; sequenceNumber <= lastNumber; sequenceNumber += 1) {
      const row = stored.get(sequenceNumber);
      const link = chain.linkAt(sequenceNumber);
      if (!row) faults.push({ kind: 'number_out_of_order', sequenceNumber });
      else if (link?.outputHash !== row.hash || link.chainHash !== row.chainHash)
        faults.push({ kind: 'chain_hash_mismatch', sequenceNumber });
    }
    if (faults.length > 0 || !end) return faults;
    const isEndRecomputed = (chain.linkAt(end.sequenceNumber)?.chainHash ?? workflow.briefingHash) === end.chainHash;
    return isEndRecomputed ? [] : [{ kind: 'chain_hash_mismatch', sequenceNumber: end.sequenceNumber }];
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
    const { workflow } = recorded;
    const [chain, rows, root] = await Promise.all([
      Promise.race([
        chains.recompute({ workflowId: workflow._id, briefingHash: workflow.briefingHash }),
        delay(longestMs, undefined, { ref: false }),
      ]),
      rowsOf(recorded.rows),
      rootOf(workflow),
    ]);
    if (chain === undefined) return { proof: { kind: 'unfinished' }, rows, root, chain };
    const faultsOfChain = chainFaults(recorded, chain);
    // Where the chain itself breaks, the next view finds that at once. Where it did not and a row differs, the row was changed since.
    const isRowChanged = faultsOfChain.some(({ kind }) => kind === 'chain_hash_mismatch' || kind === 'number_out_of_order');
    if (isRowChanged && chain.fault === undefined) chains.forget(workflow._id);
    const [first, ...others] = [...faultsOfChain, ...stampFaults(recorded, rows, root)];
    const isUnverifiable = [...rows, ...(root ? [root.stamp] : [])].some(({ verdict }) => verdict.kind === 'unverifiable');
    const proof: WorkflowProof = first
      ? { kind: 'broken', faults: [first, ...others] }
      : { kind: isUnverifiable ? 'unverifiable' : workflow.status === 'completed' ? 'proved' : 'open' };
    return { proof, rows, root, chain };
  };
}

import type { KeyObject } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { ConsistencyProofShown, InclusionProofShown } from '../../shared/contract/workflow-proof.ts';
import { verifyPath } from '../../shared/domain/addresses.ts';
import { decryptMetadata } from '../../shared/domain/encryption.ts';
import { commitmentsOf, hashOfClosingText, verifyConsistency, verifyInclusion } from '../../shared/domain/proofs.ts';
import { publicNameOf, shownTypeOf } from '../../shared/domain/public-name.ts';
import { reasonOf } from '../../shared/domain/reasons.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import { type ClosingRecord, closingRecordOf, readClosingRecord } from '../../shared/proof/closing-record.js';
import { hexOf, octetsOfSha256 } from '../../shared/proof/octets.js';
import type { ChainState, OutputRecord } from '../../shared/store/outputs.ts';
import type { WorkflowRecord } from '../../shared/store/workflows.ts';
import type { RecomputedChain } from './chain-proof.ts';
import { markStamp, type WorkflowTools } from './workflow-tools.ts';

/** The stored data of a workflow that a page shows. */
interface Recorded {
  readonly workflow: WorkflowRecord;
  /** The state of the chain after its last output; undefined if there is no output. */
  readonly end: ChainState | undefined;
  /** The number of the first output on the page. The page is empty if `lastNumber` is smaller. */
  readonly firstNumber: number;
  readonly lastNumber: number;
  /** The stored outputs in this range. */
  readonly rows: readonly OutputRecord[];
}

/** The result of recomputing and verifying for this answer (V9). It never depends on stored flags. */
type WorkflowProof =
  /**
   * `proved`: the workflow is completed, recomputing gives the same chain, root and closing record, and their stamps and those of this page's outputs
   * verify. `open`: the same for chain and outputs of a workflow that is not completed, which has no stamped root. `not_proved`: no fault was found, but
   * the chain of some stamp's signer does not lead to a trust anchor of this installation, or data for verification is missing. `unfinished`: a long
   * chain is still being recomputed, so nothing is proved yet.
   */
  | { readonly kind: 'proved' | 'open' | 'not_proved' | 'unfinished' }
  | { readonly kind: 'broken'; readonly faults: readonly WorkflowFault[] };

/** A fault in the record of a workflow. The page has a sentence for each. */
export type WorkflowFault =
  /** The chain hash of this output does not follow from its hash, its number and the previous link, or its number is not the next number. */
  | { readonly kind: 'chain_hash_mismatch' | 'number_out_of_order'; readonly sequenceNumber: number }
  /** The number of outputs differs from a recorded number. */
  | { readonly kind: 'output_count_mismatch'; readonly recorded: number; readonly found: number }
  /** The recomputed root of the outputs differs from the recorded root. */
  | { readonly kind: 'root_mismatch' }
  /** A fact on the page differs from the stamped closing record. `member` is a member of the record, or `status`. */
  | { readonly kind: 'closing_record_mismatch'; readonly member: string }
  /** The stamp of the root or of the closing record does not verify, or is missing (`unknown_token_id`). */
  | { readonly kind: 'root_stamp' | 'closing_record_stamp'; readonly reason: string }
  | { readonly kind: 'output_stamp'; readonly sequenceNumber: number; readonly reason: string };

/** How long a reader waits until a chain is recomputed. The work continues, so a later reader waits less. */
const longestMs = 500;

/** Recomputes and verifies the data of a workflow page. `chain` is undefined while it is still being recomputed. */
export async function proveWorkflow(tools: WorkflowTools, recorded: Recorded) {
  const { workflow, end } = recorded;
  const [chain, rows, seals] = await Promise.all([
    recompute(tools, workflow, longestMs),
    rowsOf(tools, recorded.rows, workflow.wordsKey),
    readSeals(tools, workflow),
  ]);
  const proofOf = (proof: WorkflowProof) => ({ proof, rows, ...seals, chain });
  if (!chain) return proofOf({ kind: 'unfinished' });
  const faultsOfChain = chainFaults(recorded, chain);
  // If the chain itself is broken, the next view finds this fault again. If only a row differs, the row was changed after the chain was recomputed,
  // so the kept chain is dropped.
  const isRowChanged = faultsOfChain.some(({ kind }) => kind === 'chain_hash_mismatch' || kind === 'number_out_of_order');
  if (isRowChanged && chain.fault === undefined) tools.chains.forget(workflow._id);
  const faults = [...faultsOfChain, ...closingFaults(workflow, end, chain, seals), ...rowFaults(rows)];
  if (faults.length > 0) return proofOf({ kind: 'broken', faults });
  const marks = [...rows, ...[seals.root, seals.closingRecord].flatMap((seal) => seal?.stamp ?? [])];
  if (marks.some(({ verdict }) => verdict.kind === 'not_proved')) return proofOf({ kind: 'not_proved' });
  return proofOf({ kind: workflow.status === 'completed' ? 'proved' : 'open' });
}

/**
 * Returns the chain of a workflow and its seals, recomputed and verified for this answer (V9).
 *
 * @throws ServiceError `overloaded` while a long chain is being recomputed; `internal_error` if the record does not verify or its stamps cannot be
 *   verified; `store_unavailable`
 */
export async function proveSealedChain(tools: WorkflowTools, workflow: WorkflowRecord) {
  const [chain, seals] = await Promise.all([recompute(tools, workflow, tools.config.STAMP_WAIT_MS), readSeals(tools, workflow)]);
  if (!chain) {
    throw new ServiceError('overloaded', 'The chain of this workflow is still being recomputed. Ask again.', { retryAfterSeconds: 5 });
  }
  const { root } = workflow;
  const isSum = !root || (root.hash === chain.rootHash && root.outputCount === chain.end.sequenceNumber);
  if (chain.fault || !isSum || closingFaults(workflow, undefined, chain, seals).length > 0) throw brokenRecord();
  if ([seals.root, seals.closingRecord].every((seal) => !seal || isProved(seal))) return { chain, seals };
  throw new ServiceError(
    'internal_error',
    'The stamps that closed this workflow cannot be verified with the configuration of this service, so nothing is proved.',
  );
}

/** The error if the record of a workflow does not verify. The page of the workflow shows the fault. */
export const brokenRecord = () => new ServiceError('internal_error', 'The record of this workflow does not verify, so it proves nothing.');

/** Whether a workflow is sealed as recorded: its closing record has its root, count and time, and both stamps verify. The chain is not recomputed. */
export async function isSealed(tools: WorkflowTools, workflow: WorkflowRecord): Promise<boolean> {
  const { root, closingRecord, completedAt } = workflow;
  const seals = await readSeals(tools, workflow);
  const stamped = closingRecord && readClosingRecord(closingRecord.text);
  return (
    isProved(seals.root) &&
    isProved(seals.closingRecord) &&
    stamped?.merkle_root === root?.hash &&
    stamped?.output_count === root?.outputCount &&
    Date.parse(stamped?.completed_at ?? '') === completedAt?.getTime()
  );
}

/**
 * Proves that an output is in the tree of a workflow (RFC 9162 §2.1.3). For a completed workflow the proof leads to the stamped root, for an open
 * workflow to the current root. Chain, root and seals are verified first, and each proof is checked with the public verifier (W21).
 *
 * @throws ServiceError `not_found`, and everything that `proveSealedChain` throws
 */
export async function proveInclusion(tools: WorkflowTools, workflow: WorkflowRecord, number: number): Promise<InclusionProofShown> {
  const { chain, shown } = await proveSeals(tools, workflow);
  const treeSize = chain.end.sequenceNumber;
  const link = chain.linkAt(number);
  if (!link) throw noOutput();
  const proof = chain.tree.proveInclusion(number - 1, treeSize);
  const head = { treeSize, rootHash: octetsOfSha256(chain.rootHash) };
  if (!verifyInclusion(octetsOfSha256(link.outputHash), proof, head).ok) throw brokenRecord();
  return {
    workflow_id: workflow._id,
    sequence_number: number,
    output_hash: link.outputHash,
    leaf_index: proof.leafIndex,
    tree_size: treeSize,
    root_hash: chain.rootHash,
    inclusion_path: proof.inclusionPath.map(hexOf),
    ...shown,
  };
}

/** Proves the first output with this hash. @throws the same errors as `proveInclusion` */
export async function proveInclusionOf(tools: WorkflowTools, workflow: WorkflowRecord, outputHash: string): Promise<InclusionProofShown> {
  const [number] = await tools.store.outputs.findNumbers(workflow._id, outputHash, 1);
  if (number === undefined) throw noOutput();
  const proof = await proveInclusion(tools, workflow, number);
  if (proof.output_hash !== outputHash) throw brokenRecord();
  return proof;
}

/**
 * Proves that a smaller tree is the beginning of a larger one (RFC 9162 §2.1.4). `second` 0 means the current number of outputs.
 *
 * @throws the same errors as `proveInclusion`
 */
export async function proveConsistency(
  tools: WorkflowTools,
  workflow: WorkflowRecord,
  sizes: { first: number; second: number },
): Promise<ConsistencyProofShown> {
  const { chain, shown } = await proveSeals(tools, workflow);
  const whole = chain.end.sequenceNumber;
  const { first } = sizes;
  const second = sizes.second || whole;
  if (second > whole || first > second) {
    throw new ServiceError('not_found', 'This workflow has fewer outputs, or the sizes are in the wrong order.');
  }
  const headAt = (treeSize: number) => ({ treeSize, rootHash: chain.tree.rootAt(treeSize) });
  const [from, to] = [headAt(first), headAt(second)];
  const proof = chain.tree.proveConsistency(first, second);
  if (!verifyConsistency(proof, from, to).ok) throw brokenRecord();
  return {
    workflow_id: workflow._id,
    first_size: first,
    first_root_hash: hexOf(from.rootHash),
    second_size: second,
    second_root_hash: hexOf(to.rootHash),
    consistency_path: proof.consistencyPath.map(hexOf),
    // The seals cover only the whole tree.
    ...(second === whole ? shown : { root_stamp: null, closing_record: null }),
  };
}

/** The recomputed chain, and the seals as shown in answers. @throws everything that `proveSealedChain` throws */
async function proveSeals(tools: WorkflowTools, workflow: WorkflowRecord) {
  const { chain, seals } = await proveSealedChain(tools, workflow);
  const record = seals.closingRecord && workflow.closingRecord && readClosingRecord(workflow.closingRecord.text);
  return {
    chain,
    shown: {
      root_stamp: seals.root && stampShown(tools, seals.root),
      closing_record: seals.closingRecord && record ? { record, stamp: stampShown(tools, seals.closingRecord) } : null,
    },
  };
}

function stampShown({ addressOf }: WorkflowTools, { stored, stamp }: Seal) {
  if (!stored) throw brokenRecord();
  const { tokenId, stampedAt } = stamp;
  return { stamp_id: tokenId, issued_at: stampedAt, token: stored.proofs[0].token, verify_url: addressOf(verifyPath(tokenId)) };
}

const noOutput = () => new ServiceError('not_found', 'This workflow has no such output.');

const isProved = (seal: Seal | null): boolean => seal?.stamp.verdict.kind === 'proved';

/** Returns undefined if that takes longer than `ms` milliseconds. */
const recompute = ({ chains }: WorkflowTools, { _id: workflowId, briefingHash }: WorkflowRecord, ms: number) =>
  Promise.race([chains.recompute({ workflowId, briefingHash }), delay(ms, undefined, { ref: false })]);

/** A hash that was stamped when the workflow was completed, with its stamp, verified for this answer, and the stamp as stored. */
export type Seal = Awaited<ReturnType<typeof sealOf>>;

/** The seals of a completed workflow. A seal is null if the workflow is not completed, or its document lacks what was sealed. */
interface Seals {
  readonly root: Seal | null;
  readonly closingRecord: Seal | null;
}

async function readSeals(tools: WorkflowTools, { status, root, closing, closingRecord }: WorkflowRecord): Promise<Seals> {
  if (status !== 'completed' || !closing) return { root: null, closingRecord: null };
  const [rootSeal, recordSeal] = await Promise.all([
    root ? sealOf(tools, closing.rootTokenId, root.hash, closing.at) : null,
    closingRecord ? sealOf(tools, closingRecord.tokenId, hashOfClosingText(closingRecord.text), closing.at) : null,
  ]);
  return { root: rootSeal, closingRecord: recordSeal };
}

async function sealOf({ store, stampJudge }: WorkflowTools, tokenId: string, hash: string, recordedAt: Date) {
  const stored = await store.stamps.find(tokenId);
  const { issuedAt: stampedAt, provider } = stored?.proofs[0] ?? { issuedAt: recordedAt.toISOString(), provider: '' };
  return { hash, stamp: await markStamp(stampJudge, { tokenId, hash, stampedAt, provider }, stored), stored };
}

/** An output on a page. `name` is public (W24) and not proved; null if there is none. */
export type OutputRow = Awaited<ReturnType<typeof rowsOf>>[number];

async function rowsOf({ store: { stamps }, markOutput }: WorkflowTools, records: readonly OutputRecord[], key: KeyObject | undefined) {
  const found = new Map((await stamps.findMany(records.map(({ tokenId }) => tokenId))).map((stamp) => [stamp.tokenId, stamp]));
  return Promise.all(
    records.map(async (record) => {
      const { sequenceNumber, type, hash, tokenId, metadata } = record;
      const name = publicNameOf(key && metadata && decryptMetadata(key, tokenId, metadata), 'name');
      return { ...(await markOutput(record, found.get(tokenId) ?? null)), sequenceNumber, type: shownTypeOf(type), hash, name };
    }),
  );
}

const rowFaults = (rows: readonly OutputRow[]): WorkflowFault[] =>
  rows.flatMap(({ verdict, sequenceNumber }) =>
    verdict.kind === 'refused' ? [{ kind: 'output_stamp', sequenceNumber, reason: verdict.reason }] : [],
  );

function chainFaults(recorded: Recorded, chain: RecomputedChain): WorkflowFault[] {
  const { workflow, end, rows, firstNumber, lastNumber } = recorded;
  if (chain.fault) return [{ kind: chain.fault.fault, sequenceNumber: chain.fault.sequenceNumber }];
  const wrongCount = countFault(recorded, chain.end.sequenceNumber);
  if (wrongCount) return [wrongCount];
  if (workflow.root && workflow.root.hash !== chain.rootHash) return [{ kind: 'root_mismatch' }];
  // If an output was changed in the database after its link was recomputed, it differs from this link.
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

/**
 * Compares the number of outputs found with the recorded numbers. An open chain may have grown since its end was read, so only there more outputs
 * are not a fault.
 */
function countFault({ workflow: { status, root }, end }: Recorded, found: number): WorkflowFault | undefined {
  const recorded = [...(root ? [root.outputCount] : []), end?.sequenceNumber ?? 0].find(
    (count) => found < count || (status === 'completed' && found > count),
  );
  return recorded === undefined ? undefined : { kind: 'output_count_mismatch', recorded, found };
}

/** The faults in the completion of a workflow: in its status, the stamp of its root, and its closing record (W18). */
function closingFaults(workflow: WorkflowRecord, end: ChainState | undefined, chain: RecomputedChain, seals: Seals): WorkflowFault[] {
  const faults: WorkflowFault[] = [];
  if (isReopened(workflow, end)) faults.push({ kind: 'closing_record_mismatch', member: 'status' });
  const { root } = seals;
  if (workflow.status === 'completed' && !root) faults.push({ kind: 'root_stamp', reason: reasonOf('unknown_token_id') });
  if (root?.stamp.verdict.kind === 'refused') faults.push({ kind: 'root_stamp', reason: root.stamp.verdict.reason });
  return [...faults, ...recordFaults(workflow, chain, seals)];
}

/** Whether a workflow is recorded as not completed although it has data that only completion writes. */
const isReopened = ({ status, closing, completedAt, closingRecord }: WorkflowRecord, end: ChainState | undefined): boolean =>
  (status !== 'completed' && completedAt !== undefined) ||
  ((status === 'pending' || status === 'active') && (closing !== undefined || closingRecord !== undefined || end?.isClosed === true));

function recordFaults(workflow: WorkflowRecord, chain: RecomputedChain, { root, closingRecord: seal }: Seals): WorkflowFault[] {
  if (workflow.status !== 'completed') return [];
  const stampFault = (reason: string): WorkflowFault[] => [{ kind: 'closing_record_stamp', reason }];
  if (seal?.stamp.verdict.kind === 'refused') return stampFault(seal.stamp.verdict.reason);
  const stamped = seal && workflow.closingRecord && readClosingRecord(workflow.closingRecord.text);
  if (!stamped) return stampFault(reasonOf('record_mismatch'));
  const now = recordNow(workflow, chain, stamped);
  const members = Object.keys(stamped) as (keyof ClosingRecord)[];
  const changed = new Set<string>(members.filter((member) => now[member] !== stamped[member]));
  // If the root's stamp is proved, the page shows its time as the time of completion.
  if (root && isProved(root) && Date.parse(root.stamp.stampedAt) !== Date.parse(stamped.completed_at)) changed.add('completed_at');
  return [...changed].map((member) => ({ kind: 'closing_record_mismatch', member }));
}

/**
 * The closing record that follows from the stored and recomputed data. If the chain is broken, its values are taken from the stamped record, because
 * that fault is reported elsewhere.
 */
function recordNow(workflow: WorkflowRecord, chain: RecomputedChain, stamped: ClosingRecord): ClosingRecord {
  const { redactedAt, salts, email, agentId } = workflow;
  const { email_commitment, agent_commitment } = stamped;
  const isKept = redactedAt !== undefined && email_commitment !== null && agent_commitment !== null;
  const sum = chain.fault
    ? { outputCount: stamped.output_count, chainHash: stamped.chain_hash, merkleRoot: stamped.merkle_root }
    : { outputCount: chain.end.sequenceNumber, chainHash: chain.end.chainHash, merkleRoot: chain.rootHash };
  return closingRecordOf({
    workflowId: workflow._id,
    tier: workflow.tier,
    briefingHash: workflow.briefingHash,
    createdAt: workflow.createdAt,
    confirmedAt: workflow.emailVerifiedAt,
    completedAt: workflow.completedAt ?? new Date(0),
    ...sum,
    // After redaction the salts are gone and nobody can recompute the commitments, so the stamped ones are used. The page then shows neither e-mail
    // address nor agent.
    commitments: isKept ? { email: email_commitment, agent: agent_commitment } : salts && commitmentsOf(salts, { email, agentId }),
  });
}

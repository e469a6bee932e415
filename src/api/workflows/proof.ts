import type { KeyObject } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { decryptMetadata } from '../../shared/domain/encryption.ts';
import { publicNameOf, shownTypeOf } from '../../shared/domain/public-name.ts';
import type { ChainState, OutputRecord } from '../../shared/store/outputs.ts';
import type { WorkflowRecord } from '../../shared/store/workflows.ts';
import type { RecomputedChain } from './chain-proof.ts';
import { closingFaults, readSeals, type Seals } from './closing-proof.ts';
import type { WorkflowTools } from './workflow-tools.ts';
import type { OutputRow, WorkflowFault, WorkflowProof } from './workflow-view.ts';

/** The stored data of a workflow that a page shows. */
export interface Recorded {
  readonly workflow: WorkflowRecord;
  /** The state of the chain after its last output; undefined if there is no output. */
  readonly end: ChainState | undefined;
  /** The number of the first output on the page. The page is empty if `lastNumber` is smaller. */
  readonly firstNumber: number;
  readonly lastNumber: number;
  /** The stored outputs in this range. */
  readonly rows: readonly OutputRecord[];
}

/** The data of a page after verification for this answer (V9). */
interface Proved extends Seals {
  readonly proof: WorkflowProof;
  readonly rows: readonly OutputRow[];
  /** Undefined while the chain is still being recomputed. */
  readonly chain: RecomputedChain | undefined;
}

/** How long a reader waits until a chain is recomputed. The work continues, so a later reader waits less. */
const longestMs = 500;

/** Recomputes and verifies the data of a workflow page. The result never depends on stored flags. */
export async function proveWorkflow(tools: WorkflowTools, recorded: Recorded): Promise<Proved> {
  const { chains } = tools;
  const { workflow, end } = recorded;
  const [chain, rows, seals] = await Promise.all([
    Promise.race([
      chains.recompute({ workflowId: workflow._id, briefingHash: workflow.briefingHash }),
      delay(longestMs, undefined, { ref: false }),
    ]),
    rowsOf(tools, recorded.rows, workflow.wordsKey),
    readSeals(tools, workflow),
  ]);
  if (chain === undefined) return { proof: { kind: 'unfinished' }, rows, ...seals, chain };
  const faultsOfChain = chainFaults(recorded, chain);
  // If the chain itself is broken, the next view finds this fault again. If only a row differs, the row was changed after the chain was recomputed,
  // so the kept chain is dropped.
  const isRowChanged = faultsOfChain.some(({ kind }) => kind === 'chain_hash_mismatch' || kind === 'number_out_of_order');
  if (isRowChanged && chain.fault === undefined) chains.forget(workflow._id);
  const [first, ...others] = [...faultsOfChain, ...closingFaults(workflow, end, chain, seals), ...rowFaults(rows)];
  const { root, closingRecord } = seals;
  const marks = [...rows, ...[root, closingRecord].flatMap((seal) => seal?.stamp ?? [])];
  const isUnproved = marks.some(({ verdict }) => verdict.kind === 'not_proved');
  const proof: WorkflowProof = first
    ? { kind: 'broken', faults: [first, ...others] }
    : { kind: isUnproved ? 'not_proved' : workflow.status === 'completed' ? 'proved' : 'open' };
  return { proof, rows, ...seals, chain };
}

async function rowsOf(
  { store: { stamps }, markOutput }: WorkflowTools,
  records: readonly OutputRecord[],
  key: KeyObject | undefined,
): Promise<OutputRow[]> {
  const found = new Map((await stamps.findMany(records.map(({ tokenId }) => tokenId))).map((stamp) => [stamp.tokenId, stamp]));
  return Promise.all(
    records.map(async (record) => {
      const { sequenceNumber, type, hash, tokenId, metadata } = record;
      const name = publicNameOf(key && metadata && decryptMetadata(key, tokenId, metadata), 'name');
      return { ...(await markOutput(record, found.get(tokenId) ?? null)), sequenceNumber, type: shownTypeOf(type), hash, name };
    }),
  );
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

const rowFaults = (rows: readonly OutputRow[]): WorkflowFault[] =>
  rows.flatMap(({ verdict, sequenceNumber }) =>
    verdict.kind === 'refused' ? [{ kind: 'output_stamp', sequenceNumber, reason: verdict.reason }] : [],
  );

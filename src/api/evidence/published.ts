import { mostOutputsListed, type WorkflowOutputs } from '../../shared/contract/workflow-proof.ts';
import { closingRecordPath, outputsPath } from '../../shared/domain/addresses.ts';
import { hashOfClosingText } from '../../shared/domain/proofs.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import { readStatus } from '../../shared/domain/workflow-state.ts';
import type { Store } from '../../shared/store/store.ts';
import { snapshotOf, type WorkflowRecord } from '../../shared/store/workflows.ts';
import type { WorkflowTools } from '../workflows/index.ts';

interface OutputsQuery {
  readonly first: number;
  readonly limit: number;
}

/** A page of the chain of outputs, as it is stored: anyone can recompute it. @throws ServiceError `store_unavailable` */
export async function readPublishedOutputs(
  { store: { outputs }, clock, addressOf }: WorkflowTools,
  workflow: WorkflowRecord,
  { first, limit }: OutputsQuery,
): Promise<WorkflowOutputs> {
  const { _id: workflowId, status, root, closing } = workflow;
  const end = await outputs.findEnd(workflowId);
  const total = end?.sequenceNumber ?? 0;
  const listed = await outputs.list(workflowId, first, limit);
  const record = closingRecordOf(workflow);
  const next = `${outputsPath(workflowId)}?first=${first + limit}${limit === mostOutputsListed ? '' : `&limit=${limit}`}`;
  return {
    workflow_id: workflowId,
    status: readStatus(snapshotOf(workflow), clock()),
    briefing_hash: workflow.briefingHash,
    output_count: total,
    chain_hash: end?.chainHash ?? workflow.briefingHash,
    merkle_root: status === 'completed' ? (root?.hash ?? null) : null,
    root_stamp_id: status === 'completed' ? (closing?.rootTokenId ?? null) : null,
    closing_record: record
      ? { hash: hashOfClosingText(record.text), stamp_id: record.tokenId, url: addressOf(closingRecordPath(workflowId)) }
      : null,
    // The total was read before the list. Outputs that were added between are left out of this answer.
    outputs: listed
      .filter(({ sequenceNumber }) => sequenceNumber <= total)
      .map(({ sequenceNumber, hash, chainHash, type, tokenId }) => ({
        sequence_number: sequenceNumber,
        output_hash: hash,
        chain_hash: chainHash,
        output_type: type,
        stamp_id: tokenId,
      })),
    next: first + limit <= total ? addressOf(next) : null,
  };
}

/** The closing record, byte for byte as stamped. @throws ServiceError `not_found` */
export function publishedRecordOf(workflow: WorkflowRecord): string {
  const record = closingRecordOf(workflow);
  if (!record) throw new ServiceError('not_found', 'This workflow has no closing record.');
  return record.text;
}

const closingRecordOf = ({ status, closingRecord }: WorkflowRecord) => (status === 'completed' ? closingRecord : undefined);

/** Finds a trusted list by its SHA-256: the file as it was signed, and a name for it. @throws ServiceError `not_found`, `store_unavailable` */
export async function findListFile({ trustedLists }: Store, sha256: string): Promise<{ readonly name: string; readonly xml: Buffer }> {
  const found = await trustedLists.findXml(sha256);
  if (!found) throw new ServiceError('not_found', 'This service has no trusted list with this SHA-256.');
  const { territory, sequenceNumber } = found.said;
  return { name: `${territory}-${sequenceNumber}.xml`, xml: found.xml };
}

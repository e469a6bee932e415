import { z } from 'zod';
import { workflowTiers } from '../domain/stamp.ts';
import { workflowStatuses } from '../domain/workflow-state.ts';
import type { ClosingRecord } from '../proof/closing-record.js';
import { dateTime, sha256Hex, text, uuid } from './fields.ts';
import { queryInteger } from './parameters.ts';
import { workflowIdPath } from './workflow.ts';

const commitment = (value: string) => sha256Hex.nullable().describe(`SHA-256(salt ‖ ${value}); null if it was erased before completion`);

/** Describes the closing record of a workflow (W18) in the OpenAPI document. `shared/proof` parses the text of a record that was stamped. */
export const closingRecord = z
  .strictObject({
    format: z.literal('qstamp-closing-record/1'),
    workflow_id: uuid,
    tier: z.enum(workflowTiers),
    briefing_hash: sha256Hex,
    created_at: dateTime,
    confirmed_at: dateTime.nullable().describe('when the e-mail address was confirmed'),
    completed_at: dateTime.describe('when the root was stamped'),
    output_count: z.int().min(0),
    chain_hash: sha256Hex.describe('of the last output; the briefing hash if there is no output'),
    merkle_root: sha256Hex,
    email_commitment: commitment('e-mail address'),
    agent_commitment: commitment('agent id'),
  })
  .meta({ id: 'ClosingRecord' }) satisfies z.ZodType<ClosingRecord>;

/** A stamp with its token, so that the proof can be checked without another request. */
const sealStamp = z
  .object({
    stamp_id: uuid,
    issued_at: dateTime,
    token: z.string().describe('base64, as in the answer of a stamp'),
    verify_url: z.string(),
  })
  .meta({ id: 'SealStamp' });

/** The two stamps that confirm the tree of a completed workflow: of its root, and of its closing record, which contains root and size of the tree. */
const seals = {
  root_stamp: sealStamp.nullable().describe('of the root; null while the workflow is open: then only this answer confirms the root'),
  closing_record: z
    .object({ record: closingRecord, stamp: sealStamp })
    .nullable()
    .describe('contains root and size of the tree; null while the workflow is open, and if it was completed without a closing record'),
};

const path = z.array(sha256Hex).describe('lowest first');

/** Proves that an output is in the tree of a workflow, at its position (RFC 9162 §2.1.3). */
export const inclusionProof = z
  .object({
    workflow_id: uuid,
    sequence_number: z.int().min(1),
    output_hash: sha256Hex,
    leaf_index: z.int().min(0).describe('the sequence number minus 1'),
    tree_size: z.int().min(1),
    root_hash: sha256Hex,
    inclusion_path: path,
    ...seals,
  })
  .meta({ id: 'InclusionProof' });
export type InclusionProofShown = z.output<typeof inclusionProof>;

/** Proves that an earlier tree of a workflow is the beginning of a later one, so no output was changed or removed (RFC 9162 §2.1.4). */
export const consistencyProof = z
  .object({
    workflow_id: uuid,
    first_size: z.int().min(1),
    first_root_hash: sha256Hex,
    second_size: z.int().min(1),
    second_root_hash: sha256Hex,
    consistency_path: path,
    ...seals,
  })
  .meta({ id: 'ConsistencyProof' });
export type ConsistencyProofShown = z.output<typeof consistencyProof>;

const size = () => queryInteger({ low: 1, high: Number.MAX_SAFE_INTEGER, fallback: 1 });

export const inclusionPathParameters = workflowIdPath.extend({ number: size().describe('the sequence number of the output') });

export const inclusionQuery = z.object({
  output_hash: text({ min: 64, max: 64, pattern: '^[0-9a-f]{64}$', lowersHex: true }).meta({
    description: 'SHA-256 of the output, 64 hexadecimal characters; if several outputs have it, the proof is for the first',
  }),
});

export const consistencyQuery = z.object({
  first: size().describe('number of outputs when the root was shown'),
  second: queryInteger({ low: 0, high: Number.MAX_SAFE_INTEGER, fallback: 0 }).describe('number of outputs later; 0: the current number'),
});

export const mostOutputsListed = 1_000;

export const workflowOutputsQuery = z.object({
  first: queryInteger({ low: 1, high: Number.MAX_SAFE_INTEGER, fallback: 1 }).describe('the first number to list'),
  limit: queryInteger({ low: 1, high: mostOutputsListed, fallback: mostOutputsListed }),
});

/** One page of a workflow's published chain, as recorded. All pages together are enough to recompute the chain from the briefing hash (W8). */
export const workflowOutputs = z
  .object({
    workflow_id: uuid,
    status: z.enum(workflowStatuses),
    briefing_hash: sha256Hex,
    output_count: z.int().min(0).describe('of all pages'),
    chain_hash: sha256Hex.describe('of the last output; the briefing hash before the first output'),
    merkle_root: sha256Hex.nullable(),
    root_stamp_id: uuid.nullable(),
    closing_record: z
      .object({ hash: sha256Hex, stamp_id: uuid, url: z.string() })
      .nullable()
      .describe('null until completed, and if the workflow was completed without one'),
    outputs: z.array(
      z.object({
        sequence_number: z.int().min(1),
        output_hash: sha256Hex,
        chain_hash: sha256Hex,
        output_type: z.string(),
        stamp_id: uuid,
      }),
    ),
    next: z.string().nullable().describe('the next page; null on the last'),
  })
  .meta({ id: 'WorkflowOutputs' });
export type WorkflowOutputs = z.output<typeof workflowOutputs>;

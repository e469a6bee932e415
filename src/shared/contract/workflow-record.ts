import { z } from 'zod';
import { workflowStatuses } from '../domain/workflow-state.ts';
import { sha256Hex, uuid } from './fields.ts';
import { queryInteger } from './parameters.ts';

/** The maximum number of outputs in one answer. */
export const mostOutputsListed = 1_000;

/** The query parameters of a workflow's published chain. */
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

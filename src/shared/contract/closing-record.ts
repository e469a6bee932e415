import { z } from 'zod';
import { workflowTiers } from '../domain/tiers.ts';
import type { ClosingRecord } from '../proof/closing-record.js';
import { dateTime, sha256Hex, uuid } from './fields.ts';

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

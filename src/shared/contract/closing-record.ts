import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { z } from 'zod';
import { workflowTiers } from '../domain/tiers.ts';
import { dateTime, sha256Hex, uuid } from './fields.ts';

const commitment = (value: string) => sha256Hex.nullable().describe(`SHA-256(salt ‖ ${value}); null where it was erased before the end`);

/** What a workflow was closed with, beside its root (W18). A reader that does not know the format must not guess. */
export const closingRecord = z
  .strictObject({
    format: z.literal('qstamp-closing-record/1'),
    workflow_id: uuid,
    tier: z.enum(workflowTiers),
    briefing_hash: sha256Hex,
    created_at: dateTime,
    confirmed_at: dateTime.nullable().describe('when the link of the mail was opened'),
    completed_at: dateTime.describe('the time of the stamp of the root'),
    output_count: z.int().min(0),
    chain_hash: sha256Hex.describe('of the last output; without one the briefing hash'),
    merkle_root: sha256Hex,
    email_commitment: commitment('e-mail address'),
    agent_commitment: commitment('agent id'),
  })
  .meta({ id: 'ClosingRecord' });
export type ClosingRecord = z.output<typeof closingRecord>;

/** What a closing record is made of. */
export interface ClosingFacts {
  readonly workflowId: string;
  readonly tier: ClosingRecord['tier'];
  readonly briefingHash: string;
  readonly createdAt: Date;
  readonly confirmedAt: Date | undefined;
  readonly completedAt: Date;
  readonly outputCount: number;
  readonly chainHash: string;
  readonly merkleRoot: string;
  readonly commitments: { readonly email: string; readonly agent: string } | undefined;
}

export const closingRecordOf = (facts: ClosingFacts): ClosingRecord => ({
  format: 'qstamp-closing-record/1',
  workflow_id: facts.workflowId,
  tier: facts.tier,
  briefing_hash: facts.briefingHash,
  created_at: facts.createdAt.toISOString(),
  confirmed_at: facts.confirmedAt?.toISOString() ?? null,
  completed_at: facts.completedAt.toISOString(),
  output_count: facts.outputCount,
  chain_hash: facts.chainHash,
  merkle_root: facts.merkleRoot,
  email_commitment: facts.commitments?.email ?? null,
  agent_commitment: facts.commitments?.agent ?? null,
});

/** The text that is hashed and stamped: canonical JSON (RFC 8785), without a line end. */
export const canonicalTextOf = (record: ClosingRecord): string => canonicalize(record)!;

/** What is stamped of a canonical text: SHA-256 of its UTF-8, lower-case hex. */
export const hashOfClosingText = (text: string): string => hash('sha256', text, 'hex');

/** The record that a text is; undefined where it is none, or not in canonical form. */
export function readClosingRecord(text: string): ClosingRecord | undefined {
  try {
    const { data } = closingRecord.safeParse(JSON.parse(text));
    return data && canonicalTextOf(data) === text ? data : undefined;
  } catch {
    return undefined;
  }
}

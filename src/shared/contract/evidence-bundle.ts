import { z } from 'zod';
import type { Qualification } from '../domain/qualification.ts';
import { qualifiedSentence } from '../domain/qualification.ts';
import { dateTime, sha256Hex, uuid } from './fields.ts';
import { qualifiedVerdict, qualifiedVerdictOf } from './verify.ts';

/**
 * This module defines the evidence of a completed workflow for third parties (W22): the lines in the files of a bundle, and the same data as one
 * JSON document. `shared/proof/bundle-files.js` names the files.
 */

/** What a bundle contains for a stamp. `token`: a TimeStampToken; `record`: an EvidenceRecord (RFC 4998); `none`: neither of them. */
const stampKinds = ['token', 'record', 'none'] as const;
export type StampKind = (typeof stampKinds)[number];

const kind = z
  .enum(stampKinds)
  .describe('`token`: an RFC 3161 token; `record`: an evidence record (RFC 4998); `none`: this bundle contains neither');
const token = z.string().nullable().describe('base64 of the DER; null if the kind is `none`');
const qualified = qualifiedVerdict.extend({ sentence: z.string().describe('whether it is qualified, and who says so') });
const seal = z
  .object({
    stamp_id: uuid,
    issued_at: dateTime,
    kind,
    token,
    qualified: qualified.nullable().describe('as the service judges now; no signature covers it'),
  })
  .meta({ id: 'EvidenceSeal' });
const hex = z.string().regex(/^[0-9a-f]*$/);

export const evidenceQuery = z.object({
  lists: z
    .enum(['0', '1'])
    .default('0')
    .transform((lists) => lists === '1')
    .meta({ type: 'string', enum: ['0', '1'], default: '0' })
    .describe(
      '`1`: with the trusted lists that say that the time-stamps of Merkle root and closing record are qualified. The zip file has the lists, as `trusted-lists/SE-61.xml`; the JSON document names them',
    ),
});

export const qualifiedShown = (qualification: Qualification): z.output<typeof qualified> => ({
  ...qualifiedVerdictOf(qualification),
  sentence: qualifiedSentence(qualification),
});

/** The evidence in a bundle as one JSON document, for programs. */
export const evidenceDocument = z
  .object({
    format: z.literal('qstamp-evidence/1'),
    workflow_id: uuid,
    closing_record: z.object({
      text: z.string().describe('canonical JSON (RFC 8785), as it was stamped'),
      hash: sha256Hex,
      stamp: seal,
    }),
    root: z.object({
      hash: sha256Hex,
      preimage: hex.describe('0x01 ‖ left ‖ right, whose SHA-256 is the root; 0x00 ‖ hash for one output; empty for none'),
      stamp: seal,
    }),
    outputs: z.array(
      z.object({
        sequence_number: z.int().min(1),
        output_hash: sha256Hex,
        chain_hash: sha256Hex,
        output_type: z.string(),
        inclusion_path: z.array(sha256Hex).describe('RFC 9162 §2.1.3, lowest first'),
        stamp_id: uuid,
        kind,
        token,
      }),
    ),
    certificates: z.array(z.object({ role: z.enum(['trust_anchor', 'other']), subject: z.string(), sha256: sha256Hex, pem: z.string() })),
    revocation_lists: z.array(z.string()).describe('PEM'),
    trusted_lists: z
      .array(
        z.object({
          territory: z.string(),
          list_number: z.int(),
          sha256: sha256Hex,
          address: z.string().describe('where this service has the list'),
        }),
      )
      .optional()
      .describe('only with `lists=1`'),
  })
  .meta({ id: 'EvidenceDocument' });
export type EvidenceDocument = z.output<typeof evidenceDocument>;

import { z } from 'zod';
import { dateTime, sha256Hex, uuid } from './fields.ts';

/** What a completed workflow leaves to strangers (W22): the files of the bundle and their order, and the same as one JSON document. */

/** Outputs in one file of proofs, and in one of stamps. */
export const blockSize = 1_000;

/** The first number of the block that an output is in. */
export const blockOf = (number: number): number => Math.floor((number - 1) / blockSize) * blockSize + 1;

/** The first number of each block. */
export const blocksOf = (outputCount: number): readonly number[] =>
  Array.from({ length: Math.ceil(outputCount / blockSize) }, (_, index) => index * blockSize + 1);

/** The one text that `openssl.cnf` has: settings of OpenSSL may name a library to load, and `verify.sh` knows the SHA-256 of this. */
export const opensslSettingsText = '# Nothing is set: verify.sh takes this in place of the settings of the machine.\n';

export const bundleFiles = {
  readme: 'README.txt',
  script: 'verify.sh',
  /** What the script has OpenSSL take for its settings: where nothing is but the programs, there are none, and it wants some. */
  opensslSettings: 'openssl.cnf',
  closingRecord: 'closing-record.json',
  /** 0x01 ‖ left ‖ right: the file whose SHA-256 is the root. Of one output 0x00 ‖ hash, of none nothing. */
  rootPreimage: 'root.bin',
  /** A line for each output: number, output hash, chain hash, type, stamp id. */
  outputs: 'outputs.txt',
  /** A line for each output of the block: number, hashes of the inclusion path, lowest first (RFC 9162 §2.1.3). */
  proofs: (block: number) => `proofs/${block}.txt`,
  /** A line for each output of the block: number, kind, base64 of the output's own time-stamp. */
  stamps: (block: number) => `stamps/${block}.txt`,
  trustAnchors: 'certificates/anchors.pem',
  otherCertificates: 'certificates/others.pem',
  revocationLists: 'certificates/revocation-lists.pem',
  /** SHA-256 and name of each file before it, in their order. */
  sums: 'SHA256SUMS',
} as const;

/** What is stamped of the workflow as a whole. */
export const sealNames = ['closing-record', 'root'] as const;
export type SealName = (typeof sealNames)[number];

/** The token; where it came in an evidence record, both; where the service has neither, none. */
export const sealFiles = (name: SealName) => ({ token: `${name}.tst`, record: `${name}.ers` });

/** `token`: a TimeStampToken; `record`: an EvidenceRecord (RFC 4998); `none`: there is none in the bundle. */
export const stampKinds = ['token', 'record', 'none'] as const;
export type StampKind = (typeof stampKinds)[number];

export interface OutputLine {
  readonly number: number;
  readonly outputHash: string;
  readonly chainHash: string;
  readonly type: string;
  readonly stampId: string;
}

export const outputLineOf = ({ number, outputHash, chainHash, type, stampId }: OutputLine): string =>
  `${number} ${outputHash} ${chainHash} ${type} ${stampId}\n`;

export const proofLineOf = (number: number, path: readonly string[]): string => `${[number, ...path].join(' ')}\n`;

export const stampLineOf = (number: number, kind: StampKind, token: string): string =>
  kind === 'none' ? `${number} none\n` : `${number} ${kind} ${token}\n`;

const kind = z
  .enum(stampKinds)
  .describe('`token`: an RFC 3161 token; `record`: an evidence record (RFC 4998); `none`: there is none in this bundle');
const token = z.string().nullable().describe('base64 of the DER; null where the kind is `none`');
const seal = z.object({ stamp_id: uuid, issued_at: dateTime, kind, token }).meta({ id: 'EvidenceSeal' });
const hex = z.string().regex(/^[0-9a-f]*$/);

/** The bundle as one JSON document, for programs. */
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
      preimage: hex.describe('0x01 ‖ left ‖ right, whose SHA-256 is the root; of one output 0x00 ‖ hash, of none nothing'),
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
  })
  .meta({ id: 'EvidenceDocument' });
export type EvidenceDocument = z.output<typeof evidenceDocument>;

import { encodeRecord, renewRecord } from '../rfc3161/index.ts';
import type { Batch, Proof, Renewal, Stamp } from './stamp.ts';

/** The renewals of a proof; those of a leaf are its batch's. */
export const renewalsOf = (proof: Proof): readonly Renewal[] => {
  if (proof.kind === 'mock') return [];
  return (proof.kind === 'leaf' ? proof.batch.renewals : proof.renewals) ?? [];
};

/**
 * The EvidenceRecord of a stamp with all its renewals (RFC 4998), DER. Undefined: there is none, as of the mock provider, or something of it
 * is damaged.
 */
export function evidenceRecordOf({ imprint, proofs: [proof] }: Pick<Stamp, 'imprint' | 'proofs'>): Buffer | undefined {
  if (proof.kind === 'mock' || proof.token === '') return undefined;
  const token = Buffer.from(proof.token, 'base64');
  return renewed(proof.kind === 'leaf' ? token : encodeRecord(imprint.algorithm, { token }), renewalsOf(proof));
}

/** The EvidenceRecord of a batch's root: what the next renewal of its leaves is over. Undefined: something of it is damaged. */
export function batchRecordOf({ root, tst, renewals = [] }: Batch): Buffer | undefined {
  return renewed(encodeRecord(root.algorithm, { token: tst }), renewals);
}

function renewed(record: Buffer, renewals: readonly Renewal[]): Buffer | undefined {
  if (renewals.length === 0) return record;
  const readable = renewals.flatMap(({ path, tst }) => (tst === undefined ? [] : [{ path, token: tst }]));
  return readable.length < renewals.length ? undefined : renewRecord(record, readable);
}

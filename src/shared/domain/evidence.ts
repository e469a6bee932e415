import { encodeEvidenceRecord, renewEvidenceRecord } from '../rfc3161/index.ts';
import type { Batch, Imprint, ImprintAlgorithm, Proof, Renewal, Stamp } from './stamp.ts';

/** The algorithm of a hash-tree renewal: the strongest one that the verifier accepts (S17). */
export const renewalAlgorithm: ImprintAlgorithm = 'sha512';

/** The renewals of a proof in order of time. A leaf shares the renewals of its batch until its first own renewal; all later ones are its own. */
export const renewalsOf = (proof: Proof): readonly Renewal[] => {
  if (proof.kind === 'mock') return [];
  const { renewals = [] } = proof.kind === 'leaf' ? proof.batch : proof;
  if (proof.kind === 'token' || proof.own === undefined) return renewals;
  return [...renewals.slice(0, proof.own.batchRenewals), ...ownRenewalsOf(proof)];
};

/** The renewals that belong to this stamp alone. */
export const ownRenewalsOf = (proof: Proof): readonly Renewal[] => {
  if (proof.kind === 'mock') return [];
  return (proof.kind === 'leaf' ? proof.own?.renewals : proof.renewals) ?? [];
};

/** The document's digests in other algorithms that the renewals of a proof cover. They are needed to verify its evidence record. */
export const newImprintsOf = (proof: Proof): readonly Imprint[] => renewalsOf(proof).flatMap(({ newImprint }) => newImprint ?? []);

/** The hash algorithm of the last hash-tree renewal of a stamp, or of its imprint if there was none. */
export const lastAlgorithmOf = ({ imprint, proofs: [proof] }: Stamp): ImprintAlgorithm =>
  (newImprintsOf(proof).at(-1) ?? imprint).algorithm;

/** The EvidenceRecord of a stamp with all its renewals (RFC 4998), DER. Returns undefined for the mock provider, and if a part is damaged. */
export function evidenceRecordOf({ imprint, proofs: [proof] }: Stamp): Buffer | undefined {
  if (proof.kind === 'mock' || proof.token === '') return undefined;
  const token = Buffer.from(proof.token, 'base64');
  return renewed(proof.kind === 'leaf' ? token : encodeEvidenceRecord(imprint.algorithm, { token }), renewalsOf(proof));
}

/** The EvidenceRecord of a batch's root. The next renewal covers it for all leaves together. Returns undefined if a part is damaged. */
export function batchRecordOf({ root, tst, renewals = [] }: Batch): Buffer | undefined {
  return renewed(encodeEvidenceRecord(root.algorithm, { token: tst }), renewals);
}

function renewed(record: Buffer, renewals: readonly Renewal[]): Buffer | undefined {
  if (renewals.length === 0) return record;
  const readable = renewals.flatMap(({ path, tst, newImprint }) =>
    tst === undefined ? [] : [{ path, token: tst, newDigest: newDigestOf(newImprint) }],
  );
  return readable.length < renewals.length ? undefined : renewEvidenceRecord(record, readable);
}

const newDigestOf = (imprint: Imprint | undefined) =>
  imprint && { algorithm: imprint.algorithm, digest: Buffer.from(imprint.digest, 'hex') };

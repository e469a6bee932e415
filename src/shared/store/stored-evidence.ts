import { Binary } from 'mongodb';
import {
  digestCharacters,
  type EvidenceTerm,
  type Imprint,
  type ImprintAlgorithm,
  type OwnEvidence,
  type Renewal,
} from '../domain/stamp.ts';
import { bytesOf } from './binary.ts';

/**
 * What stands in the document of a stamp that has a token of its own, and in that of a batch: how long the token holds, and what renewed it. A leaf has it
 * once a new digest of its document is covered (S17).
 */
export interface StoredEvidence {
  readonly endsAt: Date;
  /** What renewals are found by; `never` once nothing can be renewed any more. */
  readonly renewBy: Date;
  readonly renewals?: readonly StoredRenewal[];
  /** When it was seen that the evidence had ended, or is none. */
  readonly lapsedAt?: Date;
  /** Of a leaf: how many renewals of its batch come before its own. */
  readonly batchRenewals?: number;
}

/**
 * `id`: the document of the token in the collection `renewals`. `path`: blind and siblings, one after the other. `newDigest`: of the document, by another
 * algorithm, where the token covers it.
 */
export interface StoredRenewal {
  readonly id: string;
  readonly path: Binary;
  readonly newDigest?: { readonly algorithm: ImprintAlgorithm; readonly digest: Binary };
}

export const storedDigestOf = ({ algorithm, digest }: Imprint): NonNullable<StoredRenewal['newDigest']> => ({
  algorithm,
  digest: new Binary(Buffer.from(digest, 'hex')),
});

/** Whatever stands where a digest should be; undefined where it is none. */
export function digestIn(stored: unknown): Imprint | undefined {
  const { algorithm, digest } = (stored ?? {}) as Partial<NonNullable<StoredRenewal['newDigest']>>;
  if (!(digest instanceof Binary) || algorithm === undefined || !Object.hasOwn(digestCharacters, algorithm)) return undefined;
  return { algorithm, digest: bytesOf(digest).toString('hex') };
}

/** Indexed, in both collections. */
export const renewByField = 'evidence.renewBy';
/** `renewBy` of what has lapsed: one index finds what is due, and counts what is not any more. */
export const never = new Date('9999-12-31T00:00:00Z');
/** `renewBy` of what could not be judged, so that nobody knows how long it holds: it is looked at again. */
export const notKnown = new Date('9999-12-30T00:00:00Z');

export const storedEvidenceOf = (term: EvidenceTerm | undefined): { evidence?: StoredEvidence } =>
  term === undefined ? {} : { evidence: { endsAt: term.endsAt, renewBy: term.renewBy } };

/** Whatever stands where evidence should be. */
const renewalsIn = (stored: unknown): readonly unknown[] => {
  const { renewals } = (stored ?? {}) as { renewals?: unknown };
  return Array.isArray(renewals) ? renewals : [];
};

/** The ids of the renewals that a document refers to. */
export const renewalIdsIn = (stored: unknown): string[] =>
  renewalsIn(stored).flatMap((one) => (typeof (one as StoredRenewal | null)?.id === 'string' ? [(one as StoredRenewal).id] : []));

const digestsIn = (path: unknown, octets: number): Buffer[] => {
  if (!(path instanceof Binary) || path.length() % octets !== 0) return [];
  const bytes = bytesOf(path);
  return Array.from({ length: bytes.length / octets }, (_, i) => bytes.subarray(i * octets, (i + 1) * octets));
};

/**
 * What a document says of its evidence; of a renewal that is damaged, one that proves nothing.
 *
 * @param tokens DER, by the ids of renewals
 * @param first the algorithm of what was stamped: paths are of that, until another one follows
 */
export function evidenceOf(
  stored: unknown,
  tokens: ReadonlyMap<string, Buffer>,
  first: ImprintAlgorithm,
): { term?: EvidenceTerm; renewals?: readonly Renewal[] } {
  const { endsAt, renewBy } = (stored ?? {}) as { endsAt?: unknown; renewBy?: unknown };
  const term = endsAt instanceof Date && renewBy instanceof Date && renewBy < notKnown ? { endsAt, renewBy } : undefined;
  let algorithm = first;
  const renewals = renewalsIn(stored).map((one): Renewal => {
    const { id, path, newDigest } = (one ?? {}) as Partial<Record<keyof StoredRenewal, unknown>>;
    const renewalId = typeof id === 'string' ? id : '';
    const newImprint = digestIn(newDigest);
    const isDamaged = newDigest !== undefined && newImprint === undefined;
    algorithm = newImprint?.algorithm ?? algorithm;
    const tst = isDamaged ? undefined : tokens.get(renewalId);
    return { renewalId, path: digestsIn(path, digestCharacters[algorithm] / 2), tst, ...(newImprint && { newImprint }) };
  });
  return { ...(term && { term }), ...(renewals.length > 0 && { renewals }) };
}

/** The same of a leaf; undefined: it has none of its own. */
export function ownEvidenceOf(stored: unknown, tokens: ReadonlyMap<string, Buffer>, algorithm: ImprintAlgorithm): OwnEvidence | undefined {
  const { batchRenewals } = (stored ?? {}) as { batchRenewals?: unknown };
  if (renewalsIn(stored).length === 0) return undefined;
  return { batchRenewals: typeof batchRenewals === 'number' ? batchRenewals : 0, ...evidenceOf(stored, tokens, algorithm) };
}

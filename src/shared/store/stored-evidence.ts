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
 * The evidence in the document of a batch or of a stamp with its own token: how long the token is valid, and its renewals. A leaf gets it when a
 * new digest of its document is covered (S17).
 */
export interface StoredEvidence {
  readonly endsAt: Date;
  /** Renewals are found by this; `never` once nothing can be renewed. */
  readonly renewBy: Date;
  readonly renewals?: readonly StoredRenewal[];
  /** When the evidence was found to be expired or missing. */
  readonly lapsedAt?: Date;
  /** For a leaf: the number of batch renewals before its own. */
  readonly batchRenewals?: number;
}

/**
 * `id`: the document of the token in the collection `renewals`. `path`: blind and siblings, concatenated. `newDigest`: the document's digest in
 * another algorithm, if the token covers it.
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

/** Reads any stored data as a digest; undefined if it is not one. */
export function digestIn(stored: unknown): Imprint | undefined {
  const { algorithm, digest } = (stored ?? {}) as Partial<NonNullable<StoredRenewal['newDigest']>>;
  if (!(digest instanceof Binary) || algorithm === undefined || !Object.hasOwn(digestCharacters, algorithm)) return undefined;
  return { algorithm, digest: bytesOf(digest).toString('hex') };
}

/** Indexed, in both collections. */
export const renewByField = 'evidence.renewBy';
/** `renewBy` of lapsed evidence: one index finds evidence that is due and counts evidence that has lapsed. */
export const never = new Date('9999-12-31T00:00:00Z');
/** `renewBy` of evidence that could not be judged, so its end is unknown: it is checked again. */
export const notKnown = new Date('9999-12-30T00:00:00Z');

export const storedEvidenceOf = (term: EvidenceTerm | undefined): { evidence?: StoredEvidence } =>
  term === undefined ? {} : { evidence: { endsAt: term.endsAt, renewBy: term.renewBy } };

/** Reads any stored data as evidence. */
const renewalsIn = (stored: unknown): readonly unknown[] => {
  const { renewals } = (stored ?? {}) as { renewals?: unknown };
  return Array.isArray(renewals) ? renewals : [];
};

/** The ids of the renewals in a document. */
export const renewalIdsIn = (stored: unknown): string[] =>
  renewalsIn(stored).flatMap((one) => (typeof (one as StoredRenewal | null)?.id === 'string' ? [(one as StoredRenewal).id] : []));

const digestsIn = (path: unknown, octets: number): Buffer[] => {
  if (!(path instanceof Binary) || path.length() % octets !== 0) return [];
  const bytes = bytesOf(path);
  return Array.from({ length: bytes.length / octets }, (_, i) => bytes.subarray(i * octets, (i + 1) * octets));
};

/**
 * The evidence in a document; a damaged renewal proves nothing.
 *
 * @param tokens DER, by the ids of renewals
 * @param first the algorithm of the stamped digest: paths use it until a renewal changes it
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

/** The same for a leaf; undefined if it has no own evidence. */
export function ownEvidenceOf(stored: unknown, tokens: ReadonlyMap<string, Buffer>, algorithm: ImprintAlgorithm): OwnEvidence | undefined {
  const { batchRenewals } = (stored ?? {}) as { batchRenewals?: unknown };
  if (renewalsIn(stored).length === 0) return undefined;
  return { batchRenewals: typeof batchRenewals === 'number' ? batchRenewals : 0, ...evidenceOf(stored, tokens, algorithm) };
}

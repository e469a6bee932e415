import { Binary } from 'mongodb';
import {
  digestCharacters,
  type EvidenceTerm,
  type Imprint,
  type ImprintAlgorithm,
  type OwnEvidence,
  type Renewal,
} from '../domain/stamp.ts';
import { bytesOf } from './connection.ts';

/**
 * The evidence in the document of a batch or of a stamp with its own token: how long the token is valid, and its renewals. The document of a leaf
 * gets it when a renewal covers a new digest of the leaf's document (S17).
 */
export interface StoredEvidence {
  readonly endsAt: Date;
  /** Evidence that is due for renewal is found by this date. It is `never` if there is nothing to renew any more. */
  readonly renewBy: Date;
  readonly renewals?: readonly StoredRenewal[];
  /** When the evidence was found to be expired or missing. */
  readonly lapsedAt?: Date;
  /** Only for a leaf: the number of its batch's renewals before its own. */
  readonly batchRenewals?: number;
}

/**
 * A renewal of one stamp or batch. `id`: the document with the token in the collection `renewals`. `path`: blind and siblings, concatenated.
 * `newDigest`: the document's digest in another algorithm, if the token covers it.
 */
interface StoredRenewal {
  readonly id: string;
  readonly path: Binary;
  readonly newDigest?: { readonly algorithm: ImprintAlgorithm; readonly digest: Binary };
}

export const storedDigestOf = ({ algorithm, digest }: Imprint): NonNullable<StoredRenewal['newDigest']> => ({
  algorithm,
  digest: new Binary(Buffer.from(digest, 'hex')),
});

/** Reads a stored digest. Returns undefined if the stored data is not a digest. */
export function digestIn(stored: unknown): Imprint | undefined {
  const { algorithm, digest } = (stored ?? {}) as Partial<NonNullable<StoredRenewal['newDigest']>>;
  if (!(digest instanceof Binary) || algorithm === undefined || !Object.hasOwn(digestCharacters, algorithm)) return undefined;
  return { algorithm, digest: bytesOf(digest).toString('hex') };
}

/** The path of `renewBy` in documents. The collections `stamps` and `batches` have an index on it. */
export const renewByField = 'evidence.renewBy';
/** The value of `renewBy` in lapsed evidence. So one index serves to find evidence that is due, and to count evidence that has lapsed. */
export const never = new Date('9999-12-31T00:00:00Z');
/** The value of `renewBy` in evidence that could not be judged. Its end is unknown, and it is checked again. */
export const notKnown = new Date('9999-12-30T00:00:00Z');

export const storedEvidenceOf = (term: EvidenceTerm | undefined): { evidence?: StoredEvidence } =>
  term === undefined ? {} : { evidence: { endsAt: term.endsAt, renewBy: term.renewBy } };

/** Reads the list of renewals in stored evidence. Returns an empty list if the stored data has another form. */
const renewalsIn = (stored: unknown): readonly unknown[] => {
  const { renewals } = (stored ?? {}) as { renewals?: unknown };
  return Array.isArray(renewals) ? renewals : [];
};

/** The ids of the renewals in stored evidence. */
export const renewalIdsIn = (stored: unknown): string[] =>
  renewalsIn(stored).flatMap((one) => (typeof (one as StoredRenewal | null)?.id === 'string' ? [(one as StoredRenewal).id] : []));

const digestsIn = (path: unknown, octets: number): Buffer[] => {
  if (!(path instanceof Binary) || path.length() % octets !== 0) return [];
  const bytes = bytesOf(path);
  return Array.from({ length: bytes.length / octets }, (_, i) => bytes.subarray(i * octets, (i + 1) * octets));
};

/**
 * Reads the evidence in a document. A damaged renewal has no token, so it proves nothing.
 *
 * @param tokens the tokens (DER), by the ids of renewals
 * @param first the algorithm of the stamped digest. Paths use it until a renewal changes the algorithm.
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

/** Like `evidenceOf`, but for the own evidence of a leaf. Returns undefined if the leaf has no own renewal. */
export function ownEvidenceOf(stored: unknown, tokens: ReadonlyMap<string, Buffer>, algorithm: ImprintAlgorithm): OwnEvidence | undefined {
  const { batchRenewals } = (stored ?? {}) as { batchRenewals?: unknown };
  if (renewalsIn(stored).length === 0) return undefined;
  return { batchRenewals: typeof batchRenewals === 'number' ? batchRenewals : 0, ...evidenceOf(stored, tokens, algorithm) };
}

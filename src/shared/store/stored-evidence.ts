import { Binary } from 'mongodb';
import type { EvidenceTerm, Renewal } from '../domain/stamp.ts';

/** What stands in the document of a stamp that has a token of its own, and in that of a batch: how long the token holds, and what renewed it. */
export interface StoredEvidence {
  readonly endsAt: Date;
  /** What renewals are found by; `never` once nothing can be renewed any more. */
  readonly renewBy: Date;
  readonly renewals?: readonly StoredRenewal[];
  /** When it was seen that the evidence had ended, or is none. */
  readonly lapsedAt?: Date;
}

/** `id`: the document of the token in the collection `renewals`. `path`: blind and siblings, one after the other. */
export interface StoredRenewal {
  readonly id: string;
  readonly path: Binary;
}

/** Indexed, in both collections. */
export const renewByField = 'evidence.renewBy';
/** `renewBy` of what has lapsed: one index finds what is due, and counts what is not any more. */
export const never = new Date('9999-12-31T00:00:00Z');

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
  const bytes = Buffer.from(path.buffer);
  return Array.from({ length: bytes.length / octets }, (_, i) => bytes.subarray(i * octets, (i + 1) * octets));
};

/**
 * What a document says of its evidence; of a renewal that is damaged, one that proves nothing.
 *
 * @param tokens DER, by the ids of renewals
 * @param octets of a digest of the tree's algorithm
 */
export function evidenceOf(
  stored: unknown,
  tokens: ReadonlyMap<string, Buffer>,
  octets: number,
): { term?: EvidenceTerm; renewals?: readonly Renewal[] } {
  const { endsAt, renewBy } = (stored ?? {}) as { endsAt?: unknown; renewBy?: unknown };
  const term = endsAt instanceof Date && renewBy instanceof Date && renewBy < never ? { endsAt, renewBy } : undefined;
  const renewals = renewalsIn(stored).map((one): Renewal => {
    const { id, path } = (one ?? {}) as Partial<Record<keyof StoredRenewal, unknown>>;
    const renewalId = typeof id === 'string' ? id : '';
    return { renewalId, path: digestsIn(path, octets), tst: tokens.get(renewalId) };
  });
  return { ...(term && { term }), ...(renewals.length > 0 && { renewals }) };
}

import { evidenceRecordOf, newImprintsOf, renewalsOf } from '../../shared/domain/evidence.ts';
import type { Imprint } from '../../shared/domain/stamp.ts';
import type { StoredStamp } from '../../shared/store/stamps.ts';
import type { StampJudge } from '../verification/index.ts';

/** What a stranger is given of a stamp. */
export interface HeldEvidence {
  /** DER of a TimeStampToken or an EvidenceRecord. */
  readonly bytes: Buffer;
  /** The same without its renewals. */
  readonly first: Buffer;
  /** Of the renewals in it, in the order of time. */
  readonly renewalIds: readonly string[];
  /** Digests of the document in other algorithms, which these renewals cover: it is judged with them (S17). */
  readonly newImprints: readonly Imprint[];
}

/** Undefined: a mock stamp, or a damaged one. @throws ServiceError `store_unavailable` */
export type ReadHeldEvidence = (stamp: StoredStamp) => Promise<HeldEvidence | undefined>;

/**
 * Gives of each stamp what the service itself judges it by (S16): the record with all renewals, or the token as it was made where the
 * renewals are of no use. Thousands of stamps share a renewal: it is judged with one of them.
 */
export function createHeldEvidenceReader({ stampJudge }: { readonly stampJudge: Pick<StampJudge, 'judgeStamp'> }): ReadHeldEvidence {
  const areOfUse = new Map<string, boolean>();

  return async (stamp) => {
    const [proof] = stamp.proofs;
    if (proof.kind === 'mock' || proof.token === '') return undefined;
    const first = Buffer.from(proof.token, 'base64');
    const asMade = { bytes: first, first, renewalIds: [], newImprints: [] };
    const renewalIds = renewalsOf(proof).map(({ renewalId }) => renewalId);
    const bytes = renewalIds.length === 0 ? undefined : evidenceRecordOf(stamp);
    if (bytes === undefined) return asMade;
    const key = renewalIds.join(' ');
    if (!areOfUse.has(key)) {
      const judgement = await stampJudge.judgeStamp(stamp);
      // What is wrong with this stamp alone says nothing about the others.
      if (judgement.ok) areOfUse.set(key, judgement.tst?.equals(bytes) === true);
    }
    return areOfUse.get(key) === false ? asMade : { bytes, first, renewalIds, newImprints: newImprintsOf(proof) };
  };
}

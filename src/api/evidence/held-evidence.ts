import { evidenceRecordOf, newImprintsOf, renewalsOf } from '../../shared/domain/evidence.ts';
import type { Imprint } from '../../shared/domain/stamp.ts';
import type { StoredStamp } from '../../shared/store/stamps.ts';
import type { StampJudge } from '../verification/index.ts';

/** The public evidence of a stamp. */
export interface HeldEvidence {
  /** DER of a TimeStampToken or an EvidenceRecord. */
  readonly bytes: Buffer;
  /** The evidence as it was made, without renewals. */
  readonly first: Buffer;
  /** The ids of the renewals that `bytes` contains, in order of time. */
  readonly renewalIds: readonly string[];
  /** Digests of the document in other algorithms, which the renewals cover. Verification needs them. */
  readonly newImprints: readonly Imprint[];
}

/** Returns undefined for a stamp of the mock provider and for a damaged stamp. @throws ServiceError `store_unavailable` */
type ReadHeldEvidence = (stamp: StoredStamp) => Promise<HeldEvidence | undefined>;

/**
 * Reads the evidence that the service itself uses to verify a stamp (S16): the record with all renewals, or the original evidence if the renewals do
 * not help. Thousands of stamps share the same renewals, so these are verified with only one of the stamps.
 */
export function createHeldEvidenceReader(stampJudge: StampJudge): ReadHeldEvidence {
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
      // If this stamp alone is invalid, that says nothing about the renewals, so nothing is remembered.
      if (judgement.ok) areOfUse.set(key, judgement.tst?.equals(bytes) === true);
    }
    return areOfUse.get(key) === false ? asMade : { bytes, first, renewalIds, newImprints: newImprintsOf(proof) };
  };
}

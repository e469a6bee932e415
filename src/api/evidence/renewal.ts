import type { EvidenceRenewal } from '../../shared/contract/verify.ts';
import { type AlgorithmPolicy, algorithmPolicy, isHashFit } from '../../shared/domain/algorithm-policy.ts';
import { lastAlgorithmOf, renewalAlgorithm, renewalsOf } from '../../shared/domain/evidence.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import { hashNameOf, type Imprint } from '../../shared/domain/stamp.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { NewDigestStore } from '../../shared/store/new-digests.ts';
import type { StampStore, StoredStamp } from '../../shared/store/stamps.ts';
import type { Vouched } from '../../shared/trust/judge.ts';
import type { StampJudge } from '../verification/index.ts';

/** Stores a hash of stamped content in a new algorithm. The next renewal run covers it (S17). */
export interface EvidenceRenewals {
  /**
   * @param digests of the caller's content in every algorithm, all computed by this service: if the digest in the stamped algorithm matches, the
   *   others are right
   * @throws ServiceError `not_found` for an unknown id and for stamps without evidence; `conflict` if the content is different or the evidence cannot
   *   be renewed any more
   */
  bring(tokenId: string, digests: readonly Imprint[]): Promise<EvidenceRenewal>;
}

export function createEvidenceRenewals(deps: {
  stamps: StampStore;
  newDigests: NewDigestStore;
  stampJudge: StampJudge;
  clock: Clock;
  policy?: AlgorithmPolicy;
}): EvidenceRenewals {
  const { stamps, newDigests, stampJudge, clock, policy = algorithmPolicy } = deps;

  async function checkRenewable(stamp: StoredStamp): Promise<void> {
    const judgement = await stampJudge.judgeStamp(stamp);
    if (!judgement.ok) throw new ServiceError('conflict', 'The stamp does not verify, so its evidence cannot be renewed.');
    if (holdsUntil(judgement, stamp) <= clock()) {
      throw new ServiceError('conflict', 'The certificates of the evidence have ended, so it cannot be renewed any more.');
    }
  }

  return {
    bring: async (tokenId, digests) => {
      const stamp = await stamps.find(tokenId);
      if (!stamp) throw new ServiceError('not_found', 'There is no stamp with this id.');
      const [proof] = stamp.proofs;
      if (proof.token === '') throw new ServiceError('not_found', 'The record of this stamp is damaged: there is no evidence to renew.');
      if (proof.kind === 'mock')
        throw new ServiceError('not_found', 'This stamp was made by the mock provider: there is no evidence to renew.');
      const { algorithm, digest } = stamp.imprint;
      if (digests.find((one) => one.algorithm === algorithm)?.digest !== digest)
        throw new ServiceError('conflict', `This is not the content that was stamped: its ${hashNameOf(algorithm)} is different.`);
      const imprint = digests.find((one) => one.algorithm === renewalAlgorithm)!;
      const isRenewed = lastAlgorithmOf(stamp) === renewalAlgorithm;
      if (!isRenewed) {
        // If the stamped algorithm is broken, different content may have the same hash.
        if (!isHashFit(algorithm, clock(), policy))
          throw new ServiceError(
            'conflict',
            `${hashNameOf(algorithm)} is no longer secure: it cannot prove that this content was stamped.`,
          );
        await checkRenewable(stamp);
        await newDigests.insertOnce({ tokenId, imprint });
      }
      return { token_id: tokenId, imprint, is_renewed: isRenewed };
    },
  };
}

/** The time when the certificates of the last token expire, in milliseconds; 0 if the stamp has renewals and they do not verify. */
function holdsUntil({ verified }: Vouched, { proofs: [proof] }: StoredStamp): number {
  if (verified?.record) return verified.record.holdsUntil.getTime();
  if (verified === undefined || renewalsOf(proof).length > 0) return 0;
  return Math.min(...verified.chain.map(({ notAfter }) => notAfter.getTime()));
}

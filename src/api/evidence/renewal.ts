import type { EvidenceRenewal } from '../../shared/contract/verify.ts';
import { isHashFit } from '../../shared/domain/algorithm-policy.ts';
import { lastAlgorithmOf, renewalAlgorithm, renewalsOf } from '../../shared/domain/evidence.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import { hashNameOf, type Imprint } from '../../shared/domain/stamp.ts';
import type { StoredStamp } from '../../shared/store/stamps.ts';
import type { Vouched } from '../../shared/trust/judge.ts';
import type { WorkflowTools } from '../workflows/index.ts';

/**
 * Stores a hash of stamped content in a new algorithm. The next renewal run covers it (S17).
 *
 * @param digests of the caller's content in every algorithm, all computed by this service: if the digest in the stamped algorithm matches, the others
 *   are right
 * @throws ServiceError `not_found` for an unknown id and for stamps without evidence; `conflict` if the content is different or the evidence cannot be
 *   renewed any more
 */
export async function bringDigests(tools: WorkflowTools, tokenId: string, digests: readonly Imprint[]): Promise<EvidenceRenewal> {
  const { store, clock } = tools;
  const stamp = await store.stamps.find(tokenId);
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
    if (!isHashFit(algorithm, clock()))
      throw new ServiceError('conflict', `${hashNameOf(algorithm)} is no longer secure: it cannot prove that this content was stamped.`);
    await checkRenewable(tools, stamp);
    await store.newDigests.insertOnce({ tokenId, imprint });
  }
  return { token_id: tokenId, imprint, is_renewed: isRenewed };
}

async function checkRenewable({ stampJudge, clock }: WorkflowTools, stamp: StoredStamp): Promise<void> {
  const judgement = await stampJudge.judgeStamp(stamp);
  if (!judgement.ok) throw new ServiceError('conflict', 'The stamp does not verify, so its evidence cannot be renewed.');
  if (holdsUntil(judgement, stamp) <= clock()) {
    throw new ServiceError('conflict', 'The certificates of the evidence have ended, so it cannot be renewed any more.');
  }
}

/** The time when the certificates of the last token expire, in milliseconds; 0 if the stamp has renewals and they do not verify. */
function holdsUntil({ verified }: Vouched, { proofs: [proof] }: StoredStamp): number {
  if (verified?.record) return verified.record.holdsUntil.getTime();
  if (verified === undefined || renewalsOf(proof).length > 0) return 0;
  return Math.min(...verified.chain.map(({ notAfter }) => notAfter.getTime()));
}

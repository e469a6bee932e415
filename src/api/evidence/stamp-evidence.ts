import type { EvidenceRenewal } from '../../shared/contract/verify.ts';
import { isHashFit } from '../../shared/domain/algorithm-policy.ts';
import { evidenceRecordOf, lastAlgorithmOf, newImprintsOf, renewalAlgorithm, renewalsOf } from '../../shared/domain/evidence.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import { type Batch, hashNameOf, type Imprint, type LeafProof, type TokenProof } from '../../shared/domain/stamp.ts';
import type { StoredStamp } from '../../shared/store/stamps.ts';
import type { Store } from '../../shared/store/store.ts';
import type { TrustedToken } from '../../shared/trust/judge.ts';
import type { StampJudge } from '../verification/index.ts';
import type { WorkflowTools } from '../workflows/index.ts';

/** The files of a stamp for other verifiers, in DER: response, request and token of the exchange with the TSA, and the evidence record (RFC 4998). */
export type ExchangePart = 'tsr' | 'tsq' | 'token' | 'evidence';

interface Exchanged {
  readonly der: Buffer;
  /** The batch that was stamped; undefined if the file is for this stamp alone. */
  readonly batch: Batch | undefined;
}

/**
 * Reads the bytes exactly as exchanged with the TSA, or the evidence record (S14). A stamp of a batch has the exchange and the token of its batch.
 *
 * @throws ServiceError `not_found` for an unknown id, for a damaged stamp and for a stamp of the mock provider
 */
export async function readExchange({ stamps }: Store, tokenId: string, part: ExchangePart): Promise<Exchanged> {
  const stamp = existing(await stamps.find(tokenId));
  const proof = tsaProofOf(stamp, 'nothing to download', 'no RFC 3161 exchange to download');
  if (part === 'evidence') {
    const record = evidenceRecordOf(stamp);
    if (record === undefined) throw damaged('nothing to download');
    return { der: record, batch: undefined };
  }
  if (proof.kind === 'token') return { der: part === 'token' ? Buffer.from(proof.token, 'base64') : proof[part], batch: undefined };
  const { batch } = proof;
  return { der: part === 'token' ? batch.tst : batch[part], batch };
}

/** @throws ServiceError `not_found` for an unknown id */
export function existing(stamp: StoredStamp | null): StoredStamp {
  if (!stamp) throw new ServiceError('not_found', 'There is no stamp with this id.');
  return stamp;
}

/** The proof by a TSA. `missing`: what there is none of. @throws ServiceError `not_found` for a damaged stamp and for a stamp of the mock provider */
export function tsaProofOf({ proofs: [proof] }: StoredStamp, missing: string, missingOfMock = missing): TokenProof | LeafProof {
  if (proof.token === '') throw damaged(missing);
  if (proof.kind !== 'mock') return proof;
  throw new ServiceError('not_found', `This stamp was made by the mock provider: there is ${missingOfMock}.`);
}

const damaged = (missing: string) => new ServiceError('not_found', `The record of this stamp is damaged: there is ${missing}.`);

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
  const stamp = existing(await store.stamps.find(tokenId));
  tsaProofOf(stamp, 'no evidence to renew');
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
function holdsUntil({ verified }: TrustedToken, { proofs: [proof] }: StoredStamp): number {
  if (verified?.record) return verified.record.holdsUntil.getTime();
  if (verified === undefined || renewalsOf(proof).length > 0) return 0;
  return Math.min(...verified.chain.map(({ notAfter }) => notAfter.getTime()));
}

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

/**
 * Reads the evidence that the service itself uses to verify a stamp (S16): the record with all renewals, or the original evidence if the renewals do
 * not help. Thousands of stamps share the same renewals, so these are verified with only one of the stamps. The reader returns undefined for a stamp of the
 * mock provider and for a damaged stamp.
 */
export function createHeldEvidenceReader(stampJudge: StampJudge) {
  const areOfUse = new Map<string, boolean>();

  return async (stamp: StoredStamp): Promise<HeldEvidence | undefined> => {
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

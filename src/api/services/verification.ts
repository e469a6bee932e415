import type { VerificationResult } from '../../shared/contract/verify.ts';
import { type ReasonCode, reasonOf } from '../../shared/domain/reasons.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import type { Logger } from '../../shared/runtime/log.ts';
import type { StampRecord, StampStore } from '../../shared/store/stamps.ts';
import type { Judgement, Proof, TokenDoor } from '../../shared/trust/judge.ts';

/** The DER of a stamp's exchange with its TSA, for verifiers other than us. */
export type ExchangePart = 'tsr' | 'tsq' | 'token';

/** Verification by id and of raw tokens: one door for every kind of token (V1, V2). */
export interface Verification {
  /** Loads the stored token and checks it cryptographically, every time; an id that is not known gives `valid: false` (E6). */
  byId(tokenId: string): Promise<VerificationResult>;
  /** Checks any text as a token, and that it is for `hash` where one is given; whatever it is, the answer is a result (V4). */
  raw(token: string, hash?: string | null): Promise<VerificationResult>;
  /**
   * The bytes as they were exchanged with the TSA.
   *
   * @throws ServiceError `not_found` for an unknown id, and for a stamp of the mock provider.
   */
  exchange(tokenId: string, part: ExchangePart): Promise<Buffer>;
}

const invalid = (code: ReasonCode, tokenId: string | null = null): VerificationResult => ({
  valid: false,
  token_id: tokenId,
  issued_at: null,
  content_sha256: null,
  tsp_provider: null,
  is_qualified: null,
  reason: reasonOf(code),
});

const resultOf = (proof: Proof, tokenId: string | null): VerificationResult => ({
  valid: true,
  token_id: tokenId,
  issued_at: proof.issuedAt,
  content_sha256: proof.hashAlgorithm === 'sha256' ? proof.hash : null,
  tsp_provider: proof.provider ?? null,
  is_qualified: proof.isQualified,
  reason: null,
});

const agrees = (proof: Proof, record: StampRecord): boolean =>
  proof.hash === record.hash && proof.issuedAt === record.issuedAt && (proof.tokenId === undefined || proof.tokenId === record._id);

export function createVerification(deps: { stamps: StampStore; door: TokenDoor; log: Logger }): Verification {
  const { stamps, door, log } = deps;

  async function judge(token: string, provider?: string): Promise<Judgement> {
    const judgement = await door.judge(token, provider);
    if (!judgement.ok && judgement.code === 'verifier_failed') log.error({ err: judgement.cause }, 'the verifier failed on a token');
    return judgement;
  }

  async function findTokenId({ tokenId, tst }: Proof): Promise<string | null> {
    return tst ? stamps.findIdByToken(tst.toString('base64')) : (tokenId ?? null);
  }

  return {
    byId: async (tokenId) => {
      const record = await stamps.find(tokenId);
      if (!record) return invalid('unknown_token_id');
      const judgement = await judge(record.token, record.provider);
      if (!judgement.ok) return invalid(judgement.code, tokenId);
      return agrees(judgement, record) ? resultOf(judgement, tokenId) : invalid('record_mismatch', tokenId);
    },
    raw: async (token, hash) => {
      const judgement = await judge(token);
      if (!judgement.ok) return invalid(judgement.code);
      if (typeof hash === 'string' && judgement.hash !== hash) return invalid('imprint_mismatch');
      return resultOf(judgement, await findTokenId(judgement));
    },
    exchange: async (tokenId, part) => {
      const record = await stamps.find(tokenId);
      if (!record) throw new ServiceError('not_found', 'No stamp with this id is known.');
      const { tsq, tsr, token } = record;
      if (!tsq || !tsr)
        throw new ServiceError('not_found', 'This stamp was made by the mock provider: there is no RFC 3161 exchange to download.');
      return part === 'token' ? Buffer.from(token, 'base64') : Buffer.from((part === 'tsq' ? tsq : tsr).buffer);
    },
  };
}

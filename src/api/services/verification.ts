import type { KeyObject } from 'node:crypto';
import type { VerificationResult } from '../../shared/contract/verify.ts';
import { looksLikeMockToken, type MockClaims, readMockToken } from '../../shared/domain/mock-token.ts';
import { mockProviderName } from '../../shared/providers/mock.ts';
import type { StampRecord, StampStore } from '../../shared/store/stamps.ts';

/** Verification by id and of raw tokens: one door for every kind of token (V1, V2). */
export interface Verification {
  /** Loads the stored token and checks it cryptographically, every time; an id that is not known gives `valid: false` (E6). */
  byId(tokenId: string): Promise<VerificationResult>;
  /** Checks any text as a token; whatever it is, the answer is a result (V4). */
  raw(token: string): Promise<VerificationResult>;
}

const nothingKnown = { token_id: null, issued_at: null, content_sha256: null, tsp_provider: null, is_qualified: null };

const invalid = (reason: string): VerificationResult => ({ valid: false, ...nothingKnown, reason });

const resultOf = ({ tokenId, timeMs, hash }: MockClaims): VerificationResult => ({
  valid: true,
  token_id: tokenId,
  issued_at: new Date(timeMs).toISOString(),
  content_sha256: hash,
  tsp_provider: mockProviderName,
  is_qualified: false,
  reason: null,
});

const agrees = (result: VerificationResult, record: StampRecord): boolean =>
  result.token_id === record._id &&
  result.content_sha256 === record.hash &&
  result.issued_at === record.issuedAt &&
  result.tsp_provider === record.provider &&
  result.is_qualified === record.isQualified;

export function createVerification(deps: { stamps: StampStore; mockKey: () => Promise<KeyObject> }): Verification {
  async function raw(token: string): Promise<VerificationResult> {
    const bytes = Buffer.from(token, 'base64');
    if (token === '' || bytes.toString('base64') !== token) return invalid('not_base64: The token is not canonical base64.');
    if (!looksLikeMockToken(bytes)) return invalid('unknown_format: The token is neither a token of this service nor an RFC 3161 token.');
    const read = readMockToken(await deps.mockKey(), bytes);
    return read.ok ? resultOf(read.claims) : invalid('mock_token_forged: The token was not issued by this service, or was changed since.');
  }

  return {
    raw,
    byId: async (tokenId) => {
      const record = await deps.stamps.find(tokenId);
      if (!record) return invalid('unknown_token_id: No stamp with this id is known.');
      const result = await raw(record.token);
      if (result.valid && !agrees(result, record))
        return invalid('record_mismatch: The stored token says something else than the record it is stored in.');
      return { ...result, token_id: tokenId };
    },
  };
}

import type { ResponseContext, TokenContext, VerifyResult } from './types.ts';

/** Judges a TSA's answer to a request that was just sent: DER TimeStampResp (RFC 3161 §2.4.2). Never throws, whatever the bytes. */
export type VerifyResponse = (response: Uint8Array, context: ResponseContext) => VerifyResult;

/** Judges a stored or raw token: DER TimeStampToken, or a whole TimeStampResp. Never throws, whatever the bytes. */
export type VerifyToken = (token: Uint8Array, context: TokenContext) => VerifyResult;

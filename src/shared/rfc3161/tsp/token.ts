import { normalizeBer } from '../asn1/ber.ts';
import { type Der, derOf, parseDer, TAG, TOKEN_LIMITS } from '../asn1/der.ts';
import type { RefusalCode } from '../refusal/codes.ts';
import { Refusal, refuse } from '../refusal/refusal.ts';
import { grantedTokenOf } from './response.ts';

/** A TimeStampToken that came in an answer or alone. */
export interface OpenedToken {
  /** The ContentInfo of the token, in DER. */
  readonly contentInfo: Der;
  /** The token exactly as received. */
  readonly bytes: Buffer;
  readonly grantedWithMods: boolean;
  /** The positions in `contentInfo` of elements that were not in DER, in ascending order. */
  readonly rewritten: readonly number[];
}

/** Opens the token in a TimeStampResp. The whole answer must be DER (RFC 3161 §3; refusals 1–4). */
export function openResponse(response: Uint8Array, acceptGrantedWithMods: boolean): OpenedToken {
  const { token, grantedWithMods } = grantedTokenOf(parseDer(response), acceptGrantedWithMods);
  return { contentInfo: token, bytes: derOf(token), grantedWithMods, rewritten: [] };
}

/** Opens a single TimeStampToken, which may be BER (V6), or the token in a TimeStampResp. */
export function openToken(given: Uint8Array, acceptGrantedWithMods: boolean): OpenedToken {
  const bytes = Buffer.from(given.buffer, given.byteOffset, given.length);
  if (!isBareToken(bytes)) return openResponse(bytes, acceptGrantedWithMods);
  return { ...readBareToken(bytes), bytes, grantedWithMods: false };
}

/**
 * Returns the TimeStampToken in a TimeStampResp, or the given bytes if they are a single token, without verifying it. Returns undefined if there is no
 * token. Never throws, whatever the bytes are.
 */
export function tokenIn(given: Uint8Array): Buffer | undefined {
  try {
    return openToken(given, true).bytes;
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

/** The DER faults that BER may have and still be valid. */
const OTHER_FORM: ReadonlySet<RefusalCode> = new Set(['der_length', 'der_not_canonical']);

/** Reads a single token. It is converted from BER only if it is not DER, so most tokens are parsed only once. */
function readBareToken(bytes: Buffer): Pick<OpenedToken, 'contentInfo' | 'rewritten'> {
  try {
    return { contentInfo: parseDer(bytes), rewritten: [] };
  } catch (error) {
    if (!(error instanceof Refusal) || !OTHER_FORM.has(error.code)) throw error;
  }
  const { der, rewritten } = normalizeBer(bytes);
  // The DER may be longer than the BER, because definite lengths may take more octets than indefinite lengths.
  return { contentInfo: parseDer(der, { ...TOKEN_LIMITS, maxBytes: der.length }), rewritten };
}

/** Returns true for a single token: a ContentInfo starts with an OBJECT IDENTIFIER, but a TimeStampResp with a SEQUENCE (its status). */
function isBareToken(bytes: Buffer): boolean {
  const lengthOctet = bytes[1] ?? 0;
  const first = bytes[lengthOctet > 0x80 ? 2 + (lengthOctet & 0x7f) : 2];
  return bytes[0] === TAG.sequence && first === TAG.oid;
}

/**
 * Checks that a signed part was received in DER, as the standards require for signed attributes (RFC 5652 §5.3) and certificates (RFC 5280 §4.1.1.3).
 * The signature does not cover a part in another form, and readers interpret such a part differently.
 */
export function checkSignedForm({ rewritten }: OpenedToken, signed: Der): void {
  let [from, to] = [0, rewritten.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (rewritten[middle]! < signed.start) from = middle + 1;
    else to = middle;
  }
  const next = rewritten[from];
  if (next !== undefined && next < signed.end) refuse('der_length', 'A signed part is not in DER.');
}

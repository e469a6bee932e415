import { normalizeBer } from '../asn1/ber.ts';
import { type Der, derOf, parseDer, TOKEN_LIMITS } from '../asn1/der.ts';
import { TAG } from '../asn1/tags.ts';
import type { RefusalCode } from '../refusal/codes.ts';
import { Refusal, refuse } from '../refusal/refusal.ts';
import { grantedTokenOf } from './response.ts';

/** A TimeStampToken, from an answer or by itself. */
export interface OpenedToken {
  /** ContentInfo, in DER. */
  readonly contentInfo: Der;
  /** As received. */
  readonly bytes: Buffer;
  readonly grantedWithMods: boolean;
  /** Where in `contentInfo` elements start that were not in DER, in ascending order. */
  readonly rewritten: readonly number[];
}

/** The token of a TimeStampResp, which must be DER (RFC 3161 §3; refusals 1–4). */
export function openResponse(response: Uint8Array, acceptGrantedWithMods: boolean): OpenedToken {
  const { token, grantedWithMods } = grantedTokenOf(parseDer(response), acceptGrantedWithMods);
  return { contentInfo: token, bytes: derOf(token), grantedWithMods, rewritten: [] };
}

/** A bare TimeStampToken, which may be BER (V6), or a TimeStampResp. */
export function openToken(given: Uint8Array, acceptGrantedWithMods: boolean): OpenedToken {
  const bytes = Buffer.from(given.buffer, given.byteOffset, given.length);
  if (!isBareToken(bytes)) return openResponse(bytes, acceptGrantedWithMods);
  return { ...readBareToken(bytes), bytes, grantedWithMods: false };
}

/**
 * The TimeStampToken in a granting TimeStampResp, or the bare one itself, not verified. Undefined if there is none. Never throws, whatever the
 * bytes.
 */
export function tokenIn(given: Uint8Array): Buffer | undefined {
  try {
    return openToken(given, true).bytes;
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

/** DER faults that valid BER may have. */
const OTHER_FORM: ReadonlySet<RefusalCode> = new Set(['der_length', 'der_not_canonical']);

/** Most tokens are DER and need no normalization, so they are parsed only once. */
function readBareToken(bytes: Buffer): Pick<OpenedToken, 'contentInfo' | 'rewritten'> {
  try {
    return { contentInfo: parseDer(bytes), rewritten: [] };
  } catch (error) {
    if (!(error instanceof Refusal) || !OTHER_FORM.has(error.code)) throw error;
  }
  const { der, rewritten } = normalizeBer(bytes);
  // Definite lengths may take more octets than the indefinite ones in the input.
  return { contentInfo: parseDer(der, { ...TOKEN_LIMITS, maxBytes: der.length }), rewritten };
}

/** A ContentInfo starts with an OBJECT IDENTIFIER; a TimeStampResp starts with a SEQUENCE, its status. */
function isBareToken(bytes: Buffer): boolean {
  const lengthOctet = bytes[1] ?? 0;
  const first = bytes[lengthOctet > 0x80 ? 2 + (lengthOctet & 0x7f) : 2];
  return bytes[0] === TAG.sequence && first === TAG.oid;
}

/**
 * Signed parts must be DER: signed attributes (RFC 5652 §5.3) and certificates (RFC 5280 §4.1.1.3). A signature does not cover another form, and
 * readers do not agree on its meaning.
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

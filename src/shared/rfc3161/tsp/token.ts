import { normalizeBer } from '../asn1/ber.ts';
import { type Der, derOf, parseDer, TAG, TOKEN_LIMITS } from '../asn1/der.ts';
import { refuse } from '../refusal/refusal.ts';
import { grantedTokenOf } from './response.ts';

/** A TimeStampToken, out of an answer or by itself. */
export interface OpenedToken {
  /** ContentInfo, in DER. */
  readonly contentInfo: Der;
  /** As it came. */
  readonly bytes: Buffer;
  readonly grantedWithMods: boolean;
  /** Where in `contentInfo` elements start that came in another form than DER, in ascending order. */
  readonly rewritten: readonly number[];
}

/** The token of a TimeStampResp, which is DER (RFC 3161 §3, V6; refusals 1–4). */
export function openResponse(response: Uint8Array, acceptGrantedWithMods: boolean): OpenedToken {
  const { token, grantedWithMods } = grantedTokenOf(parseDer(response), acceptGrantedWithMods);
  return { contentInfo: token, bytes: derOf(token), grantedWithMods, rewritten: [] };
}

/** A bare TimeStampToken, which may be BER (V6), or a TimeStampResp. */
export function openToken(given: Uint8Array, acceptGrantedWithMods: boolean): OpenedToken {
  const bytes = Buffer.from(given.buffer, given.byteOffset, given.length);
  if (!isBareToken(bytes)) return openResponse(bytes, acceptGrantedWithMods);
  const { der, rewritten } = normalizeBer(bytes);
  // Definite lengths for indefinite ones may take more octets than the limit of the input.
  return { contentInfo: parseDer(der, { ...TOKEN_LIMITS, maxBytes: der.length }), bytes, grantedWithMods: false, rewritten };
}

/** A ContentInfo starts with an OBJECT IDENTIFIER, a TimeStampResp with a SEQUENCE, its status. */
function isBareToken(bytes: Buffer): boolean {
  const lengthOctet = bytes[1] ?? 0;
  const first = bytes[lengthOctet > 0x80 ? 2 + (lengthOctet & 0x7f) : 2];
  return bytes[0] === TAG.sequence && first === TAG.oid;
}

/** Signed attributes are DER as they stand, whatever is around them (RFC 5652 §5.3): nobody signed another form. */
export function checkSignedForm({ rewritten }: OpenedToken, signedAttributes: Der): void {
  if (rewritten.some((at) => at >= signedAttributes.start && at < signedAttributes.end)) {
    refuse('der_length', 'The signed attributes are not in the form of DER.');
  }
}

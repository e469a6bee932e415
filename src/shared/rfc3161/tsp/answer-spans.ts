import { type Der, parseDer } from '../asn1/der.ts';
import { TAG } from '../asn1/tags.ts';
import { Refusal } from '../refusal/refusal.ts';

/** A range of octets, from `start` up to, but not including, `end`. */
interface Span {
  readonly start: number;
  readonly end: number;
}

/** Positions in the DER of a TimeStampResp (RFC 3161 §2.4.2). */
export interface AnswerSpans {
  /** The TimeStampToken. */
  readonly token: Span;
  /** The certificates in the SignedData of the token, including their tag (RFC 5652 §5.1). Undefined if there are none. */
  readonly certificates: Span | undefined;
}

/** Finds token and certificates in a TimeStampResp. Returns undefined if it has no token. Verifies nothing. Never throws, whatever the bytes are. */
export function answerSpansOf(response: Uint8Array): AnswerSpans | undefined {
  try {
    const [, token] = parseDer(response).children;
    const signedData = token?.children[1]?.children[0];
    if (!token || !signedData) return undefined;
    const certificates = signedData.children.find(({ tag }) => tag === TAG.contextConstructed(0));
    return { token: spanOf(token), certificates: certificates && spanOf(certificates) };
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

const spanOf = ({ start, end }: Der): Span => ({ start, end });

import { type AnswerSpans, answerSpansOf, tokenIn } from '../rfc3161/index.ts';

/** The TimeStampToken in a TSA's answer, DER; undefined if there is none. Never throws, whatever the bytes. */
export const tokenOfAnswer = (tsr: Buffer): Buffer | undefined => tokenIn(tsr);

/** The positions of token and certificates in a TSA's answer; undefined if there is no token. Never throws, whatever the bytes. */
export const partsOfAnswer = (tsr: Buffer): AnswerSpans | undefined => answerSpansOf(tsr);

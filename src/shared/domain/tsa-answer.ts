import { type AnswerSpans, answerSpansOf, tokenIn } from '../rfc3161/index.ts';

/** Returns the TimeStampToken in a TSA's answer, DER, or undefined if there is none. Never throws, whatever the bytes are. */
export const tokenOfAnswer = (tsr: Buffer): Buffer | undefined => tokenIn(tsr);

/** Returns the positions of token and certificates in a TSA's answer, or undefined if there is no token. Never throws, whatever the bytes are. */
export const partsOfAnswer = (tsr: Buffer): AnswerSpans | undefined => answerSpansOf(tsr);

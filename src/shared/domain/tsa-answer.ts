import { type AnswerSpans, answerSpansOf, tokenIn } from '../rfc3161/index.ts';

/** The TimeStampToken in what a TSA answered, DER; undefined: there is none. Never throws, whatever the bytes. */
export const tokenOfAnswer = (tsr: Buffer): Buffer | undefined => tokenIn(tsr);

/** Where token and certificates lie in what a TSA answered; undefined: there is no token. Never throws, whatever the bytes. */
export const partsOfAnswer = (tsr: Buffer): AnswerSpans | undefined => answerSpansOf(tsr);

/** Verifies a stamp by its id, any token, and stored stamps for other capabilities. */
import type { FastifyInstance } from 'fastify';
import type { ServerContext } from '../http/context.ts';
import type { VerificationTools } from './stamp-judge.ts';
import { registerVerifyForm, registerVerifyRoutes } from './verify-routes.ts';

export function registerVerification(app: FastifyInstance, context: ServerContext, tools: VerificationTools): void {
  registerVerifyRoutes(app, context, tools);
  registerVerifyForm(app, context, tools);
}

export { openStampJudge, type StampJudge, type StampJudgement } from './stamp-judge.ts';
export { verifyById, verifyRaw } from './verification.ts';
export type { StampMark, StampVerdict } from './verify-view.ts';
export { type MarkShown, markOf, markOfStamp } from './verify-view.ts';

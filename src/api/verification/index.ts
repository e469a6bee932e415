/** Verifies a stamp by its id, any token, and stored stamps for other capabilities. */
import type { FastifyInstance } from 'fastify';
import type { ServerContext } from '../http/context.ts';
import type { VerificationTools } from './stamp-judge.ts';
import { registerVerifyForm } from './verify-form.ts';
import { registerVerifyRoutes } from './verify-routes.ts';

export function registerVerification(app: FastifyInstance, context: ServerContext, tools: VerificationTools): void {
  registerVerifyRoutes(app, context, tools);
  registerVerifyForm(app, context, tools);
}

export { type MarkShown, markOf, markOfStamp } from './marks.ts';
export { openStampJudge, type StampJudge, type StampJudgement } from './stamp-judge.ts';
export type { StampMark, StampVerdict } from './stamp-model.ts';
export { verifyById, verifyRaw } from './verification.ts';

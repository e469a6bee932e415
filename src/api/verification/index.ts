/** Verifies a stamp by its id, any token, and stored stamps for other capabilities. */
import type { FastifyInstance } from 'fastify';
import type { ServerContext } from '../http/context.ts';
import type { VerificationTools } from './stamp-judge.ts';
import { registerVerifyForm, registerVerifyRoutes } from './verify-routes.ts';

export function registerVerification(app: FastifyInstance, context: ServerContext, tools: VerificationTools): void {
  registerVerifyRoutes(app, context, tools);
  registerVerifyForm(app, context, tools);
}

export type { MarkShown, StampJudge, StampJudgement, StampMark, StampVerdict } from './stamp-judge.ts';
export { markOf, markOfStamp, openStampJudge } from './stamp-judge.ts';
export { verifyById, verifyRaw } from './verification.ts';

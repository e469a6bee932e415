/** Verifies a stamp by its id, any token, and stored stamps for other capabilities. */
import type { FastifyInstance } from 'fastify';
import type { ServerContext } from '../server/context.ts';
import type { ApiTools } from '../tools.ts';
import { createOutcomeWait } from './outcome-wait.ts';
import { openStampJudge } from './stamp-judge.ts';
import { createStampPages } from './stamp-pages.ts';
import { createVerification } from './verification.ts';
import { registerVerifyForm } from './verify-form.ts';
import { registerVerifyRoutes } from './verify-routes.ts';

export function createVerificationServices(tools: ApiTools) {
  const { store, clock } = tools;
  const stampJudge = openStampJudge(tools);
  const verification = createVerification(tools, stampJudge);
  return {
    stampJudge,
    verification,
    untilKnown: createOutcomeWait(verification, store.stamps, clock),
    stampPages: createStampPages(store, stampJudge, clock),
  };
}

type VerificationServices = ReturnType<typeof createVerificationServices>;

export function registerVerification(app: FastifyInstance, context: ServerContext & VerificationServices): void {
  registerVerifyRoutes(app, context);
  registerVerifyForm(app, context);
}

export { type MarkShown, markOf, markOfStamp } from './marks.ts';
export type { StampJudge, StampJudgement } from './stamp-judge.ts';
export type { StampMark, StampVerdict } from './stamp-model.ts';
export type { Verification } from './verification.ts';

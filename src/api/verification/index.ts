/** Verifies a stamp by its id, any token, and stored stamps for other capabilities. */
import type { FastifyInstance } from 'fastify';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { Store } from '../../shared/store/store.ts';
import type { ServerContext } from '../server/context.ts';
import { createOutcomeWait } from './outcome-wait.ts';
import type { StampJudge } from './stamp-judge.ts';
import { createStampPages } from './stamp-pages.ts';
import { countVerifications, createVerification } from './verification.ts';
import { registerVerifyForm } from './verify-form.ts';
import { registerVerifyRoutes } from './verify-routes.ts';

export interface VerificationPorts {
  readonly store: Pick<Store, 'stamps' | 'refusals' | 'counters'>;
  readonly stampJudge: StampJudge;
  readonly clock: Clock;
}

export function createVerificationServices({ store, stampJudge, clock }: VerificationPorts) {
  const { stamps, refusals, counters } = store;
  const verification = countVerifications(createVerification({ stamps, refusals, stampJudge }), () =>
    counters.add({ verifications: 1 }, clock()),
  );
  return {
    verification,
    untilKnown: createOutcomeWait({ verification, stamps, clock }),
    stampPages: createStampPages({ stamps, refusals, stampJudge, clock }),
  };
}

export type VerificationServices = ReturnType<typeof createVerificationServices>;

export function registerVerification(app: FastifyInstance, context: ServerContext & VerificationServices): void {
  registerVerifyRoutes(app, context);
  registerVerifyForm(app, context);
}

export { openStampJudge, type StampJudge, type StampJudgement } from './stamp-judge.ts';
export type { StampMark, StampVerdict } from './stamp-model.ts';
export type { Verification } from './verification.ts';

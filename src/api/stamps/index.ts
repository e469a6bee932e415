/**
 * Makes one stamp or many: a request becomes a job, and the outcome of the job becomes the answer. This folder also contains sealed content and the
 * list of a product's stamps.
 */
import type { FastifyInstance } from 'fastify';
import type { ServerContext } from '../http/context.ts';
import type { ApiTools } from '../tools.ts';
import { findReplies, type StoredStampJudge } from './idempotency.ts';
import { registerSealedRoutes } from './sealed-routes.ts';
import { registerAgentRoutes, registerBulkRoutes, registerProductRoutes } from './stamp-routes.ts';
import { openSubmission, type StampTools } from './submission.ts';

/** Opens the tools of the operations on stamps. `lifecycle` closes them again when the process ends. */
export function openStampTools(tools: ApiTools, stampJudge: StoredStampJudge): StampTools {
  const { config, store, jobs, queueWatch, log, lifecycle } = tools;
  const submission = openSubmission({
    redisUrl: config.REDIS_URL,
    jobs,
    watch: queueWatch,
    findStamps: (tokenIds) => findReplies(store, stampJudge, tokenIds),
    findCompleted: store.workflows.findCompleted,
    maxDepth: config.QUEUE_MAX_DEPTH,
    log,
  });
  lifecycle.onClose('submission', () => submission.close());
  return { ...tools, stampJudge, submission };
}

export function registerStamps(app: FastifyInstance, context: ServerContext, tools: StampTools): void {
  registerProductRoutes(app, context, tools);
  registerAgentRoutes(app, context, tools);
  registerBulkRoutes(app, context, tools);
  registerSealedRoutes(app, context, tools);
}

export { beginAnswer, sendBulk } from './bulk-answer.ts';
export { identify, type PassLimit } from './idempotency.ts';
export { digestsOfSealed } from './sealed-contents.ts';
export { sealedAddress, sealedOpener } from './sealed-routes.ts';
export { sendAccepted } from './stamp-routes.ts';
export {
  type Answer,
  encryptForStamp,
  madeOf,
  RequestRefusedError,
  stampAll,
  stampFailed,
  stampOne,
  TimeNotAvailableError,
} from './stamping.ts';
export { type Answers, answerAll, type Outcome, type StampTools, startDeadline, storeBefore } from './submission.ts';

/**
 * Makes one stamp or many: a request becomes a job, and the outcome of the job becomes the answer. This folder also contains sealed content and the
 * list of a product's stamps.
 */
import type { FastifyInstance } from 'fastify';
import type { ServerContext } from '../server/context.ts';
import type { ApiTools } from '../tools.ts';
import { registerBulkRoutes } from './bulk-routes.ts';
import { createIdempotency } from './idempotency.ts';
import { createSealedContents } from './sealed-contents.ts';
import { registerSealedRoutes } from './sealed-routes.ts';
import { createStampList } from './stamp-list.ts';
import { registerAgentRoutes, registerProductRoutes } from './stamp-routes.ts';
import { createStampEncryption, createStamping } from './stamping.ts';
import { createReplyLookup, type StoredStampJudge } from './stored-replies.ts';
import { openSubmission } from './submission.ts';

const hourMs = 3_600_000;

export function createStamps(tools: ApiTools, { stampJudge }: { readonly stampJudge: StoredStampJudge }) {
  const { config, store, jobs, queueWatch, writes, clock, log, lifecycle } = tools;
  const { stamps, counters, sealedContents, keys } = store;
  const submission = openSubmission({
    redisUrl: config.REDIS_URL,
    jobs,
    watch: queueWatch,
    findStamps: createReplyLookup({ ...store, stampJudge }),
    findCompleted: store.workflows.findCompleted,
    maxDepth: config.QUEUE_MAX_DEPTH,
    log,
  });
  lifecycle.onClose('submission', () => submission.close());
  const idempotency = createIdempotency({
    store: store.idempotency,
    key: () => keys.secret('idempotency'),
    clock,
    ttlMs: config.IDEMPOTENCY_TTL_HOURS * hourMs,
  });
  const encryptedOf = createStampEncryption(() => keys.secret('stamp-metadata'));
  return {
    submission,
    stamping: createStamping({
      submission,
      writes,
      stamps,
      stampJudge,
      sealedContents,
      idempotency,
      encryptedOf,
      clock,
      waitMs: config.STAMP_WAIT_MS,
      sealedMaxBytes: config.SEALED_MAX_BYTES,
    }),
    stampList: createStampList({ stamps, counters }),
    sealedContents: createSealedContents({ stamps, sealedContents }),
    idempotency,
    encryptedOf,
  };
}

export type Stamps = ReturnType<typeof createStamps>;

export function registerStamps(app: FastifyInstance, context: ServerContext & Stamps): void {
  registerProductRoutes(app, context);
  registerAgentRoutes(app, context);
  registerBulkRoutes(app, context);
  registerSealedRoutes(app, context);
}

export { beginAnswer, sendBulk } from './bulk-answer.ts';
export type { Idempotency, PassLimit } from './idempotency.ts';
export { sealedAddress, sealedOpener } from './sealed-routes.ts';
export { sendAccepted } from './stamp-routes.ts';
export {
  type Answer,
  type EncryptForStamp,
  madeOf,
  RequestRefusedError,
  type Stamping,
  stampFailed,
  TimeNotAvailableError,
} from './stamping.ts';
export { type Answers, answerAll, type Outcome, type Submission, startDeadline, storeBefore } from './submission.ts';

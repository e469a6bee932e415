/**
 * Makes one stamp or many: a request becomes a job, and the outcome of the job becomes the answer. This folder also contains sealed content and the
 * list of a product's stamps.
 */
import type { FastifyInstance } from 'fastify';
import type { StampQueue } from '../../shared/queue/stamp-queue.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { Config } from '../../shared/runtime/config.ts';
import type { Store } from '../../shared/store/store.ts';
import type { ServerContext } from '../server/context.ts';
import type { WriteWatch } from '../server/write-watch.ts';
import { registerBulkRoutes } from './bulk-routes.ts';
import { createBulkStamping } from './bulk-stamping.ts';
import { createIdempotency } from './idempotency.ts';
import type { ReplyWaiter, StoredStampJudge } from './reply-waiter.ts';
import { createSealedContents } from './sealed-contents.ts';
import { registerSealedRoutes } from './sealed-routes.ts';
import { createStampList } from './stamp-list.ts';
import { registerAgentRoutes, registerProductRoutes } from './stamp-routes.ts';
import { createItemMaker, createStampEncryption, createStamping } from './stamping.ts';

const hourMs = 3_600_000;

export interface StampsPorts {
  readonly config: Config;
  readonly store: Pick<Store, 'stamps' | 'counters' | 'sealedContents' | 'idempotency' | 'keys'>;
  readonly queue: StampQueue;
  readonly waiter: ReplyWaiter;
  readonly writes: Pick<WriteWatch, 'checkStore'>;
  readonly stampJudge: StoredStampJudge;
  readonly clock: Clock;
}

export function createStamps({ config, store, queue, waiter, writes, stampJudge, clock }: StampsPorts) {
  const { stamps, counters, sealedContents, keys } = store;
  const idempotency = createIdempotency({
    store: store.idempotency,
    key: () => keys.secret('idempotency'),
    clock,
    ttlMs: config.IDEMPOTENCY_TTL_HOURS * hourMs,
  });
  const encryptedOf = createStampEncryption(() => keys.secret('stamp-metadata'));
  const makeItem = createItemMaker({ encryptedOf });
  const accepting = { queue, writes, waiter, stamps, stampJudge, idempotency, makeItem, clock, waitMs: config.STAMP_WAIT_MS };
  return {
    stamping: createStamping({ ...accepting, sealedContents, sealedMaxBytes: config.SEALED_MAX_BYTES }),
    ...createBulkStamping(accepting),
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
export { asAcceptance, asOutcome, type BulkOutcomes, identifyBulk, type Outcome, type StampMany } from './bulk-stamping.ts';
export { type Deadline, startDeadline, storeBefore } from './deadline.ts';
export { type Idempotency, type PassLimit, passLimitOnce } from './idempotency.ts';
export {
  acceptAllAndWait,
  acceptAllPromised,
  acceptAndWait,
  acceptPromised,
  createReplyLookup,
  createReplyWaiter,
  type Heard,
  type ReplyWaiter,
} from './reply-waiter.ts';
export { sealedAddress, sealedOpener } from './sealed-routes.ts';
export { sendAccepted } from './stamp-routes.ts';
export {
  type AcceptedAnswer,
  type EncryptForStamp,
  RequestRefusedError,
  type Stamping,
  stampFailed,
  TimeNotAvailableError,
} from './stamping.ts';

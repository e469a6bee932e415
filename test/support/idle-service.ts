import { type RunningService, sharedService } from './service.ts';
import { webhookSecret } from './webhook-receiver.ts';

/**
 * The one service in this test process without a worker: callers soon get 504. A test may add a worker, which also finishes jobs that
 * earlier tests left.
 */
export const idleService = (): Promise<RunningService> =>
  sharedService({ workers: 0, settings: { STAMP_WAIT_MS: '200', WEBHOOK_SECRET: webhookSecret } });

import { randomUUIDv7 } from 'node:crypto';
import type { StampItem } from '../../src/shared/queue/jobs.ts';
import { randomHash } from './requests.ts';

/** A stamp like the API gives it to the queue. */
export const stampItem = (): StampItem => ({
  tokenId: randomUUIDv7(),
  imprint: { algorithm: 'sha256', digest: randomHash() },
  tier: 'basic',
  caller: { kind: 'internal', product: 'test' },
  acceptedAt: Date.now(),
  requestId: 'test',
});

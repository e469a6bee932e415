import { expect } from 'vitest';
import { eventually, type JsonAnswer, randomHash, stampInternal } from './requests.ts';
import type { RunningService } from './service.ts';

/** Refused because the queue is away (E10). The caller does not wait: that would be 504, with another code. */
export async function refusedAtOnce(send: () => Promise<JsonAnswer>): Promise<void> {
  const answer = await send();
  expect(answer.status).toBe(503);
  expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
  expect(answer.body).toEqual({ detail: expect.any(String), code: 'queue_unavailable', request_id: expect.any(String) });
}

/** Between two stamps. The service notices a silent Redis only while a request waits for it. */
const steadyMs = 50;

/**
 * Stamps one hash after the other, without waiting for answers, until one is refused. Requests sent before the service noticed that
 * Redis hangs may be stamped, and are not refused (E11).
 */
export async function untilRefused(service: RunningService): Promise<void> {
  const statuses = new Set<number>();
  await eventually(
    async () => {
      stampInternal(service, { hash: randomHash() }).then(
        ({ status }) => statuses.add(status),
        // The service may stop before the last one has an answer.
        () => undefined,
      );
      return statuses.has(503);
    },
    20_000,
    steadyMs,
  );
}

import { randomUUIDv7 } from 'node:crypto';
import { expect, test } from 'vitest';
import { idInSeries } from '../../../src/shared/domain/stamp.ts';
import { announceOutputs, createOutputOrder } from '../../../src/shared/queue/output-order.ts';
import { recordFailedStamps } from '../../../src/workers/stamping/stamp-job.ts';
import { openQueueLab } from '../../support/queue-lab.ts';
import { stampItem } from '../../support/stamp-items.ts';
import { workerTools } from '../../support/worker-tools.ts';

test('E11: a given-up stamp is reported to its callers and at its address, and later outputs do not wait; repeating this changes nothing', async () => {
  const { redis, add } = await openQueueLab();
  const workflowId = randomUUIDv7();
  const output = { workflowId, briefingHash: 'c'.repeat(64), outputId: randomUUIDv7(), type: 'text' };
  const items = [stampItem(), { ...stampItem(), output }];
  const [id, later] = [idInSeries(workflowId, 1), idInSeries(workflowId, 2)];
  for (const jobId of [id, later]) {
    await announceOutputs(redis, jobId, items);
    await add(jobId, { replyTo: 'stream', items });
  }
  const outputOrder = createOutputOrder(redis);
  expect(await outputOrder.readTurn(workflowId, new Set([later]))).toEqual({ ready: [], blockedBy: id });

  const tools = workerTools({ outputOrder });
  const { store } = tools;
  const job = { name: 'stamp', id, payload: { replyTo: 'stream', items } } as const;
  const [refused] = [stampItem()];
  await store.refusals.insertOnce([{ tokenId: refused!.tokenId, reason: 'request_refused', at: new Date() }]);
  const told = items.map(({ tokenId }) => ({ outcome: 'failed', tokenId, code: 'stamp_failed' }));
  for (const name of ['stamp', 'promised-stamp'] as const) expect(await recordFailedStamps(tools, { ...job, name })).toEqual(told);
  const reasons = async () => Promise.all([...items, refused!].map(({ tokenId }) => store.refusals.find(tokenId)));
  expect(await reasons()).toEqual(['stamp_failed', 'stamp_failed', 'request_refused']);
  expect(await outputOrder.readTurn(workflowId, new Set([later]))).toMatchObject({ ready: [later] });

  // A retry clears only the failure.
  await store.refusals.forgetFailed([...items, refused!].map(({ tokenId }) => tokenId));
  expect(await reasons()).toEqual([undefined, undefined, 'request_refused']);
  await recordFailedStamps(tools, { name: 'sweep', id: 'sweep', payload: {} });
});

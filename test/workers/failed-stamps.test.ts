import { randomUUIDv7 } from 'node:crypto';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { idInBatch } from '../../src/shared/domain/stamp-id.ts';
import { announceOutputs, createOutputOrder } from '../../src/shared/queue/output-order.ts';
import { sendReplies } from '../../src/shared/queue/replies.ts';
import { repliesIn } from '../../src/shared/queue/sent-reply.ts';
import { openStore } from '../../src/shared/store/store.ts';
import { recordFailedStamps } from '../../src/workers/stamping/failed-stamps.ts';
import { openQueueLab } from '../support/queue-lab.ts';
import { freshStore } from '../support/servers.ts';
import { stampItem } from '../support/stamp-items.ts';

test('E11: what was given up is told to its callers and to its address, and no later output waits for it; told twice, it is the same', async () => {
  const { redis, log, add } = await openQueueLab();
  const store = openStore(freshStore(), pino({ level: 'silent' }));
  onTestFinished(() => store.close());
  const workflowId = randomUUIDv7();
  const output = { workflowId, briefingHash: 'c'.repeat(64), outputId: randomUUIDv7(), type: 'text' };
  const items = [stampItem(), { ...stampItem(), output }];
  const [id, later] = [idInBatch(workflowId, 1), idInBatch(workflowId, 2)];
  for (const jobId of [id, later]) {
    await announceOutputs(redis, jobId, items);
    await add(jobId, { replyTo: 'stream', items });
  }
  const outputOrder = createOutputOrder(redis);
  expect(await outputOrder.readTurn(workflowId, new Set([later]))).toEqual({ ready: [], blockedBy: id });

  const deps = {
    ...store,
    outputOrder,
    sendReplies: (...given: [string, Parameters<typeof sendReplies>[2]]) => sendReplies({ redis, log }, ...given),
    clock: Date.now,
  };
  const job = { name: 'stamp', id, payload: { replyTo: 'stream', items } } as const;
  const [refused] = [stampItem()];
  await store.refusals.insertOnce([{ tokenId: refused!.tokenId, reason: 'request_refused', at: new Date() }]);
  for (let time = 1; time <= 2; time += 1) await recordFailedStamps(deps, job);
  const reasons = async () => Promise.all([...items, refused!].map(({ tokenId }) => store.refusals.find(tokenId)));
  expect(await reasons()).toEqual(['stamp_failed', 'stamp_failed', 'request_refused']);
  const [, [, text] = []] = (await redis.xrange('stream', '-', '+'))[0]!;
  expect(repliesIn(text!)).toEqual(items.map(({ tokenId }) => ({ outcome: 'failed', tokenId, code: 'stamp_failed' })));
  expect(await outputOrder.readTurn(workflowId, new Set([later]))).toMatchObject({ ready: [later] });

  // Tried again, only that is forgotten.
  await store.refusals.forgetFailed([...items, refused!].map(({ tokenId }) => tokenId));
  expect(await reasons()).toEqual([undefined, undefined, 'request_refused']);
  await recordFailedStamps(deps, { name: 'sweep', id: 'sweep', payload: {} });
});

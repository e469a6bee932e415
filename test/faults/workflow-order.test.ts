import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { collectionOf, openDatabase } from '../support/database.ts';
import { eventually, randomHash, stampInternal } from '../support/requests.ts';
import { type Service, startPart, startService } from '../support/service.ts';
import { createFault } from '../support/tsa-answers.ts';
import { providersSettings, startTsa } from '../support/tsa-service.ts';
import { type StartedWorkflow, stampOutput, startWorkflow } from '../support/workflows.ts';

const settings = { RATE_WORKFLOW_START_PER_HOUR: '0', RATE_WORKFLOW_STAMP_PER_MINUTE: '0', STAMP_WAIT_MS: '200' };

/** Hashes of the chain, in order. */
async function chainOf(service: Service, { id }: StartedWorkflow): Promise<unknown[]> {
  const outputs = collectionOf(await openDatabase(service), 'outputs');
  return (await outputs.find({ workflowId: id, kind: 'output' }).sort({ _id: 1 }).toArray()).map(({ hash }) => hash);
}

/** Outputs sent one after the other, alternating between two APIs without workers, each once the previous one is surely queued. */
async function sendOutputs(apis: readonly Service[], workflow: StartedWorkflow, count: number): Promise<string[]> {
  const hashes = Array.from({ length: count }, randomHash);
  for (const [index, output_hash] of hashes.entries()) {
    const answer = await stampOutput(apis[index % apis.length]!, workflow, { output_hash }, { prefer: 'respond-async' });
    expect([answer.status, answer.body.status]).toEqual([202, 'accepted']);
  }
  return hashes;
}

let service: Service;
beforeAll(async () => {
  service = await startService({ workers: 0, settings, keep: true });
});
afterAll(() => service.stop());

test('W8: outputs that waited for a worker are numbered in the order sent, with two APIs and two workers', async () => {
  const twin = await startPart('api', service.settings);
  onTestFinished(async () => void (await twin.stop()));
  const other: Service = { ...service, ...twin, fetch: (path, init) => fetch(`${twin.url}${path}`, init) };
  const workflows = await Promise.all(Array.from({ length: 4 }, () => startWorkflow(service)));
  const sent = await Promise.all(workflows.map((workflow) => sendOutputs([service, other], workflow, 8)));
  await Promise.all([service.startWorker(), service.startWorker()]);
  for (const [index, workflow] of workflows.entries()) {
    await eventually(async () => (await chainOf(service, workflow)).length === 8);
    expect(await chainOf(service, workflow)).toEqual(sent[index]);
  }
  // The order data is removed after use.
  const redis = new Redis(service.settings.REDIS_URL ?? '');
  onTestFinished(() => redis.disconnect());
  await eventually(async () => (await redis.keys('{qstamp}:outputs:*')).length === 0);
});

test('W8: an output that is stamped slowly keeps its number, and other workflows in the same worker do not wait for it', async () => {
  const tsa = await startTsa();
  const slow = await startService({ workers: 2, settings: { ...settings, ...providersSettings([{ tsa }]) } });
  const workflow = await startWorkflow(slow);
  tsa.server.failNext(createFault('slow:1500'));
  const [first] = await sendOutputs([slow], workflow, 1);
  const rest = await sendOutputs([slow], workflow, 3);
  const stranger = randomHash();
  await stampInternal(slow, { hash: stranger });
  const stamps = collectionOf(await openDatabase(slow), 'stamps');
  await eventually(async () => (await stamps.countDocuments({ 'imprint.digest': stranger })) === 1);
  expect(await chainOf(slow, workflow)).toEqual([]);
  await eventually(async () => (await chainOf(slow, workflow)).length === 4);
  expect(await chainOf(slow, workflow)).toEqual([first, ...rest]);
});

import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually, internalHeaders, postJson, randomHash, stampInternal } from '../support/requests.ts';
import { freshDatabase, startPrivateMongo } from '../support/servers.ts';
import { type RunningService, startService } from '../support/service.ts';
import { type StartedWorkflow, stampOutput, startWorkflow } from '../support/workflows.ts';

const waitMs = 2_000;
/** The promise is the wait and a second. The rest is for a busy machine. */
const longestMs = waitMs + 1_000 + 1_500;

let mongo: Awaited<ReturnType<typeof startPrivateMongo>>;
beforeAll(async () => {
  mongo = await startPrivateMongo();
});
afterAll(() => mongo?.dispose());

const keyed = () => ({ 'idempotency-key': randomHash() });

/** Every kind of request that stamps. */
const requestsTo = (service: RunningService, workflow: StartedWorkflow) => [
  () => stampInternal(service, { hash: randomHash() }),
  () => stampInternal(service, { hash: randomHash() }, keyed()),
  () => stampInternal(service, { content_b64: 'AAAA', tier: 'sealed' }, keyed()),
  () => stampInternal(service, { hash: randomHash() }, { ...keyed(), prefer: 'respond-async' }),
  () => postJson(service, '/api/v1/internal/v1/stamps', [{ hash: randomHash() }], { ...internalHeaders, ...keyed() }),
  () => stampOutput(service, workflow, {}, keyed()),
];

/** Sends requests of all kinds one after the other until it is stopped. Returns their statuses and durations. */
function keepAsking(requests: ReturnType<typeof requestsTo>) {
  let isStopped = false;
  const answers: { readonly status: number; readonly tookMs: number }[] = [];
  const clients = requests.map(async (request) => {
    while (!isStopped) {
      const startedAt = performance.now();
      const { status } = await request();
      answers.push({ status, tookMs: performance.now() - startedAt });
      await delay(20);
    }
  });
  return {
    answers,
    stop: async () => {
      isStopped = true;
      await Promise.all(clients);
    },
  };
}

test.each(['pause', 'kill'] as const)(
  'E10: if MongoDB is lost (%s) under stamp requests, each is answered in STAMP_WAIT_MS and a second',
  async (loss) => {
    const service = await startService({
      settings: { MONGODB_URL: freshDatabase(mongo.url), STAMP_WAIT_MS: String(waitMs), RATE_WORKFLOW_STAMP_PER_MINUTE: '0' },
    });
    const asking = keepAsking(requestsTo(service, await startWorkflow(service)));
    await eventually(async () => asking.answers.length > 30);
    await mongo[loss]();
    await eventually(
      async () => asking.answers.filter(({ status }) => status === 503).length > 10 && asking.answers.some(({ status }) => status === 504),
    );
    await delay(waitMs);
    await (loss === 'pause' ? mongo.resume() : mongo.start());
    await asking.stop();
    const statuses = new Set(asking.answers.map(({ status }) => status));
    expect(statuses.difference(new Set([200, 201, 202, 503, 504]))).toEqual(new Set());
    expect(Math.max(...asking.answers.map(({ tookMs }) => tookMs))).toBeLessThan(longestMs);
    await eventually(async () => (await stampInternal(service, { hash: randomHash() })).status === 201, 40_000);
  },
);

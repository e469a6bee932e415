import { expect, test } from 'vitest';
import { breakableMongo } from '../support/fault-run.ts';
import { patience } from '../support/pace.ts';
import { eventually, internalHeaders, postJson, randomHash, stampInternal } from '../support/requests.ts';
import { freshDatabase } from '../support/servers.ts';
import { type RunningService, startService } from '../support/service.ts';
import { type StartedWorkflow, stampOutput, startWorkflow } from '../support/workflows.ts';

const waitMs = 2_000;
/** The promise is the wait and a second. The rest is for a busy machine. */
const longestMs = waitMs + 1_000 + patience(1_500);

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

test.each(['pause', 'kill'] as const)('E10: MongoDB is lost (%s): each request is answered in STAMP_WAIT_MS and a second', async (loss) => {
  const mongo = await breakableMongo();
  const settings = { MONGODB_URL: freshDatabase(mongo.url), STAMP_WAIT_MS: String(waitMs), RATE_WORKFLOW_STAMP_PER_MINUTE: '0' };
  const service = await startService({ settings });
  let isOver = false;
  const answers: { readonly status: number; readonly tookMs: number }[] = [];
  const clients = requestsTo(service, await startWorkflow(service)).map(async (request) => {
    while (!isOver) {
      const startedAt = performance.now();
      const { status } = await request();
      answers.push({ status, tookMs: performance.now() - startedAt });
    }
  });
  const heard = (status: number) => answers.filter((answer) => answer.status === status).length;
  await eventually(async () => answers.length > 30);
  await mongo[loss]();
  await eventually(async () => heard(503) > 10 && heard(504) > 0);
  await (loss === 'pause' ? mongo.resume() : mongo.start());
  await eventually(async () => (await stampInternal(service, { hash: randomHash() })).status === 201, 40_000);
  isOver = true;
  await Promise.all(clients);
  expect(new Set(answers.map(({ status }) => status)).difference(new Set([200, 201, 202, 503, 504]))).toEqual(new Set());
  expect(Math.max(...answers.map(({ tookMs }) => tookMs))).toBeLessThan(longestMs);
});

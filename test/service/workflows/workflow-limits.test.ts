import { expect, test } from 'vitest';
import { eventually, type JsonAnswer, postJson, randomHash } from '../../support/requests.ts';
import { type Service, startPart, startService } from '../../support/service.ts';
import { stampOutput, startRequest, startWorkflow, startWorkflowRaw } from '../../support/workflows.ts';

/** A second API process on the servers of the first. */
async function startTwin(service: Service): Promise<Service> {
  const twin = await startPart('api', service.settings);
  // A process that is still starting may take Redis for dead, and then counts alone (R4).
  for (const { url } of [service, twin]) await eventually(async () => (await fetch(`${url}/health/ready`)).ok);
  return { ...service, ...twin, fetch: (path, init) => fetch(`${twin.url}${path}`, init) };
}

const countOf = (answers: readonly JsonAnswer[], status: number) => answers.filter((answer) => answer.status === status).length;

test('R1: an address starts exactly 5 workflows an hour, over two API processes at once (E7)', async () => {
  const service = await startService();
  const twin = await startTwin(service);
  try {
    const answers = await Promise.all(Array.from({ length: 40 }, (_, i) => startWorkflowRaw(i % 2 ? service : twin, startRequest())));
    expect([countOf(answers, 201), countOf(answers, 429)]).toEqual([5, 35]);
    const remaining = answers.filter(({ status }) => status === 201).map(({ headers }) => Number(headers.get('ratelimit-remaining')));
    expect(remaining.toSorted()).toEqual([0, 1, 2, 3, 4]);
    for (const { headers, body } of answers.filter(({ status }) => status === 429)) {
      expect(body.code).toBe('rate_limited');
      expect(headers.get('ratelimit-limit')).toBe('5');
      const retryAfter = Number(headers.get('retry-after'));
      expect(retryAfter).toBeGreaterThan(3_500);
      expect(retryAfter).toBeLessThanOrEqual(3_600);
      expect(headers.get('ratelimit-reset')).toBe(headers.get('retry-after'));
    }
  } finally {
    await twin.stop();
  }
});

test('R1: a request refused with 422 starts no workflow and is not counted', async () => {
  const service = await startService();
  for (let count = 0; count < 10; count += 1) {
    expect((await startWorkflowRaw(service, startRequest({ user_email: 'nobody' }))).status).toBe(422);
  }
  const answers = await Promise.all(Array.from({ length: 6 }, () => startWorkflowRaw(service, startRequest())));
  expect([countOf(answers, 201), countOf(answers, 429)]).toEqual([5, 1]);
});

test('R1: behind a trusted proxy each client address has its own 5; a stranger’s X-Forwarded-For counts for nothing', async () => {
  const trusting = await startService({ settings: { TRUST_PROXY: '127.0.0.1' } });
  const startFrom = (service: Service, address: string) => startWorkflowRaw(service, startRequest(), { 'x-forwarded-for': address });
  for (const address of ['192.0.2.1', '192.0.2.2', '2001:db8::1']) {
    const answers = await Promise.all(Array.from({ length: 6 }, () => startFrom(trusting, address)));
    expect([countOf(answers, 201), countOf(answers, 429)], address).toEqual([5, 1]);
  }
  for (const address of ['2001:db8::ffff', '192.0.2.1:4711', '[2001:db8::2]:4711', '192.0.2.1:4712, 127.0.0.1:80']) {
    expect((await startFrom(trusting, address)).status, address).toBe(429);
  }
  const wary = await startService();
  const answers = await Promise.all(Array.from({ length: 6 }, (_, i) => startFrom(wary, `192.0.2.${i}`)));
  expect([countOf(answers, 201), countOf(answers, 429)]).toEqual([5, 1]);
});

test('R1: a workflow allows exactly 100 stamps a minute, over two API processes; other workflows and wrong tokens do not use it up', async () => {
  const service = await startService();
  const twin = await startTwin(service);
  try {
    const [workflow, other] = [await startWorkflow(service), await startWorkflow(service)];
    const stranger = () => postJson(service, `/api/v1/workflow/${workflow.id}/stamp`, {}, { authorization: 'Workflow guess' });
    expect(countOf(await Promise.all(Array.from({ length: 30 }, stranger)), 401)).toBe(30);
    expect(countOf(await Promise.all(Array.from({ length: 30 }, () => stampOutput(service, workflow, { output_hash: 'x' }))), 422)).toBe(
      30,
    );
    const answers = await Promise.all(Array.from({ length: 130 }, (_, i) => stampOutput(i % 2 ? service : twin, workflow)));
    expect([countOf(answers, 201), countOf(answers, 429)]).toEqual([100, 30]);
    const numbers = answers.filter(({ status }) => status === 201).map(({ body }) => Number(body.sequence_number));
    expect(numbers.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, i) => i + 1));
    expect((await stampOutput(service, other, { output_hash: randomHash() })).headers.get('ratelimit-remaining')).toBe('99');
  } finally {
    await twin.stop();
  }
});

test('a limit of 0 means no limit', async () => {
  const service = await startService({ settings: { RATE_WORKFLOW_START_PER_HOUR: '0' } });
  const answers = await Promise.all(Array.from({ length: 20 }, () => startWorkflowRaw(service, startRequest())));
  expect(countOf(answers, 201)).toBe(20);
  expect(answers[0]?.headers.get('ratelimit-limit')).toBeNull();
});

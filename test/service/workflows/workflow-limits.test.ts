import { expect, onTestFinished, test } from 'vitest';
import { freshAddress, limitedService } from '../../support/limited-service.ts';
import { eventually, type JsonAnswer, postJson, randomHash } from '../../support/requests.ts';
import { type RunningService, sharedService, startPart, startService } from '../../support/service.ts';
import { stampOutput, startRequest, startWorkflow, startWorkflowRaw } from '../../support/workflows.ts';

const service = await limitedService();

/** A second API process on the servers of the first. */
async function startTwin(): Promise<RunningService> {
  const twin = await startPart('api', service.settings);
  onTestFinished(async () => void (await twin.stop()));
  // A process that is still starting may take Redis for dead, and then counts alone (R4).
  for (const { url } of [service, twin]) await eventually(async () => (await fetch(`${url}/health/ready`)).ok);
  return { ...service, ...twin, fetch: (path, init) => fetch(`${twin.url}${path}`, init) };
}

const countOf = (answers: readonly JsonAnswer[], status: number) => answers.filter((answer) => answer.status === status).length;
const startFrom = (at: RunningService, headers: Record<string, string>, more = {}) => startWorkflowRaw(at, startRequest(more), headers);
const times = <T>(count: number, send: (index: number) => Promise<T>) => Promise.all(Array.from({ length: count }, (_, i) => send(i)));

test('R1: an address starts exactly 5 workflows an hour, over two API processes at once (E7)', async () => {
  const twin = await startTwin();
  const from = freshAddress();
  const answers = await times(40, (i) => startFrom(i % 2 ? service : twin, from));
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
});

test('R1: a request refused with 422 starts no workflow and is not counted', async () => {
  const from = freshAddress();
  for (let count = 0; count < 10; count += 1) expect((await startFrom(service, from, { user_email: 'nobody' })).status).toBe(422);
  const answers = await times(6, () => startFrom(service, from));
  expect([countOf(answers, 201), countOf(answers, 429)]).toEqual([5, 1]);
});

test('R1: behind a trusted proxy each client address has its own 5; a stranger’s X-Forwarded-For counts for nothing', async () => {
  const fromAddress = (at: RunningService, address: string) => startFrom(at, { 'x-forwarded-for': address });
  for (const address of ['198.51.100.1', '198.51.100.2', '2001:db8::1']) {
    const answers = await times(6, () => fromAddress(service, address));
    expect([countOf(answers, 201), countOf(answers, 429)], address).toEqual([5, 1]);
  }
  for (const address of ['2001:db8::ffff', '198.51.100.1:4711', '[2001:db8::2]:4711', '198.51.100.1:4712, 127.0.0.1:80']) {
    expect((await fromAddress(service, address)).status, address).toBe(429);
  }
  const wary = await startService({ workers: 0 });
  const answers = await times(6, (i) => fromAddress(wary, `198.51.100.${i}`));
  expect([countOf(answers, 201), countOf(answers, 429)]).toEqual([5, 1]);
});

test('R1: a workflow allows exactly 10 stamps a minute, over two API processes; other workflows and wrong tokens do not use it up', async () => {
  const twin = await startTwin();
  const [workflow, other] = [await startWorkflow(service, {}, freshAddress()), await startWorkflow(service, {}, freshAddress())];
  const path = `/api/v1/workflow/${workflow.id}/stamp`;
  const strange = await times(30, () => postJson(service, path, {}, { ...freshAddress(), authorization: 'Workflow guess' }));
  expect(countOf(strange, 401)).toBe(30);
  expect(countOf(await times(30, () => stampOutput(service, workflow, { output_hash: 'x' })), 422)).toBe(30);
  // Two spellings of one id have one count.
  const shouted = { ...workflow, id: workflow.id.toUpperCase() };
  const answers = await times(20, (i) => stampOutput(i % 2 ? service : twin, i % 3 ? workflow : shouted));
  expect([countOf(answers, 201), countOf(answers, 429)]).toEqual([10, 10]);
  const numbers = answers.filter(({ status }) => status === 201).map(({ body }) => Number(body.sequence_number));
  expect(numbers.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 10 }, (_, i) => i + 1));
  expect((await stampOutput(service, other, { output_hash: randomHash() })).headers.get('ratelimit-remaining')).toBe('9');
});

test('a limit of 0 means no limit', async () => {
  const unlimited = await sharedService();
  const answers = await times(20, () => startFrom(unlimited, {}));
  expect(countOf(answers, 201)).toBe(20);
  expect(answers[0]?.headers.get('ratelimit-limit')).toBeNull();
  expect((await stampOutput(unlimited, await startWorkflow(unlimited))).headers.get('ratelimit-limit')).toBeNull();
});

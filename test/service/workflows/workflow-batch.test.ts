import { afterAll, beforeAll, expect, test } from 'vitest';
import { idleService } from '../../support/idle-service.ts';
import { freshAddress, limitedService } from '../../support/limited-service.ts';
import { eventually, getJson, type JsonObject, postJson, randomHash } from '../../support/requests.ts';
import { addWorker, type RunningService, type Service, startService } from '../../support/service.ts';
import { completeWorkflow, type StartedWorkflow, stampOutput, startWorkflow } from '../../support/workflows.ts';

let service: Service;
beforeAll(async () => {
  const settings = {
    RATE_WORKFLOW_START_PER_HOUR: '0',
    RATE_WORKFLOW_STAMP_PER_MINUTE: '0',
    RATE_WORKFLOW_PAGE_PER_MINUTE: '15',
    WORKER_CONCURRENCY: '8',
  };
  service = await startService({ keep: true, workers: 2, settings });
});
afterAll(() => service.stop());

const outputs = (count: number): JsonObject[] => Array.from({ length: count }, () => ({ output_hash: randomHash(), output_type: 'text' }));

async function stampOutputs(at: RunningService, { id, headers }: StartedWorkflow, items: unknown, more: Record<string, string> = {}) {
  const answer = await postJson(at, `/api/v1/workflow/${id}/stamps`, items, { ...headers, ...more });
  return { ...answer, items: answer.body as unknown as JsonObject[] };
}

const chainOf = async ({ id }: StartedWorkflow) => {
  const { body } = await getJson(service, `/workflow/${id}/outputs.json`);
  return (body.outputs as JsonObject[]).map(({ output_hash }) => output_hash);
};

test('L4: outputs are numbered in the order given, after the existing ones, whichever worker handles them', async () => {
  const workflow = await startWorkflow(service);
  await stampOutput(service, workflow);
  const given = outputs(500);
  const { status, items } = await stampOutputs(service, workflow, given);
  expect(status).toBe(200);
  expect(items.map(({ sequence_number }) => sequence_number)).toEqual(given.map((_, index) => index + 2));
  expect((await chainOf(workflow)).slice(1)).toEqual(given.map(({ output_hash }) => output_hash));
  const page = await (await service.fetch(`/workflow/${workflow.id}`)).text();
  for (const number of [2, 101, 501]) {
    expect(items[number - 2]).toMatchObject({
      verify_url: `/workflow/${workflow.id}#output-${number}`,
      workflow_anchor_url: `/workflow/${workflow.id}`,
    });
    expect(page, 'every anchor is on the page (W14)').toContain(`id="output-${number}"`);
  }
  // A view of 501 outputs counts as six (R6).
  const views = [await service.fetch(`/workflow/${workflow.id}`), await service.fetch(`/workflow/${workflow.id}`)];
  expect(views.map((view) => view.status)).toEqual([200, 429]);
  expect((await completeWorkflow(service, workflow)).body).toMatchObject({ status: 'completed', output_count: 501 });
  const closed = await stampOutputs(service, workflow, outputs(2));
  expect([closed.status, closed.body]).toEqual([409, expect.objectContaining({ code: 'conflict', reason: 'workflow_closed' })]);
});

test('L4: an invalid item gets no number', async () => {
  const workflow = await startWorkflow(service);
  const given = [...outputs(2), { output_hash: 'x', output_type: 'text' }, ...outputs(1), { output_hash: randomHash() }];
  const { items } = await stampOutputs(service, workflow, given);
  expect(items.map(({ sequence_number }) => sequence_number)).toEqual([1, 2, undefined, 3, undefined]);
  expect(items[2]).toMatchObject({ index: 2, status: 422, detail: [{ loc: ['body', 2, 'output_hash'] }] });
  expect(items[4]).toMatchObject({ index: 4, detail: [{ type: 'missing', loc: ['body', 4, 'output_type'] }] });
});

test('S9, L2: a repeat with the same key gives the same answer, also once the workflow is closed', async () => {
  const workflow = await startWorkflow(service);
  const given = outputs(80);
  const headers = { 'idempotency-key': 'all' };
  const first = await stampOutputs(service, workflow, given, headers);
  await completeWorkflow(service, workflow);
  const again = await stampOutputs(service, workflow, given, headers);
  expect([again.status, again.headers.get('idempotent-replayed'), again.items]).toEqual([200, 'true', first.items]);
  expect(await chainOf(workflow)).toHaveLength(80);
});

test('E5: it requires the workflow token, and the conditions of the tier (W2)', async () => {
  const workflow = await startWorkflow(service);
  const answer = await postJson(service, `/api/v1/workflow/${workflow.id}/stamps`, outputs(1));
  expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([401, 'Workflow']);
});

test('L3, R1: each output counts for the limit of its workflow', async () => {
  const limited = await limitedService();
  const workflow = await startWorkflow(limited, {}, freshAddress());
  expect((await stampOutputs(limited, workflow, outputs(11))).status).toBe(429);
  expect((await stampOutputs(limited, workflow, outputs(10))).status).toBe(200);
  expect((await stampOutput(limited, workflow)).status).toBe(429);
});

test('E11: outputs that are not numbered in time give their addresses, and get their numbers in the order given', async () => {
  const idle = await idleService();
  const workflow = await startWorkflow(idle);
  const { status, items } = await stampOutputs(idle, workflow, outputs(130));
  expect(status).toBe(504);
  expect(items.every(({ code, token_id, verify_url }) => code === 'stamp_pending' && String(verify_url).endsWith(String(token_id)))).toBe(
    true,
  );
  await addWorker(idle);
  const chain = await eventually(async () => {
    const { body } = await getJson(idle, `/workflow/${workflow.id}/outputs.json`);
    return body.output_count === 130 && (body.outputs as JsonObject[]);
  });
  expect(chain.map(({ stamp_id }) => stamp_id)).toEqual(items.map(({ token_id }) => token_id));
});

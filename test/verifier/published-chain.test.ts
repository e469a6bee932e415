import { expect, test } from 'vitest';
import { getJson, sha256 } from '../support/requests.ts';
import { sharedService } from '../support/service.ts';
import { completeWorkflow, type StartedWorkflow, stampOutput, startWorkflow } from '../support/workflows.ts';

const service = await sharedService();

interface Page {
  readonly outputs: { sequence_number: number; output_hash: string; chain_hash: string }[];
  readonly next: string | null;
}

async function pagesOf({ id }: StartedWorkflow, query = ''): Promise<Page[]> {
  const pages: Page[] = [];
  for (let next: string | null = `/workflow/${id}/outputs.json${query}`; next !== null; ) {
    const { status, body } = await getJson(service, next);
    expect(status).toBe(200);
    const page = body as unknown as Page;
    pages.push(page);
    ({ next } = page);
  }
  return pages;
}

async function workflowOf(outputs: number): Promise<StartedWorkflow> {
  const workflow = await startWorkflow(service);
  for (let number = 1; number <= outputs; number += 1) await stampOutput(service, workflow, { output_hash: sha256(`output ${number}`) });
  return workflow;
}

test('W8: the chain is published in pages, in order, also while the workflow is open; a page names the next', async () => {
  const workflow = await workflowOf(7);
  const pages = await pagesOf(workflow, '?limit=3');
  expect(pages.map(({ outputs }) => outputs.map(({ sequence_number }) => sequence_number))).toEqual([[1, 2, 3], [4, 5, 6], [7]]);
  expect(pages.flatMap(({ outputs }) => outputs.map(({ output_hash }) => output_hash))).toEqual(
    [1, 2, 3, 4, 5, 6, 7].map((number) => sha256(`output ${number}`)),
  );
  expect(pages[0]).toMatchObject({ status: 'pending', output_count: 7, merkle_root: null, closing_record: null });
  expect(await pagesOf(workflow)).toHaveLength(1);
  expect((await pagesOf(workflow, '?first=8'))[0]).toMatchObject({ outputs: [], next: null });
  for (const query of ['?first=0', '?limit=1001', '?first=x']) {
    expect((await getJson(service, `/workflow/${workflow.id}/outputs.json${query}`)).status, query).toBe(422);
  }
  expect((await getJson(service, '/workflow/01938f2e-7b10-4c22-8d33-b0a94e1f6c77/outputs.json')).status).toBe(404);
});

test('V9: the page of a workflow links to its published data', async () => {
  const workflow = await workflowOf(1);
  await completeWorkflow(service, workflow);
  const html = await (await service.fetch(`/workflow/${workflow.id}`)).text();
  for (const path of ['outputs.json', 'closing-record.json']) expect(html).toContain(`href="/workflow/${workflow.id}/${path}"`);
});

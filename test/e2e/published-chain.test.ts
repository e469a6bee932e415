import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkoutDir } from '../../scripts/stack/context.ts';
import { temporaryFolder } from '../support/command.ts';
import { collectionOf, openDatabase } from '../support/database.ts';
import { getJson, randomHash, sha256 } from '../support/requests.ts';
import { type Service, startService } from '../support/service.ts';
import { completeWorkflow, type StartedWorkflow, stampOutput, startWorkflow } from '../support/workflows.ts';

let service: Service;
beforeAll(async () => {
  service = await startService({ keep: true, settings: { RATE_WORKFLOW_START_PER_HOUR: '0' } });
});
afterAll(() => service.stop());

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

/** The script of the docs, with nothing else than bash, the text tools of every system, and sha256sum. */
function runScript(pages: readonly unknown[]): { status: number | null; said: string } {
  const folder = temporaryFolder();
  const files = pages.map((page, index) => {
    const file = join(folder, `outputs-${String(index).padStart(4, '0')}.json`);
    writeFileSync(file, JSON.stringify(page));
    return file;
  });
  const script = join(checkoutDir, 'docs/verify-chain.sh');
  const { status, stdout, stderr } = spawnSync('bash', [script, ...files], { encoding: 'utf8', env: { PATH: '/usr/bin:/bin' } });
  return { status, said: stdout + stderr };
}

test('W8: the chain is published in pages, in order and while the workflow is open; a page names the next', async () => {
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

test('W8, W9: the script of the docs recomputes chain and root with sha256sum alone', async () => {
  const workflow = await workflowOf(5);
  const openPages = await pagesOf(workflow, '?limit=2');
  expect(runScript(openPages)).toMatchObject({ status: 0, said: expect.stringContaining('5 outputs, chain holds') });
  await completeWorkflow(service, workflow);
  const pages = await pagesOf(workflow, '?limit=2');
  const { merkle_root } = (await getJson(service, `/api/v1/workflow/${workflow.id}`)).body;
  expect(runScript(pages)).toEqual({ status: 0, said: `5 outputs, chain holds, Merkle root ${merkle_root}\n` });
  const empty = await startWorkflow(service);
  await completeWorkflow(service, empty);
  expect(runScript(await pagesOf(empty))).toEqual({ status: 0, said: `0 outputs, chain holds, Merkle root ${sha256('')}\n` });

  const forged = (change: (pages: Page[]) => unknown) => {
    const copy = structuredClone(pages);
    change(copy);
    return runScript(copy);
  };
  const refusals: [what: string, said: string, change: (pages: Page[]) => unknown][] = [
    ['the hash of an output', 'the chain breaks at output 3', (copy) => (copy[1]!.outputs[0]!.output_hash = randomHash())],
    ['a chain hash', 'the chain breaks at output 3', (copy) => (copy[1]!.outputs[0]!.chain_hash = randomHash())],
    ['two outputs in another order', 'output 3 is missing', (copy) => copy[1]!.outputs.reverse()],
    ['an output taken out', 'output 4 is missing', (copy) => copy[1]!.outputs.pop()],
    ['the last page', '5 outputs are recorded, and 4 are there', (copy) => copy.pop()],
    ['the last output', '5 outputs are recorded, and 4 are there', (copy) => copy[2]!.outputs.pop()],
    ['the briefing', 'the chain breaks at output 1', (copy) => Object.assign(copy[0]!, { briefing_hash: randomHash() })],
    ['the end of the chain', 'ends with another hash', (copy) => Object.assign(copy[2]!, { chain_hash: randomHash() })],
    ['the root', 'the Merkle root is another one', (copy) => Object.assign(copy[2]!, { merkle_root: randomHash() })],
    ['no outputs.json', 'there is no briefing_hash', (copy) => copy.splice(0, 3, {} as Page)],
  ];
  for (const [what, said, change] of refusals) {
    expect(forged(change), what).toEqual({ status: 1, said: expect.stringContaining(said) });
  }
});

test('V9: the page of a workflow leads to what it publishes', async () => {
  const workflow = await workflowOf(1);
  await completeWorkflow(service, workflow);
  const html = await (await service.fetch(`/workflow/${workflow.id}`)).text();
  for (const path of ['outputs.json', 'closing-record.json']) expect(html).toContain(`href="/workflow/${workflow.id}/${path}"`);
  const db = await openDatabase(service);
  await collectionOf(db, 'outputs').updateOne({ _id: `${workflow.id}/000000000001` }, { $set: { hash: randomHash() } });
  expect(runScript(await pagesOf(workflow))).toMatchObject({ status: 1, said: expect.stringContaining('breaks at output 1') });
});

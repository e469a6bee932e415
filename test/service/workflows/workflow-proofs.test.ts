import { expect, test } from 'vitest';
import type { ConsistencyProofShown, InclusionProofShown } from '../../../src/shared/contract/workflow-proof.ts';
import { verifyConsistency, verifyInclusion } from '../../../src/shared/domain/proofs.ts';
import { collectionOf, openDatabase } from '../../support/database.ts';
import { getJson, randomHash, sha256, verifyRaw } from '../../support/requests.ts';
import { type RunningService, sharedService, startService } from '../../support/service.ts';
import { sharedTsaService } from '../../support/tsa-service.ts';
import { completeWorkflow, type StartedWorkflow, stampOutput, startWorkflow } from '../../support/workflows.ts';

const service = await sharedService();

const bytes = (text: string) => Buffer.from(text, 'hex');
const hashOf = (number: number) => sha256(`output ${number}`);

async function grow(workflow: StartedWorkflow, from: number, to: number): Promise<void> {
  for (let number = from; number <= to; number += 1) {
    expect((await stampOutput(service, workflow, { output_hash: hashOf(number) })).status).toBe(201);
  }
}

async function workflowOf(outputs: number): Promise<StartedWorkflow> {
  const workflow = await startWorkflow(service);
  await grow(workflow, 1, outputs);
  return workflow;
}

const ask = ({ id }: StartedWorkflow, what: string) => getJson(service, `/api/v1/workflow/${id}/${what}`);

async function inclusion(workflow: StartedWorkflow, what: string): Promise<InclusionProofShown> {
  const { status, body } = await ask(workflow, what);
  expect(status).toBe(200);
  return body as InclusionProofShown;
}

async function consistency(workflow: StartedWorkflow, query: string): Promise<ConsistencyProofShown> {
  const { status, body } = await ask(workflow, `consistency?${query}`);
  expect(status).toBe(200);
  return body as ConsistencyProofShown;
}

const judge = (proof: InclusionProofShown, outputHash = proof.output_hash, head = { size: proof.tree_size, root: proof.root_hash }) =>
  verifyInclusion(
    bytes(outputHash),
    { treeSize: proof.tree_size, leafIndex: proof.leaf_index, inclusionPath: proof.inclusion_path.map(bytes) },
    { treeSize: head.size, rootHash: bytes(head.root) },
  );

const judgeConsistency = (proof: ConsistencyProofShown) =>
  verifyConsistency(
    { firstSize: proof.first_size, secondSize: proof.second_size, consistencyPath: proof.consistency_path.map(bytes) },
    { treeSize: proof.first_size, rootHash: bytes(proof.first_root_hash) },
    { treeSize: proof.second_size, rootHash: bytes(proof.second_root_hash) },
  );

test('W21: every output of a completed workflow has a proof that leads to the stamped root, by number and by hash', async () => {
  const workflow = await workflowOf(5);
  await completeWorkflow(service, workflow);
  for (let number = 1; number <= 5; number += 1) {
    const proof = await inclusion(workflow, `proof/${number}`);
    expect(proof).toMatchObject({ sequence_number: number, output_hash: hashOf(number), leaf_index: number - 1, tree_size: 5 });
    const { record, stamp } = proof.closing_record!;
    expect(judge(proof, hashOf(number), { size: record.output_count, root: record.merkle_root })).toEqual({ ok: true });
    expect((await verifyRaw(service, proof.root_stamp?.token)).body).toMatchObject({ valid: true, content_sha256: proof.root_hash });
    const text = await (await service.fetch(`/workflow/${workflow.id}/closing-record.json`)).text();
    expect(record).toEqual(JSON.parse(text));
    expect((await verifyRaw(service, stamp.token)).body).toMatchObject({ valid: true, content_sha256: sha256(text) });
    expect(await inclusion(workflow, `proof?output_hash=${hashOf(number).toUpperCase()}`)).toEqual(proof);
  }
  for (const [what, status] of [
    ['proof/6', 404],
    ['proof/0', 422],
    ['proof/x', 422],
    [`proof?output_hash=${randomHash()}`, 404],
    ['proof?output_hash=00', 422],
    ['proof', 422],
    ['consistency?first=6', 404],
    ['consistency?first=4&second=3', 404],
    ['consistency?first=0', 422],
  ] as const) {
    expect((await ask(workflow, what)).status, what).toBe(status);
  }
});

test('W21: the outputs that an open workflow showed are still there when it is closed, in order', async () => {
  const workflow = await workflowOf(3);
  const early = await inclusion(workflow, 'proof/2');
  expect(early).toMatchObject({ tree_size: 3, root_stamp: null, closing_record: null });
  expect(judge(early)).toEqual({ ok: true });
  await grow(workflow, 4, 6);
  await completeWorkflow(service, workflow);
  const proof = await consistency(workflow, 'first=3');
  const late = await inclusion(workflow, 'proof/2');
  expect(proof).toMatchObject({ first_root_hash: early.root_hash, second_root_hash: late.root_hash, second_size: 6 });
  expect(proof.root_stamp).toEqual(late.root_stamp);
  expect(judgeConsistency(proof)).toEqual({ ok: true });
  const between = await consistency(workflow, 'first=3&second=5');
  expect(between).toMatchObject({ root_stamp: null, closing_record: null });
  expect(judgeConsistency(between)).toEqual({ ok: true });
  expect((await consistency(workflow, 'first=6')).consistency_path).toEqual([]);
});

test('48: two outputs with the same hash have separate proofs; by its hash the first is found', async () => {
  const workflow = await startWorkflow(service);
  for (const number of [1, 2, 1, 3]) await stampOutput(service, workflow, { output_hash: hashOf(number) });
  await completeWorkflow(service, workflow);
  const [first, third] = [await inclusion(workflow, 'proof/1'), await inclusion(workflow, 'proof/3')];
  expect([first.leaf_index, third.leaf_index]).toEqual([0, 2]);
  expect([judge(first), judge(third)]).toEqual([{ ok: true }, { ok: true }]);
  expect(await inclusion(workflow, `proof?output_hash=${hashOf(1)}`)).toEqual(first);
});

test('V9: a record that does not verify gives no proofs', async () => {
  const workflow = await workflowOf(2);
  await completeWorkflow(service, workflow);
  const db = await openDatabase(service);
  const refused = async (what: string) => expect((await ask(workflow, what)).status, what).toBe(500);
  const changes = [
    ['workflows', workflow.id, { 'root.hash': randomHash() }],
    ['workflows', workflow.id, { tier: 'verified' }],
    ['workflows', workflow.id, { status: 'active' }],
  ] as const;
  for (const [name, id, change] of changes) {
    const table = collectionOf(db, name);
    const before = await table.findOne({ _id: id });
    await table.updateOne({ _id: id }, { $set: change });
    for (const what of ['proof/1', 'consistency?first=1']) await refused(what);
    await table.replaceOne({ _id: id }, before ?? {});
    expect((await ask(workflow, 'proof/1')).status).toBe(200);
  }
  const changed = await workflowOf(2);
  await collectionOf(db, 'outputs').updateOne({ _id: `${changed.id}/000000000001` }, { $set: { hash: randomHash() } });
  expect((await ask(changed, 'proof/2')).status).toBe(500);
});

test('W21: closing stamps that no trust anchor covers prove nothing', async () => {
  const { service: stamped } = await sharedTsaService();
  const workflow = await startWorkflow(stamped);
  await stampOutput(stamped, workflow);
  expect((await completeWorkflow(stamped, workflow)).status).toBe(200);
  const { TSP_PROVIDERS_FILE: _, ...rest } = stamped.settings;
  const without = await startService({ workers: 0, settings: { ...rest, TSP: 'mock' } });
  for (const what of ['proof/1', 'consistency?first=1']) {
    const askIn = (service: RunningService) => getJson(service, `/api/v1/workflow/${workflow.id}/${what}`);
    expect(await askIn(stamped)).toMatchObject({ status: 200, body: { root_stamp: { token: expect.any(String) } } });
    const refused = { code: 'internal_error', detail: expect.stringContaining('cannot be verified') };
    expect(await askIn(without)).toMatchObject({ status: 500, body: refused });
  }
});

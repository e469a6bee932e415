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

async function grow(workflow: StartedWorkflow, ...numbers: number[]): Promise<StartedWorkflow> {
  for (const number of numbers) expect((await stampOutput(service, workflow, { output_hash: hashOf(number) })).status).toBe(201);
  return workflow;
}
const workflowOf = async (...numbers: number[]) => grow(await startWorkflow(service), ...numbers);

const ask = ({ id }: StartedWorkflow, what: string, of: RunningService = service) => getJson(of, `/api/v1/workflow/${id}/${what}`);
const inclusion = async (workflow: StartedWorkflow, what: string) => (await ask(workflow, what)).body as InclusionProofShown;
const consistency = async (workflow: StartedWorkflow, query: string) =>
  (await ask(workflow, `consistency?${query}`)).body as ConsistencyProofShown;

const judge = (proof: InclusionProofShown, head = { size: proof.tree_size, root: proof.root_hash }) =>
  verifyInclusion(
    bytes(proof.output_hash),
    { treeSize: proof.tree_size, leafIndex: proof.leaf_index, inclusionPath: proof.inclusion_path.map(bytes) },
    { treeSize: head.size, rootHash: bytes(head.root) },
  );

const judgeConsistency = (proof: ConsistencyProofShown) =>
  verifyConsistency(
    { firstSize: proof.first_size, secondSize: proof.second_size, consistencyPath: proof.consistency_path.map(bytes) },
    { treeSize: proof.first_size, rootHash: bytes(proof.first_root_hash) },
    { treeSize: proof.second_size, rootHash: bytes(proof.second_root_hash) },
  );

test('W21: each output has a proof that leads to the stamped root, by number and by hash; of two with one hash the first is found', async () => {
  const numbers = [1, 2, 1, 3, 4];
  const workflow = await workflowOf(...numbers);
  await completeWorkflow(service, workflow);
  const text = await (await service.fetch(`/workflow/${workflow.id}/closing-record.json`)).text();
  for (const [leaf_index, number] of numbers.entries()) {
    const proof = await inclusion(workflow, `proof/${leaf_index + 1}`);
    const named = { sequence_number: leaf_index + 1, output_hash: hashOf(number), leaf_index, tree_size: 5 };
    expect(proof).toMatchObject({ ...named, closing_record: { record: JSON.parse(text) } });
    const { record, stamp } = proof.closing_record!;
    expect(judge(proof, { size: record.output_count, root: record.merkle_root })).toEqual({ ok: true });
    expect((await verifyRaw(service, proof.root_stamp?.token)).body).toMatchObject({ valid: true, content_sha256: proof.root_hash });
    expect((await verifyRaw(service, stamp.token)).body).toMatchObject({ valid: true, content_sha256: sha256(text) });
    const first = leaf_index === 2 ? await inclusion(workflow, 'proof/1') : proof;
    expect(await inclusion(workflow, `proof?output_hash=${hashOf(number).toUpperCase()}`)).toEqual(first);
  }
  const refusals: Record<number, string[]> = {
    404: ['proof/6', `proof?output_hash=${randomHash()}`, 'consistency?first=6', 'consistency?first=4&second=3'],
    422: ['proof/0', 'proof/x', 'proof?output_hash=00', 'proof', 'consistency?first=0'],
  };
  for (const [status, all] of Object.entries(refusals))
    for (const what of all) expect((await ask(workflow, what)).status, what).toBe(Number(status));
});

test('W21: the outputs that an open workflow showed are still there when it is closed, in order', async () => {
  const workflow = await workflowOf(1, 2, 3);
  const early = await inclusion(workflow, 'proof/2');
  expect(early).toMatchObject({ tree_size: 3, root_stamp: null, closing_record: null });
  expect(judge(early)).toEqual({ ok: true });
  await completeWorkflow(service, await grow(workflow, 4, 5, 6));
  const { root_hash, root_stamp } = await inclusion(workflow, 'proof/2');
  const proof = await consistency(workflow, 'first=3');
  expect(proof).toMatchObject({ first_root_hash: early.root_hash, second_root_hash: root_hash, second_size: 6, root_stamp });
  const between = await consistency(workflow, 'first=3&second=5');
  expect(between).toMatchObject({ root_stamp: null, closing_record: null });
  for (const each of [proof, between]) expect(judgeConsistency(each)).toEqual({ ok: true });
  expect((await consistency(workflow, 'first=6')).consistency_path).toEqual([]);
});

test('V9: a record that does not verify gives no proofs', async () => {
  const [workflow, changed] = [await workflowOf(1, 2), await workflowOf(1, 2)];
  await completeWorkflow(service, workflow);
  const db = await openDatabase(service);
  const workflows = collectionOf(db, 'workflows');
  for (const change of [{ 'root.hash': randomHash() }, { tier: 'verified' }, { status: 'active' }]) {
    const before = await workflows.findOneAndUpdate({ _id: workflow.id }, { $set: change });
    for (const what of ['proof/1', 'consistency?first=1']) expect((await ask(workflow, what)).status, what).toBe(500);
    await workflows.replaceOne({ _id: workflow.id }, before ?? {});
    expect((await ask(workflow, 'proof/1')).status).toBe(200);
  }
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
  const refused = { code: 'internal_error', detail: expect.stringContaining('cannot be verified') };
  for (const what of ['proof/1', 'consistency?first=1']) {
    expect(await ask(workflow, what, stamped)).toMatchObject({ status: 200, body: { root_stamp: { token: expect.any(String) } } });
    expect(await ask(workflow, what, without)).toMatchObject({ status: 500, body: refused });
  }
});

import { expect, test } from 'vitest';
import { readClosingRecord } from '../../../src/shared/proof/closing-record.js';
import { collectionOf, openDatabase } from '../../support/database.ts';
import { getJson, sha256, verifyById } from '../../support/requests.ts';
import { sharedService } from '../../support/service.ts';
import { completeWorkflow, readPage, redactWorkflow, type StartedWorkflow, stampOutput, startWorkflow } from '../../support/workflows.ts';

const service = await sharedService();

const person = { user_email: 'erika@example.com', agent_id: 'agent of Erika' };

async function started(): Promise<StartedWorkflow> {
  const workflow = await startWorkflow(service, person);
  expect((await stampOutput(service, workflow)).status).toBe(201);
  return workflow;
}

const readText = async (path: string) => (await service.fetch(path)).text();
const recordOf = ({ id }: StartedWorkflow) => readText(`/workflow/${id}/closing-record.json`);
const stateOf = async (workflow: StartedWorkflow, headers: Record<string, string> = workflow.headers) =>
  (await getJson(service, `/api/v1/workflow/${workflow.id}`, headers)).body;
type Published = { root_stamp_id: string; closing_record: { hash: string; stamp_id: string } };
const published = async ({ id }: StartedWorkflow) => (await getJson(service, `/workflow/${id}/outputs.json`)).body as unknown as Published;
const pageOf = ({ id }: StartedWorkflow) => readPage(service, `/workflow/${id}`);
/** A commitment, computed as docs/agents/workflows.md says. */
const commit = (salt: string, value: string) => sha256(Buffer.concat([Buffer.from(salt, 'hex'), Buffer.from(value)]));

test('W10, W18: the closing record is canonical JSON of the state, its SHA-256 is stamped, and only the token holder gets the salts', async () => {
  const workflow = await started();
  expect(await stateOf(workflow)).toMatchObject({ commitment_salts: null });
  expect((await completeWorkflow(service, workflow)).status).toBe(200);
  const text = await recordOf(workflow);
  const state = await stateOf(workflow);
  expect(await stateOf(workflow, {})).not.toHaveProperty('commitment_salts');
  const salts = state.commitment_salts as { user_email: string; agent_id: string };
  expect(salts.user_email).not.toBe(salts.agent_id);
  // The reader refuses every other form than that of RFC 8785.
  expect(readClosingRecord(text)).toEqual({
    format: 'qstamp-closing-record/1',
    workflow_id: workflow.id,
    tier: 'standard',
    briefing_hash: workflow.briefingHash,
    created_at: state.created_at,
    confirmed_at: null,
    completed_at: state.completed_at,
    output_count: 1,
    chain_hash: state.chain_hash,
    merkle_root: state.merkle_root,
    email_commitment: commit(salts.user_email, person.user_email),
    agent_commitment: commit(salts.agent_id, person.agent_id),
  });

  const { root_stamp_id, closing_record } = await published(workflow);
  expect(closing_record.hash).toBe(sha256(text));
  const proved = async () => {
    expect((await verifyById(service, closing_record.stamp_id)).body).toMatchObject({ valid: true, content_sha256: sha256(text) });
    expect((await verifyById(service, root_stamp_id)).body).toMatchObject({ valid: true, issued_at: state.completed_at });
    const page = await pageOf(workflow);
    for (const shown of [sha256(text), state.merkle_root, closing_record.stamp_id, 'the closing record and its stamp'])
      expect(page).toContain(shown);
    return page;
  };
  await proved();
  const db = await openDatabase(service);
  const stored = async () => JSON.stringify(await collectionOf(db, 'workflows').findOne({ _id: workflow.id }));
  for (const secret of Object.values(salts)) expect(await stored()).not.toContain(secret);
  expect(await stored()).toContain('encryptedSalts');

  // Redaction removes the salts, and every proof still verifies.
  expect((await redactWorkflow(service, workflow)).status).toBe(200);
  expect(await stateOf(workflow)).toMatchObject({ commitment_salts: null });
  expect(await stored()).not.toContain('encryptedSalts');
  expect(await recordOf(workflow)).toBe(text);
  const page = await proved();
  expect([page, page]).toEqual([expect.stringContaining('[REDACTED], erased on request'), expect.not.stringContaining('does not hold')]);
});

test('W10, W18: data erased before completion has no commitment', async () => {
  const workflow = await startWorkflow(service, person);
  await redactWorkflow(service, workflow);
  expect((await completeWorkflow(service, workflow)).status).toBe(200);
  expect(JSON.parse(await recordOf(workflow))).toMatchObject({ email_commitment: null, agent_commitment: null, output_count: 0 });
  expect(await pageOf(workflow)).not.toContain('does not hold');
});

test('W18: an open workflow has no closing record; the page of a completed workflow without one claims nothing', async () => {
  const workflow = await started();
  const recordStatus = async () => (await service.fetch(`/workflow/${workflow.id}/closing-record.json`)).status;
  expect(await recordStatus()).toBe(404);
  expect((await completeWorkflow(service, workflow)).status).toBe(200);
  await collectionOf(await openDatabase(service), 'workflows').updateOne({ _id: workflow.id }, { $unset: { closingRecord: '' } });
  expect(await recordStatus()).toBe(404);
  const page = await pageOf(workflow);
  expect(page).toContain('does not hold');
  expect(page).toContain('The stamp of the closing record does not verify.');
  expect((await service.fetch(`/workflow/${workflow.id}/evidence.zip`)).status).toBe(500);
});

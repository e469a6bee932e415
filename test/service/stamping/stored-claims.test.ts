import { randomUUIDv7 } from 'node:crypto';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { findReplies } from '../../../src/api/stamps/idempotency.ts';
import type { ApiTools } from '../../../src/api/tools.ts';
import { openStampJudge } from '../../../src/api/verification/stamp-judge.ts';
import { loadConfig } from '../../../src/shared/runtime/config.ts';
import { openStore } from '../../../src/shared/store/store.ts';
import { noLists } from '../../../src/shared/store/trusted-lists.ts';
import { loadTrustSettings } from '../../../src/shared/trust/trusted-providers.ts';
import { collectionOf, openDatabase } from '../../support/database.ts';
import { randomHash, stampInternal } from '../../support/requests.ts';
import { sharedService } from '../../support/service.ts';
import { sharedTsaService } from '../../support/tsa-service.ts';
import { completeWorkflow, stampOutput, startWorkflow } from '../../support/workflows.ts';

const service = await sharedService();

const qualified = { 'proofs.0.isQualified': true };
const older = { 'proofs.0.issuedAt': '2001-01-01T00:00:00.000Z' };

async function changeStamp(tokenId: unknown, fields: Readonly<Record<string, unknown>>): Promise<void> {
  const stamps = collectionOf(await openDatabase(service), 'stamps');
  expect((await stamps.updateOne({ _id: String(tokenId) }, { $set: fields })).matchedCount).toBe(1);
}

test('V9: a replay takes `qualified` from the judgement, not from a flag, and never for a stamp that does not verify', async () => {
  const request = { hash: randomHash() };
  const stamp = () => stampInternal(service, request, { 'idempotency-key': request.hash });
  const first = await stamp();
  expect([first.status, first.body.is_qualified]).toEqual([201, false]);
  const { token_id, verify_url } = first.body;
  await changeStamp(token_id, qualified);
  expect((await stamp()).body).toEqual(first.body);
  await changeStamp(token_id, older);
  const refused = await stamp();
  expect([refused.status, refused.body]).toEqual([500, expect.objectContaining({ code: 'internal_error', token_id, verify_url })]);
});

test('V9: what was said about *qualified* when the stamp was made is not stored: verification judges it again', async () => {
  const stamps = [service, (await sharedTsaService()).service];
  for (const at of stamps) {
    const { body } = await stampInternal(at, { hash: randomHash() });
    expect(body.qualified).toMatchObject({ status: 'not_qualified' });
    const stored = await collectionOf(await openDatabase(at), 'stamps').findOne({ _id: String(body.token_id) });
    expect((stored as unknown as { proofs: object[] }).proofs[0]).not.toHaveProperty('qualification');
  }
});

test('V9: a stamp looked up after a lost reply is judged; if it does not verify, it is not found', async () => {
  const config = loadConfig(service.settings);
  const log = pino({ level: 'silent' });
  const store = openStore(config, log);
  onTestFinished(() => store.close());
  const stampJudge = openStampJudge({ trust: loadTrustSettings(config), lists: noLists, store, clock: Date.now, log } as ApiTools);
  const lookUp = (tokenIds: string[]) => findReplies(store, stampJudge, tokenIds);
  const tokenId = String((await stampInternal(service, { hash: randomHash() })).body.token_id);
  await changeStamp(tokenId, qualified);
  expect([...(await lookUp([tokenId])).values()]).toMatchObject([{ outcome: 'stamped', tokenId, isQualified: false }]);
  await changeStamp(tokenId, older);
  expect((await lookUp([tokenId])).size).toBe(0);
});

test('V9: a workflow is completed only if its closing stamps verify', async () => {
  const workflow = await startWorkflow(service);
  await stampOutput(service, workflow);
  const completed = await completeWorkflow(service, workflow);
  expect([completed.status, completed.body.output_count]).toEqual([200, 1]);
  const workflows = collectionOf(await openDatabase(service), 'workflows');
  const stored = (await workflows.findOne({ _id: workflow.id }))!;
  const { rootTokenId } = stored.closing as { rootTokenId: string };
  const refused = async (fields: Readonly<Record<string, unknown>>) => {
    await workflows.updateOne({ _id: workflow.id }, { $set: fields });
    const { status, body } = await completeWorkflow(service, workflow);
    expect([fields, status, body.code]).toEqual([fields, 500, 'internal_error']);
    await workflows.replaceOne({ _id: workflow.id }, stored);
    expect((await completeWorkflow(service, workflow)).body).toEqual(completed.body);
  };
  await refused({ 'root.hash': 'b'.repeat(64) });
  await refused({ 'root.outputCount': 2 });
  await refused({ completedAt: new Date(0) });
  await refused({ 'closing.rootTokenId': randomUUIDv7() });
  await refused({ 'closingRecord.tokenId': rootTokenId });
  await changeStamp(rootTokenId, older);
  expect(await completeWorkflow(service, workflow)).toMatchObject({ status: 500, body: { code: 'internal_error' } });
});

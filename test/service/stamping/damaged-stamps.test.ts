import { expect, test } from 'vitest';
import { collectionOf, openDatabase } from '../../support/database.ts';
import { getJson, randomHash, stampInternal, verifyById } from '../../support/requests.ts';
import { ownProduct, sharedService } from '../../support/service.ts';
import { completeWorkflow, stampOutput, startWorkflow } from '../../support/workflows.ts';

const browser = { headers: { accept: 'application/xhtml+xml' } };

/** Documents damaged by a disk fault or by mistake, and the expected answers. */
const damages: readonly [what: string, update: Record<string, unknown>, code: string][] = [
  ['no proofs', { $set: { proofs: [] } }, 'record_damaged'],
  ['null for proofs', { $set: { proofs: null } }, 'record_damaged'],
  ['null for a proof', { $set: { proofs: [null] } }, 'record_damaged'],
  ['proofs gone', { $unset: { proofs: 1 } }, 'record_damaged'],
  ['a proof without a token', { $unset: { 'proofs.0.token': 1 } }, 'record_damaged'],
  ['a number for a token', { $set: { 'proofs.0.token': 7 } }, 'record_damaged'],
  ['a time-stamp token without its exchange', { $set: { 'proofs.0.kind': 'token' } }, 'record_damaged'],
  ['proofs and imprint gone', { $unset: { proofs: 1, imprint: 1 } }, 'record_damaged'],
  ['null for the imprint', { $set: { imprint: null } }, 'record_mismatch'],
  ['null for the digest', { $set: { 'imprint.digest': null } }, 'record_mismatch'],
  ['no hash algorithm', { $unset: { 'imprint.algorithm': 1 } }, 'record_mismatch'],
];

test('V1: a damaged record of a stamp proves nothing and says so; no reader fails', async () => {
  const service = await sharedService();
  const { headers } = ownProduct();
  const db = await openDatabase(service);
  const stamps = collectionOf(db, 'stamps');
  for (const [what, update, code] of damages) {
    const { body } = await stampInternal(service, { hash: randomHash() }, headers);
    await stamps.updateOne({ _id: String(body.token_id) }, update);

    const verified = await verifyById(service, body.token_id);
    const nothing = {
      valid: false,
      verdict: 'not_valid',
      issued_at: null,
      content_sha256: null,
      imprint: null,
      tsp_provider: null,
      is_qualified: null,
      qualified: null,
    };
    expect([what, verified.status, verified.body]).toEqual([
      what,
      200,
      { ...nothing, token_id: body.token_id, reason: expect.stringMatching(`^${code}: `) },
    ]);
    const page = await service.fetch(String(body.verify_url), browser);
    const said = await page.text();
    expect([what, page.status]).toEqual([what, 200]);
    for (const words of ['This stamp is not valid', code]) expect(said).toContain(words);
    expect(said).not.toContain('existed no later');
    expect([what, (await service.fetch(`${body.verify_url}/tsr`)).status]).toEqual([what, 404]);
  }
  const listed = await getJson(service, '/api/v1/internal/v1/stamps', headers);
  expect([listed.status, listed.body.total]).toEqual([200, damages.length]);

  const workflow = await startWorkflow(service);
  await stampOutput(service, workflow);
  expect((await completeWorkflow(service, workflow)).status).toBe(200);
  const output = await collectionOf(db, 'outputs').findOne({ _id: `${workflow.id}/000000000001` });
  const closing = await collectionOf(db, 'workflows').findOne({ _id: workflow.id });
  const rootTokenId = (closing!.closing as { rootTokenId: string }).rootTokenId;
  for (const [tokenId, told] of [
    [String(output?.tokenId), 'The stamp of file 1 does not verify'],
    [rootTokenId, 'The stamp of the Merkle root does not verify'],
  ] as const) {
    expect((await stamps.updateOne({ _id: tokenId }, { $set: { proofs: [] } })).matchedCount).toBe(1);
    const page = await service.fetch(`/workflow/${workflow.id}`, browser);
    const said = await page.text();
    expect([page.status, ...['This record does not hold', told, 'record_damaged'].filter((words) => !said.includes(words))]).toEqual([200]);
  }
});

import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test, vi } from 'vitest';
import { readEvidenceRecord } from '../../../src/shared/rfc3161/ers/record.ts';
import { unzip, zipped } from '../../support/bundle-lab.ts';
import { folderWith } from '../../support/cli.ts';
import { collectionOf, openDatabase } from '../../support/database.ts';
import {
  dayMs,
  judge,
  recordOf,
  renew,
  type Stamped,
  stampSome,
  startOldTsa,
  startRenewable,
  tokensIn,
} from '../../support/renewal-lab.ts';
import { postJson, sha256, stampAgent, stampInternal, verifyById, verifyRaw } from '../../support/requests.ts';
import { type RunningService, type Service, serviceToken, sharedService } from '../../support/service.ts';
import { createFault } from '../../support/tsa-answers.ts';
import { sharedTsaService } from '../../support/tsa-service.ts';
import { completeWorkflow, stampOutput, startWorkflow } from '../../support/workflows.ts';

const sha512 = (content: string) => createHash('sha512').update(content).digest('hex');
const year = 365 * dayMs;

interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

async function bring(
  service: RunningService,
  tokenId: string,
  content: string | undefined,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const type = content === undefined ? {} : { 'content-type': 'application/octet-stream' };
  const init = { method: 'POST', headers: { ...type, ...headers }, ...(content !== undefined && { body: content }) };
  const answer = await service.fetch(`/api/v1/verify/v1/token/${tokenId}/evidence`, init);
  return { status: answer.status, body: (await answer.json()) as Answer['body'] };
}

const algorithmsIn = (record: Buffer) => readEvidenceRecord(record).chains.map(({ algorithm }) => algorithm);

/** Makes all of it due, as it will be one day. */
async function makeAllDue(service: Service): Promise<void> {
  const db = await openDatabase(service);
  const inOneDay = new Date(Date.now() + dayMs);
  for (const name of ['stamps', 'batches']) {
    await collectionOf(db, name).updateMany({ 'evidence.renewBy': { $exists: true } }, { $set: { 'evidence.renewBy': inOneDay } });
  }
}

test.each([
  ['tokens', {}],
  ['batches', { aggregate: {}, max_concurrent: 1 }],
])(
  'S17: sending the content adds a chain of SHA-512 to the evidence of %s: one TSA request for all, renewed from then on',
  async (_of, members) => {
    const tsa = await startOldTsa();
    const service = await startRenewable(tsa, members);
    tsa.server.failNext(createFault('slow:300'));
    const contents = Array.from({ length: 8 }, (_, i) => `the content ${i}`);
    const stamps = await stampSome(service, contents);
    const [brought, left] = [stamps.slice(2, 5), stamps.at(-1)!];
    const contentOf = (stamp: Stamped) => contents[stamps.indexOf(stamp)]!;
    tsa.rollOver();
    await renew(service);

    for (const stamp of brought) {
      const imprint = { algorithm: 'sha512', digest: sha512(contentOf(stamp)) };
      const accepted = { status: 202, body: { token_id: stamp.tokenId, imprint, is_renewed: false } };
      expect(await bring(service, stamp.tokenId, contentOf(stamp))).toEqual(accepted);
      expect(await bring(service, stamp.tokenId, contentOf(stamp))).toEqual(accepted);
      expect(await bring(service, stamp.tokenId, 'another content')).toMatchObject({ status: 409, body: { code: 'conflict' } });
    }
    const asked = tsa.server.received.length;
    expect(await renew(service)).toBe('3 renewed with 1 requests, 0 still due, 0 found to have ended');
    expect(tsa.server.received.length).toBe(asked + 1);
    expect(await renew(service)).toBe('0 renewed with 0 requests, 0 still due, 0 found to have ended');
    expect(await collectionOf(await openDatabase(service), 'new_digests').countDocuments()).toBe(0);

    for (const renewals of [1, 2]) {
      for (const stamp of brought) {
        const content = contentOf(stamp);
        expect(await bring(service, stamp.tokenId, content)).toMatchObject({ status: 200, body: { is_renewed: true } });
        const record = await recordOf(service, stamp);
        expect(algorithmsIn(record)).toEqual(['sha256', 'sha512']);
        expect(tokensIn(record)).toEqual([2, renewals]);
        expect(await judge(tsa, record, stamp, Date.now() + year, content)).toMatchObject({ ok: true });
        expect(await judge(tsa, record, stamp, Date.now() + year, 'another')).toMatchObject({ ok: false, code: 'evidence_link_mismatch' });
        expect((await verifyById(service, stamp.tokenId)).body).toMatchObject({ valid: true, content_sha256: stamp.hash });
        const token = record.toString('base64');
        const raw = (members: object) => postJson(service, '/api/v1/verify/v1/raw?details=true', { token, ...members });
        const both = { hash: stamp.hash, hashes: [sha512(content)] };
        expect((await raw(both)).body).toMatchObject({ valid: true, content_sha256: stamp.hash });
        expect((await raw({ hashes: [sha512(content), stamp.hash] })).body).toMatchObject({ valid: true });
        const changed = { valid: false, reason: expect.stringMatching(/^evidence_link_mismatch: /) };
        expect((await raw({ ...both, hashes: [sha512('another')] })).body).toMatchObject(changed);
        expect((await raw({ hashes: [sha512(content)] })).body.valid).toBe(false);
        expect((await verifyRaw(service, stamp.token)).body).toMatchObject({ valid: true, token_id: stamp.tokenId });
      }
      // A stamp whose content was not sent has the usual evidence.
      expect(tokensIn(await recordOf(service, left))).toEqual([1 + renewals]);
      expect(await judge(tsa, await recordOf(service, left), left, Date.now() + year)).toMatchObject({ ok: true });
      await makeAllDue(service);
      expect(await renew(service)).toMatch(/^\d+ renewed with 2 requests, 0 still due, 0 found to have ended$/);
    }
  },
);

test('S17: the secret address of a sealed content is enough to renew its evidence, without sending the content', async () => {
  const tsa = await startOldTsa();
  const service = await startRenewable(tsa);
  const content = 'confidential';
  const { body } = await stampAgent(service, 'sealed', { content_b64: Buffer.from(content).toString('base64') });
  const stamp = { tokenId: String(body.token_id), hash: sha256(content), token: String(body.token) };
  const post = async (address: string): Promise<Answer> => {
    const answer = await service.fetch(`${address}/evidence`, { method: 'POST' });
    return { status: answer.status, body: (await answer.json()) as Answer['body'] };
  };
  const address = String(body.sealed_storage_url);
  expect(await post(`${address.slice(0, -1)}${address.endsWith('A') ? 'B' : 'A'}`)).toMatchObject({ status: 404 });
  const imprint = { algorithm: 'sha512', digest: sha512(content) };
  expect(await post(address)).toEqual({ status: 202, body: { token_id: stamp.tokenId, imprint, is_renewed: false } });
  tsa.rollOver();
  await renew(service);
  expect(await post(address)).toMatchObject({ status: 200, body: { is_renewed: true } });
  expect(await judge(tsa, await recordOf(service, stamp), stamp, Date.now() + year, content)).toMatchObject({ ok: true });
});

test('S17: a new hash that was changed in the database is found', async () => {
  const tsa = await startOldTsa();
  const service = await startRenewable(tsa);
  const [stamp] = (await stampSome(service, ['content'])) as [Stamped];
  await bring(service, stamp.tokenId, 'content');
  await renew(service);
  const stored = collectionOf(await openDatabase(service), 'stamps');
  const other = Buffer.from(sha512('other'), 'hex');
  for (const [change, code] of [
    [{ 'evidence.renewals.0.newDigest.digest': other }, /^evidence_root_mismatch: /],
    [{ 'evidence.renewals.0.newDigest': 7 }, /^record_damaged: /],
  ] as const) {
    await stored.updateOne({ _id: stamp.tokenId }, { $set: change });
    expect((await verifyById(service, stamp.tokenId)).body).toMatchObject({ valid: false, reason: expect.stringMatching(code) });
  }
});

test('S17: content that does not help is refused, each case with its code, and changes nothing', async () => {
  const { service } = await sharedTsaService();
  const [stamp] = (await stampSome(service, ['content'])) as [Stamped];
  const unknown = '01938f2e-5a3c-7d41-9c0e-2f6b8a417e55';
  for (const [id, content, expected, headers] of [
    [unknown, 'content', { status: 404, body: { code: 'not_found' } }],
    ['no-id', 'content', { status: 422 }],
    [stamp.tokenId, undefined, { status: 422, body: { detail: [{ type: 'missing', loc: ['body'] }] } }],
    [stamp.tokenId, '', { status: 409 }],
    [stamp.tokenId, '{"hash":"a"}', { status: 415 }, { 'content-type': 'application/json' }],
  ] as const)
    expect(await bring(service, id, content, headers)).toMatchObject(expected);
  const db = await openDatabase(service);
  await collectionOf(db, 'stamps').updateOne({ _id: stamp.tokenId }, { $set: { 'proofs.0.issuedAt': '2020-01-01T00:00:00.000Z' } });
  expect(await bring(service, stamp.tokenId, 'content')).toMatchObject({ status: 409, body: { code: 'conflict' } });
  expect(await collectionOf(db, 'new_digests').findOne({ _id: stamp.tokenId })).toBeNull();
});

test('S17: stamps of the mock provider have no evidence; a larger content takes a service token', async () => {
  const service = await sharedService();
  const content = 'x'.repeat(Number(service.settings.SEALED_MAX_BYTES) + 1);
  const { body } = await stampInternal(service, { hash: sha256(content) });
  const tokenId = String(body.token_id);
  expect(await bring(service, tokenId, content)).toMatchObject({ status: 413, body: { code: 'payload_too_large' } });
  expect(await bring(service, tokenId, content, { 'x-service-token': serviceToken })).toMatchObject({
    status: 404,
    body: { detail: expect.stringMatching(/mock/) },
  });
});

test('S17: the command sends the file, and saves the record once it covers the new hash', async () => {
  const tsa = await startOldTsa();
  const service = await startRenewable(tsa);
  const { run, path, record } = folderWith({ a: 'a', unstamped: 'b', 'root.pem': tsa.pki.rootPem }, { url: service.url });
  await run(['stamp', 'a']);
  expect(await run(['renew', 'a'])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^a: its SHA-512 will be covered after the next daily run/),
  });
  await renew(service);
  const { stdout, code } = await run(['renew', '--json', 'a', 'unstamped']);
  expect(code).toBe(5);
  expect(JSON.parse(stdout.split('\n')[0]!)).toMatchObject({ token_id: record('a').stamp.token_id, is_renewed: true, saved: 'a.ers' });
  expect(algorithmsIn(readFileSync(path('a.ers')))).toEqual(['sha256', 'sha512']);
  expect(await run(['verify', '--ca', 'root.pem', 'a.ers'])).toMatchObject({ code: 0 });
  writeFileSync(path('a'), 'changed');
  expect(await run(['renew', 'a'])).toMatchObject({ code: 3, stderr: expect.stringContaining('not the content that was stamped') });
});

test('S17: after the first certificates ended, the bundle proves seals with a new hash, and the root proves outputs', async () => {
  const tsa = await startOldTsa();
  const service = await startRenewable(tsa);
  const workflow = await startWorkflow(service);
  const output = await stampOutput(service, workflow, { output_hash: sha256('an output') });
  expect(await completeWorkflow(service, workflow)).toMatchObject({ status: 200 });
  const bundleNow = async () => unzip(Buffer.from(await (await service.fetch(`/workflow/${workflow.id}/evidence.zip`)).arrayBuffer()));
  const files = await bundleNow();
  const stored = collectionOf(await openDatabase(service), 'stamps');
  const idOf = async (content: Buffer | string) => String((await stored.findOne({ 'imprint.digest': sha256(content) }))?._id);
  tsa.rollOver();
  const contents = [files.get('root.bin')!, files.get('closing-record.json')!, 'an output'];
  for (const content of contents) {
    const path = `/api/v1/verify/v1/token/${await idOf(content)}/evidence`;
    const headers = { 'content-type': 'application/octet-stream' };
    const body = typeof content === 'string' ? content : new Uint8Array(content);
    expect((await service.fetch(path, { method: 'POST', headers, body })).status).toBe(202);
  }
  expect(output.status).toBe(201);
  // Nothing is due yet. Due evidence would be renewed first, and would hold without the new hash.
  const soon = { ...service, settings: { ...service.settings, RENEW_BEFORE_DAYS: '1' } };
  expect(await renew(soon)).toBe('3 renewed with 1 requests, 0 still due, 0 found to have ended');
  const renewed = await bundleNow();
  for (const name of ['root.ers', 'closing-record.ers']) expect(algorithmsIn(renewed.get(name)!)).toEqual(['sha256', 'sha512']);
  expect(String(renewed.get('certificates/others.pem')).match(/BEGIN CERTIFICATE/g)).toHaveLength(3);
  const { run } = folderWith({ 'bundle.zip': await zipped(renewed), 'root.pem': tsa.pki.rootPem });
  const judged = async () => JSON.parse((await run(['verify', '--json', '--ca', 'root.pem', 'bundle.zip'])).stdout);
  expect(await judged()).toMatchObject({ verdict: 'valid', own_stamps: { valid: 1 } });
  vi.useFakeTimers({ now: Date.now() + 60 * dayMs, toFake: ['Date'] });
  try {
    expect(await judged()).toMatchObject({ verdict: 'valid', own_stamps: { not_proved: 1 } });
  } finally {
    vi.useRealTimers();
  }
});

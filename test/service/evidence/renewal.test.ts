import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { runScript, unzip, zipped } from '../../support/bundle-lab.ts';
import { issueCrl } from '../../support/certificates.ts';
import { folderWith } from '../../support/cli.ts';
import { collectionOf, openDatabase } from '../../support/database.ts';
import { inherited } from '../../support/environment.ts';
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
import { eventually, getJson, sha256, stampAgent, verifyById, verifyRaw } from '../../support/requests.ts';
import { freshRedisUrl } from '../../support/servers.ts';
import { addWorker, addWorkerProcess, type Service, startPart } from '../../support/service.ts';
import { createFault } from '../../support/tsa-answers.ts';
import { providersSettings, startTsa } from '../../support/tsa-service.ts';
import { completeWorkflow, stampOutput, startWorkflow } from '../../support/workflows.ts';

const run = promisify(execFile);

/** Runs the command like an operator. */
const renewByCommand = async ({ settings }: Service) =>
  (await run(process.execPath, ['bin/qstamp.mjs', 'renew'], { env: { ...inherited, ...settings, LOG_LEVEL: 'warn' } })).stdout.trim();

test('S14: evidence is renewed before the certificate of its TSA ends: one request for all, and the token stays as it was', async () => {
  const tsa = await startOldTsa();
  const service = await startRenewable(tsa);
  const stamps = await stampSome(service, 9);
  const [first] = stamps as [Stamped];
  expect((await verifyById(service, first.tokenId)).body).toMatchObject({ valid: true });

  expect(await renew(service)).toBe('0 renewed with 1 requests, 9 still due, 0 found to have ended');
  expect(tokensIn(await recordOf(service, first))).toEqual([1]);

  tsa.rollOver();
  const asked = tsa.server.received.length;
  expect(await renewByCommand(service)).toBe('9 renewed with 1 requests, 0 still due, 0 found to have ended');
  expect(tsa.server.received.length).toBe(asked + 1);
  for (const stamp of stamps) {
    const record = await recordOf(service, stamp);
    expect(tokensIn(record)).toEqual([2]);
    expect(await judge(tsa, record, stamp)).toMatchObject({ ok: true });
    // A year later the certificate of the first token has ended; the record has not.
    expect(await judge(tsa, record, stamp, Date.now() + 365 * dayMs)).toMatchObject({ ok: true });
    const { body } = await verifyById(service, stamp.tokenId);
    expect(body).toMatchObject({ valid: true, content_sha256: stamp.hash });
    expect(Date.parse(String(body.holds_until))).toBeGreaterThan(Date.now() + 365 * dayMs);
    const raw = await service.fetch(`/api/v1/verify/v1/token/${stamp.tokenId}/token`);
    expect(Buffer.from(await raw.arrayBuffer()).toString('base64')).toBe(stamp.token);
    expect((await verifyRaw(service, stamp.token)).body).toMatchObject({ valid: true, token_id: stamp.tokenId });
    expect((await verifyRaw(service, record.toString('base64'))).body).toMatchObject({ valid: true });
  }
  expect(await renew(service)).toBe('0 renewed with 0 requests, 0 still due, 0 found to have ended');
  await eventually(async () => {
    const { body } = await getJson(service, '/api/v1/status');
    return (
      (body.evidence as { due: number }).due === 0 &&
      (body.counters as Record<string, Record<string, number>>).lifetime!.evidence_renewed === 9
    );
  });
});

test('S14: if a worker is killed while it renews, no stamp is renewed twice or left out', async () => {
  const tsa = await startOldTsa();
  const service = await startRenewable(tsa);
  const stamps = await stampSome(service, 40);
  tsa.rollOver();
  // A worker on another queue looks for what is due as soon as it starts.
  const elsewhere = { settings: { ...service.settings, REDIS_URL: await freshRedisUrl() } };
  const asked = tsa.server.received.length;
  const killed = await addWorkerProcess(elsewhere);
  await eventually(async () => tsa.server.received.length > asked + 1, 20_000, 1);
  await killed.kill();
  await addWorker(elsewhere);
  const db = await openDatabase(service);
  const left = () => collectionOf(db, 'stamps').countDocuments({ 'evidence.renewals': { $exists: false } });
  await eventually(async () => (await left()) === 0, 30_000);
  for (const stamp of stamps) expect(tokensIn(await recordOf(service, stamp))).toEqual([2]);
  expect(await collectionOf(db, 'renewals').countDocuments({ isOpen: true })).toBe(0);
});

test('S14: a batch is renewed once for all its leaves, three times as once', async () => {
  const tsa = await startOldTsa();
  const service = await startRenewable(tsa, { aggregate: {}, max_concurrent: 1 });
  tsa.server.failNext(createFault('slow:300'));
  const stamps = await stampSome(service, 20);
  const db = await openDatabase(service);
  const batches = collectionOf(db, 'batches');
  expect(await batches.countDocuments()).toBeGreaterThan(0);
  tsa.rollOver();
  const subjects = (await batches.countDocuments()) + (await collectionOf(db, 'stamps').countDocuments({ 'proofs.kind': 'token' }));
  for (const times of [1, 2, 3]) {
    const asked = tsa.server.received.length;
    expect(await renew(service)).toBe(`${subjects} renewed with 1 requests, 0 still due, 0 found to have ended`);
    expect(tsa.server.received.length).toBe(asked + 1);
    for (const stamp of [stamps.at(0)!, stamps.at(10)!, stamps.at(-1)!]) {
      const record = await recordOf(service, stamp);
      expect(tokensIn(record)).toEqual([1 + times]);
      expect(await judge(tsa, record, stamp)).toMatchObject({ ok: true });
      expect((await verifyById(service, stamp.tokenId)).body).toMatchObject({ valid: true, content_sha256: stamp.hash });
      expect((await verifyRaw(service, stamp.token)).body).toMatchObject({ valid: true, token_id: stamp.tokenId });
    }
    // The same certificate would not help a second time.
    const inOneDay = new Date(Date.now() + dayMs);
    for (const name of ['stamps', 'batches']) {
      await collectionOf(db, name).updateMany({ 'evidence.renewBy': { $exists: true } }, { $set: { 'evidence.renewBy': inOneDay } });
    }
  }
});

test('S16: after a TSA key is compromised, the renewal proves the stamp; if the renewals are void, the token does', async () => {
  const tsa = await startOldTsa();
  const service = await startRenewable(tsa);
  const [renewed] = (await stampSome(service, 1)) as [Stamped];
  tsa.rollOver();
  await renew(service);
  const [later] = (await stampSome(service, 1)) as [Stamped];
  // A revocation list has whole seconds.
  const nowMs = Date.now() + 2_000;
  const lists = (serialNumber: Buffer) =>
    issueCrl(
      { number: 1n, thisUpdateMs: nowMs, nextUpdateMs: nowMs + dayMs, revoked: [{ serialNumber, revokedAtMs: nowMs, reason: 1 }] },
      tsa.pki.intermediate,
    );
  const verifyWith = async (crl: Buffer, stamp: Stamped) => {
    const settings = { ...service.settings, ...providersSettings([{ tsa, crl }]), PORT: '0' };
    const api = await startPart('api', settings);
    onTestFinished(async () => void (await api.stop()));
    return (await fetch(`${api.url}/api/v1/verify/v1/token/${stamp.tokenId}`)).json();
  };
  // The key of the first token is compromised: the earlier renewal proves its time.
  expect(await verifyWith(lists(tsa.old.serialNumber), renewed)).toMatchObject({ valid: true });
  // The key of the renewal is compromised: the first token is still valid.
  expect(await verifyWith(lists(tsa.pki.signer.serialNumber), renewed)).toMatchObject({ valid: true });
  expect(await verifyWith(lists(tsa.pki.signer.serialNumber), later)).toMatchObject({
    valid: false,
    reason: expect.stringMatching(/^certificate_revoked/),
  });
});

test('S16: a renewal that was changed in the database is found', async () => {
  const tsa = await startOldTsa();
  const service = await startRenewable(tsa);
  const stamps = (await stampSome(service, 2)) as [Stamped, Stamped];
  tsa.rollOver();
  await renew(service);
  const db = await openDatabase(service);
  const [one, other] = await Promise.all(stamps.map(({ tokenId }) => collectionOf(db, 'stamps').findOne({ _id: tokenId })));
  await collectionOf(db, 'stamps').updateOne({ _id: stamps[0].tokenId }, { $set: { evidence: other!.evidence } });
  await collectionOf(db, 'stamps').updateOne({ _id: stamps[1].tokenId }, { $set: { 'evidence.renewals': [{ id: 'nobody', path: 7 }] } });
  expect(one).not.toEqual(other);
  expect((await verifyById(service, stamps[0].tokenId)).body).toMatchObject({
    valid: false,
    reason: expect.stringMatching(/^evidence_root_mismatch/),
  });
  expect((await verifyById(service, stamps[1].tokenId)).body).toMatchObject({
    valid: false,
    reason: expect.stringMatching(/^record_damaged/),
  });
  expect((await service.fetch(`/api/v1/verify/v1/token/${stamps[1].tokenId}/evidence`)).status).toBe(404);
});

test('S16: evidence whose certificate has ended is counted and not renewed', async () => {
  const tsa = await startOldTsa();
  const service = await startRenewable(tsa);
  const [stamp] = (await stampSome(service, 1)) as [Stamped];
  tsa.rollOver();
  const db = await openDatabase(service);
  const past = new Date(Date.now() - dayMs);
  await collectionOf(db, 'stamps').updateMany({}, { $set: { 'evidence.endsAt': past, 'evidence.renewBy': past } });
  expect(await renew(service)).toBe('0 renewed with 0 requests, 0 still due, 1 found to have ended');
  expect(await renew(service)).toBe('0 renewed with 0 requests, 0 still due, 0 found to have ended');
  await eventually(async () => ((await getJson(service, '/api/v1/status')).body.evidence as { lapsed: number }).lapsed === 1);
  expect((await verifyById(service, stamp.tokenId)).body).toMatchObject({ valid: true });
});

test.each([
  ['tokens', {}],
  ['batches', { aggregate: { window_ms: 1_000 } }],
])(
  'S16: workflow bundles and containers of sealed stamps hold the renewed evidence of %s, with all signer certificates',
  async (of, members) => {
    const tsa = await startOldTsa();
    const service = await startRenewable(tsa, members);
    const workflow = await startWorkflow(service);
    const outputs = await Promise.all(['a', 'b'].map((content) => stampOutput(service, workflow, { output_hash: sha256(content) })));
    expect(outputs).toMatchObject([{ status: 201 }, { status: 201 }]);
    expect(await completeWorkflow(service, workflow)).toMatchObject({ status: 200 });
    const { body } = await stampAgent(service, 'sealed', { content_b64: Buffer.from('confidential').toString('base64') });
    const zipAt = async (path: string) => Buffer.from(await (await service.fetch(path)).arrayBuffer());
    const bundleNow = async () => unzip(await zipAt(`/workflow/${workflow.id}/evidence.zip`));
    const before = await bundleNow();
    const kind = of === 'tokens' ? 'token' : 'record';
    expect(String(before.get('stamps/1.txt'))).toMatch(new RegExp(`^1 ${kind} \\S+\n2 ${kind} \\S+\n$`));
    tsa.rollOver();
    expect(await renew(service)).toMatch(/^[45] renewed with 1 requests, 0 still due, 0 found to have ended$/);

    const files = await bundleNow();
    for (const name of ['root', 'closing-record']) {
      expect(files.get(`${name}.tst`)).toEqual(before.get(`${name}.tst`));
      expect(tokensIn(files.get(`${name}.ers`)!)).toEqual([2]);
      const hash = sha256(files.get({ root: 'root.bin', 'closing-record': 'closing-record.json' }[name]!)!);
      const stamped = { tokenId: '', token: '', hash };
      expect(await judge(tsa, files.get(`${name}.ers`)!, stamped, Date.now() + 365 * dayMs)).toMatchObject({ ok: true });
    }
    expect(String(files.get('stamps/1.txt'))).toMatch(/^1 record \S+\n2 record \S+\n$/);
    expect(String(files.get('certificates/others.pem')).match(/BEGIN CERTIFICATE/g)).toHaveLength(3);
    const container = await unzip(await zipAt(`${body.sealed_storage_url}/container`));
    expect(tokensIn(container.get('META-INF/evidencerecord.ers')!)).toEqual([2]);

    const { run } = folderWith({
      'bundle.zip': await zipped(files),
      'sealed.asics': await zipAt(`${body.sealed_storage_url}/container`),
      'root.pem': tsa.pki.rootPem,
    });
    const { stdout } = await run(['verify', '--json', '--ca', 'root.pem', 'bundle.zip']);
    expect(JSON.parse(stdout)).toMatchObject({ verdict: 'valid', own_stamps: { valid: 2 } });
    expect(await run(['verify', '--ca', 'root.pem', 'sealed.asics'])).toMatchObject({ code: 0 });
    expect(await runScript(files)).toMatchObject({ code: 3, output: expect.stringContaining('NOT CHECKED: renewals of evidence records') });
  },
);

test('S16: evidence whose trust anchor is missing when terms are found again is counted, and renewed once the anchor is back', async () => {
  const tsa = await startOldTsa();
  const service = await startRenewable(tsa);
  const stamps = await stampSome(service, 3);
  tsa.rollOver();
  const db = await openDatabase(service);
  // As after a change of the algorithm policy.
  await collectionOf(db, 'checks').deleteOne({ _id: 'evidence-walk' });
  const stranger = await startTsa();
  const withoutAnchor = { ...service, settings: { ...service.settings, ...providersSettings([{ tsa: stranger, name: 'tsa-1' }]) } };
  for (const _ of [1, 2]) {
    expect(await renew(withoutAnchor)).toBe('0 renewed with 0 requests, 0 still due, 0 found to have ended');
    await eventually(async () => ((await getJson(service, '/api/v1/status')).body.evidence as { unknown: number }).unknown === 3);
  }
  expect(await (await service.fetch('/status', { headers: { accept: 'application/xhtml+xml' } })).text()).toMatch(
    /Not renewed, because [^:]+: 3\./,
  );
  expect(await renew(service)).toBe('3 renewed with 1 requests, 0 still due, 0 found to have ended');
  for (const stamp of stamps) expect(await judge(tsa, await recordOf(service, stamp), stamp)).toMatchObject({ ok: true });
  await eventually(async () => ((await getJson(service, '/api/v1/status')).body.evidence as { unknown: number }).unknown === 0);
});

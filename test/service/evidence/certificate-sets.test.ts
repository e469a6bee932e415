import { hash, randomUUIDv7 } from 'node:crypto';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { tokenIn } from '../../../src/shared/rfc3161/index.ts';
import { createCertificateSetStore } from '../../../src/shared/store/certificate-sets.ts';
import type { StoredStamp } from '../../../src/shared/store/stamps.ts';
import { openStore, type Store } from '../../../src/shared/store/store.ts';
import { collectionOf, openDatabase } from '../../support/database.ts';
import { freshMongoUrl, freshStore } from '../../support/servers.ts';
import { createTsaLab, type TsaLab } from '../../support/tsa-lab.ts';

const lab = createTsaLab();

/** A stamp as a worker makes it from an answer of the lab’s TSA. */
function stampOf(tsa: TsaLab, change: Parameters<TsaLab['specimen']>[0] = {}): StoredStamp {
  const { asked, answer } = tsa.specimen(change);
  const issuedAt = '2026-11-21T12:00:00.250Z';
  const token = tokenIn(answer)!.toString('base64');
  return {
    tokenId: randomUUIDv7(),
    imprint: { algorithm: 'sha256', digest: 'ab'.repeat(32) },
    proofs: [{ kind: 'token', provider: 'tsa-1', isQualified: false, issuedAt, token, tsq: Buffer.from(asked.der), tsr: answer }],
    tier: 'basic',
    caller: { kind: 'internal', product: 'test' },
    acceptedAt: new Date(),
    requestId: 'test',
  };
}

function open(settings: ReturnType<typeof freshStore>): Store {
  const store = openStore(settings, pino({ level: 'silent' }));
  onTestFinished(() => store.close());
  return store;
}

test('V1: the answer of a TSA reads back octet for octet, although its certificates are stored once for all its tokens', async () => {
  const settings = freshStore();
  const store = open(settings);
  const withoutAny = stampOf(lab, { ask: { certReq: false } });
  const stamps = [stampOf(lab), stampOf(lab), stampOf(createTsaLab('ed25519')), withoutAny];
  await store.stamps.insertOnce(stamps);
  for (const stamp of stamps) {
    // Read by the process that wrote it, and by another one.
    for (const reader of [store, open(settings)]) expect(await reader.stamps.find(stamp.tokenId)).toEqual(stamp);
    expect(await store.stamps.findIdByToken(stamp.proofs[0].token)).toBe(stamp.tokenId);
  }
  const db = await openDatabase({ settings: { MONGODB_URL: settings.MONGODB_URL } });
  const sets = await collectionOf(db, 'certificate_sets').find().toArray();
  expect(sets).toHaveLength(2);
  const documents = await collectionOf(db, 'stamps').find().toArray();
  const certificates = Buffer.from((sets[0]!.der as { buffer: Buffer }).buffer).subarray(0, 64);
  for (const { proofs } of documents) {
    const [{ tsr }] = proofs as [{ tsr: { buffer: Buffer } }];
    expect(Buffer.from(tsr.buffer).includes(certificates)).toBe(false);
  }
});

test('V1: a stamp proves nothing if its certificates are lost or moved; an answer in another form is kept unchanged', async () => {
  const settings = freshStore();
  const store = open(settings);
  const [whole, first, second] = [stampOf(lab), stampOf(lab), stampOf(lab)];
  const odd: StoredStamp = { ...whole, proofs: [{ ...(whole.proofs[0] as object), token: 'b2Rk' } as (typeof whole.proofs)[0]] };
  await store.stamps.insertOnce([odd, first, second]);
  expect(await store.stamps.find(odd.tokenId)).toEqual(odd);

  const db = await openDatabase({ settings: { MONGODB_URL: settings.MONGODB_URL } });
  const change = (tokenId: string, fields: Record<string, unknown>) =>
    collectionOf(db, 'stamps').updateOne({ _id: tokenId }, { $set: fields });
  for (const certificates of [null, 7, { set: 'unknown', at: 0 }, { set: 7, at: 0 }, {}]) {
    await change(first.tokenId, { 'proofs.0.certificates': certificates });
    expect((await store.stamps.find(first.tokenId))?.proofs[0].token).toBe('');
  }
  await collectionOf(db, 'certificate_sets').deleteMany({});
  expect((await open(settings).stamps.find(second.tokenId))?.proofs[0].token).toBe('');
});

test('V1: a stamp proves nothing while its certificates are damaged, and proves again after repair', async () => {
  const settings = freshStore();
  const stamp = stampOf(lab);
  await open(settings).stamps.insertOnce([stamp]);
  const sets = collectionOf(await openDatabase({ settings: { MONGODB_URL: settings.MONGODB_URL } }), 'certificate_sets');
  const { _id, der } = (await sets.findOne({}))!;
  const reader = open(settings);
  const damaged = Buffer.from((der as { buffer: Buffer }).buffer);
  damaged[damaged.length >> 1]! ^= 1;
  for (const instead of [damaged, damaged.subarray(1), Buffer.alloc(0), 'text', null]) {
    await sets.updateOne({ _id }, { $set: { der: instead } });
    expect((await reader.stamps.find(stamp.tokenId))?.proofs[0].token).toBe('');
  }
  await sets.updateOne({ _id }, { $set: { der } });
  expect(await reader.stamps.find(stamp.tokenId)).toEqual(stamp);
});

test('V1: every reader gets all certificates, however many others read at the same time', async () => {
  const db = await openDatabase({ settings: { MONGODB_URL: freshMongoUrl() } });
  const made = Array.from({ length: 600 }, (_, index) => Buffer.from(`certificates ${index}`));
  const all = new Map(made.map((der) => [hash('sha256', der, 'hex'), der] as const));
  const ids = [...all.keys()];
  const writer = createCertificateSetStore(db);
  await writer.insertOnce(all);
  for (const store of [writer, createCertificateSetStore(db)]) {
    const [first, second, both] = [ids.slice(0, 300), ids.slice(300), ids];
    const calls = [first, second, both, first.slice(0, 1)];
    // Again, when some are remembered and others are not.
    for (const asked of [calls, calls.toReversed()]) {
      const answers = await Promise.all(asked.map((call) => store.findMany([...call, 'unknown'])));
      expect(answers.map((answer) => answer.size)).toEqual(asked.map((call) => call.length));
      for (const [index, answer] of answers.entries()) for (const id of asked[index]!) expect(answer.get(id)).toEqual(all.get(id));
    }
  }
});

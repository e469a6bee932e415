import { Binary } from 'mongodb';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { imprintAlgorithms } from '../../../src/shared/domain/stamp.ts';
import { openStore, type Store } from '../../../src/shared/store/store.ts';
import { makeBatchedStamps } from '../../support/batched-stamps.ts';
import { collectionOf, openDatabase } from '../../support/database.ts';
import { createRecordLab, imprintOf } from '../../support/record-lab.ts';
import { freshStore } from '../../support/servers.ts';

const lab = createRecordLab();

async function openFresh(): Promise<{ store: Store; url: string }> {
  const settings = freshStore();
  const store = openStore(settings, pino({ level: 'silent' }));
  onTestFinished(() => store.close());
  return { store, url: settings.MONGODB_URL };
}

test.each(imprintAlgorithms)(
  'S14: stamps of a %s batch read as they were written, and their record is composed of both documents',
  async (algorithm) => {
    const { store } = await openFresh();
    const { batch, stamps, leaves } = makeBatchedStamps(lab.tsa, 5, { algorithm });
    await store.batches.insertOnce(batch, leaves);
    await store.batches.insertOnce({ ...batch, leaves: 77 }, []);
    await store.stamps.insertOnce(stamps);
    for (const stamp of stamps) {
      const { digest } = stamp.imprint;
      const [proof] = stamp.proofs;
      expect(await store.stamps.find(stamp.tokenId)).toEqual(stamp);
      expect(await lab.judge(Buffer.from(proof.token, 'base64'), [imprintOf(Buffer.from(digest, 'hex'), algorithm)])).toMatchObject({
        ok: true,
      });
      expect(await store.stamps.findIdByToken(proof.token)).toBe(stamp.tokenId);
    }
    const again = await store.stamps.insertOnce(stamps.map((stamp) => ({ ...stamp, requestId: 'again' })));
    expect(again).toEqual(stamps.map((stored) => ({ stored, isNew: false })));
  },
);

test('V2: a record that differs in any octet from the issued one has no stamp', async () => {
  const { store } = await openFresh();
  const { batch, stamps, leaves } = makeBatchedStamps(lab.tsa, 3);
  await store.batches.insertOnce(batch, leaves);
  await store.stamps.insertOnce(stamps);
  const token = Buffer.from(stamps[0]!.proofs[0].token, 'base64');
  const changed = Buffer.from(token);
  changed[changed.length - 1]! ^= 1;
  for (const other of [changed, token.subarray(0, -1), Buffer.concat([token, Buffer.alloc(1)])])
    expect(await store.stamps.findIdByToken(other.toString('base64'))).toBeNull();
});

test('V1: a leaf proves nothing if its batch or path is damaged', async () => {
  const { store, url } = await openFresh();
  const { batch, stamps, leaves } = makeBatchedStamps(lab.tsa, 3);
  await store.batches.insertOnce(batch, leaves);
  await store.stamps.insertOnce(stamps);
  const db = await openDatabase({ settings: { MONGODB_URL: url } });
  const { tokenId } = stamps[0]!;
  const tokenOf = async () => (await store.stamps.find(tokenId))?.proofs[0].token;
  const change = (collection: string, _id: string, fields: Record<string, unknown>) =>
    collectionOf(db, collection).updateOne({ _id }, { $set: fields });

  for (const path of [new Binary(Buffer.alloc(31)), new Binary(Buffer.alloc(0)), new Binary(Buffer.alloc(64)), 'path', null]) {
    await change('stamps', tokenId, { 'proofs.0.path': path });
    expect(await tokenOf()).toBe('');
  }
  await change('stamps', tokenId, { 'proofs.0.path': new Binary(Buffer.alloc(32)) });
  expect(await tokenOf()).not.toBe('');
  for (const index of [-1, 3, 0.5, '0']) {
    await change('stamps', tokenId, { 'proofs.0.index': index });
    expect(await tokenOf()).toBe('');
  }
  await change('stamps', tokenId, { 'proofs.0.index': 0 });
  expect(await tokenOf()).not.toBe('');
  for (const fields of [
    { crown: new Binary(batch.crown.subarray(32)) },
    { tsr: new Binary(batch.tsr.subarray(1)) },
    { tsr: null },
    { root: { algorithm: 'sha1', digest: '' } },
  ]) {
    await change('batches', batch.batchId, fields);
    expect(await tokenOf()).toBe('');
  }
});

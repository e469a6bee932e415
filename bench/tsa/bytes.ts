import { createSecretKey, randomBytes, randomUUIDv7 } from 'node:crypto';
import { MongoClient } from 'mongodb';
import { pino } from 'pino';
import { developmentPolicy } from '../../src/shared/domain/qualification.ts';
import { type Imprint, type Proof, sha256Imprint, type TokenProof } from '../../src/shared/domain/stamp.ts';
import { encodeRequest, issueResponse, tokenIn } from '../../src/shared/rfc3161/index.ts';
import { randomSerial } from '../../src/shared/runtime/random-octets.ts';
import { openStore } from '../../src/shared/store/store.ts';
import { createPki } from '../../src/tsa/pki.ts';
import { plantTree } from '../../src/workers/providers/batch-tree.ts';
import { sizeOf } from './running.ts';

const stamps = 8_192;

const { signer } = createPki({ nowMs: Date.now() });

function sign({ algorithm, digest }: Imprint): TokenProof {
  const tsq = encodeRequest({ imprint: { algorithm, digest: Buffer.from(digest, 'hex') }, nonce: randomBytes(16) });
  const tsr = issueResponse({ identity: signer, policies: [developmentPolicy], accuracy: { seconds: 1 } }, tsq, {
    timeMs: Date.now(),
    serial: randomSerial(),
  });
  const token = tokenIn(tsr)!.toString('base64');
  return { kind: 'token', provider: 'local-tsa', isQualified: false, issuedAt: new Date().toISOString(), token, tsq, tsr };
}

/** The bytes per stamp in the database, with its indexes and its share of the batch, for batches of `leaves` stamps. With 1 there are no batches. */
export async function bytesPerStamp(mongoUrl: string, leaves: number): Promise<number> {
  const mongo = new URL(mongoUrl);
  mongo.pathname = `/bench_bytes_${leaves}`;
  const store = openStore({ MONGODB_URL: mongo.href, MASTER_KEY: createSecretKey(randomBytes(32)) }, pino({ level: 'silent' }));
  const client = await MongoClient.connect(mongo.href, { retryWrites: false });
  const db = client.db(mongo.pathname.slice(1));
  try {
    await store.prepare();
    for (let written = 0; written < stamps; written += leaves) {
      const imprints = Array.from({ length: leaves }, () => sha256Imprint(randomBytes(32).toString('hex')));
      const [first, ...others] = imprints;
      let proofs: Proof[] = [sign(first!)];
      if (leaves > 1) {
        const tree = plantTree([first!, ...others]);
        const batch = tree.batchOf(sign(tree.root));
        const leaves = tree.proofsOf(batch);
        await store.batches.insertOnce(
          batch,
          leaves.map(({ path }) => ({ tokenId: randomUUIDv7(), blind: path[0]! })),
        );
        proofs = leaves;
      }
      await store.stamps.insertOnce(
        imprints.map((imprint, i) => ({
          tokenId: randomUUIDv7(),
          imprint,
          proofs: [proofs[i]!],
          tier: 'basic',
          caller: { kind: 'internal', product: 'bench' },
          acceptedAt: new Date(),
          requestId: randomUUIDv7(),
        })),
      );
    }
    return ((await sizeOf(db, 'stamps')) + (await sizeOf(db, 'batches'))) / stamps;
  } finally {
    await db.dropDatabase();
    await client.close();
    await store.close();
  }
}

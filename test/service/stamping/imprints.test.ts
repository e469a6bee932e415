import { createHash, randomBytes, randomUUIDv7 } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Outcome } from '../../../src/api/stamps/submission.ts';
import type { ImprintAlgorithm } from '../../../src/shared/domain/stamp.ts';
import type { StampItem } from '../../../src/shared/queue/jobs.ts';
import { opensslVerify } from '../../support/openssl-tsa.ts';
import { asker, openApiEnd } from '../../support/queue-lab.ts';
import { getJson, postJson, randomHash, stampInternal, verifyById, verifyRaw } from '../../support/requests.ts';
import { ownProduct, type Settings, sharedService } from '../../support/service.ts';
import { sharedTsaService } from '../../support/tsa-service.ts';

/** Queues an item like the API, and resolves with its outcome. */
async function stampByQueue({ REDIS_URL = '' }: Settings, item: StampItem): Promise<Outcome> {
  const { submission } = await openApiEnd(REDIS_URL, 10);
  const [outcome] = await submission.submit([item], asker());
  return outcome!;
}

const itemOf = (algorithm: ImprintAlgorithm, product = 'test'): StampItem => ({
  tokenId: randomUUIDv7(),
  imprint: { algorithm, digest: createHash(algorithm).update(randomBytes(16)).digest('hex') },
  tier: 'basic',
  caller: { kind: 'internal', product },
  acceptedAt: Date.now(),
  requestId: 'test',
});

test('an imprint of every algorithm passes queue, worker, TSA and store, and verifies; lists have it for `imprints=all` (S12, S15, V1, V7)', async () => {
  const { service, tsa } = await sharedTsaService();
  const own = ownProduct();
  const list = async (query: string) => (await getJson(service, `/api/v1/internal/v1/stamps${query}`, own.headers)).body;
  for (const algorithm of ['sha384', 'sha512'] as const) {
    const item = itemOf(algorithm, own.product);
    const { tokenId, imprint } = item;
    const outcome = await stampByQueue(service.settings, item);
    const reply = outcome.state === 'stamped' ? outcome.reply : undefined;
    expect(reply).toMatchObject({ outcome: 'stamped', tokenId, provider: 'tsa-1' });
    const expected = { valid: true, token_id: tokenId, content_sha256: null, imprint, tsp_provider: 'tsa-1', reason: null };
    expect((await verifyById(service, tokenId)).body).toMatchObject(expected);
    expect((await verifyRaw(service, reply?.token)).body).toMatchObject(expected);
    expect((await list('?imprints=all&limit=1&details=true')).items).toEqual([
      expect.objectContaining({ token_id: tokenId, content_sha256: null, imprint }),
    ]);
    const answer = Buffer.from(await (await service.fetch(`/api/v1/verify/v1/token/${tokenId}/tsr`)).arrayBuffer());
    const query = Buffer.from(await (await service.fetch(`/api/v1/verify/v1/token/${tokenId}/tsq`)).arrayBuffer());
    expect((await opensslVerify({ answer, against: { query }, rootPem: tsa.pki.rootPem })).output).toContain('Verification: OK');
  }
  const { token_id } = (await stampInternal(service, { hash: randomHash() }, own.headers)).body;
  expect(await list('')).toMatchObject({ items: [{ token_id }], total: 1 });
  expect([(await list('?imprints=all&limit=1')).total, (await list('?imprints=all&offset=1')).total]).toEqual([3, 3]);
});

test('the mock provider holds a SHA-256, so it is asked for no other algorithm and the stamp is refused (S15, W19)', async () => {
  const service = await sharedService();
  const item = itemOf('sha512');
  expect(await stampByQueue(service.settings, item)).toEqual({ state: 'failed', code: 'tier_unavailable' });
});

test('E1: `hashes` of raw verification is a list of at most three hashes, each of a known length', async () => {
  const service = await sharedService();
  const faultOf = async (hashes: unknown) => {
    const { status, body } = await postJson(service, '/api/v1/verify/v1/raw?details=true', { token: 'AAAA', hashes });
    return status === 200
      ? status
      : (body.detail as { type: string; loc: unknown[]; msg: string }[]).map(({ type, loc }) => [type, ...loc]);
  };
  const one = 'a'.repeat(64);
  expect(await faultOf(null)).toBe(200);
  expect(await faultOf([one, 'B'.repeat(96), 'c'.repeat(128)])).toBe(200);
  expect(await faultOf(5)).toEqual([['list_type', 'body', 'hashes']]);
  expect(await faultOf([one, one, one, one])).toEqual([['too_long', 'body', 'hashes']]);
  expect(await faultOf([one, 7, 'g'.repeat(64)])).toEqual([
    ['string_type', 'body', 'hashes', 1],
    ['string_pattern_mismatch', 'body', 'hashes', 2],
  ]);
});

import { expect, test } from 'vitest';
import { isEvidenceRecord } from '../../../src/shared/rfc3161/index.ts';
import { collectionOf, openDatabase } from '../../support/database.ts';
import { mainText } from '../../support/page-text.ts';
import { type JsonAnswer, randomHash, stampAgent, stampInternal, verifyById, verifyRaw } from '../../support/requests.ts';
import type { RunningService } from '../../support/service.ts';
import { sharedTsaService } from '../../support/tsa-service.ts';

const derOf = (token: unknown): Buffer => Buffer.from(String(token), 'base64');

const stampMany = (service: RunningService, count: number) =>
  Promise.all(Array.from({ length: count }, () => stampInternal(service, { hash: randomHash() })));

/** Stamps of agents form batches, which are sent only at this size, so that a test knows their contents. */
const leaves = 5;
const batching = () => sharedTsaService({ aggregate: { max_leaves: leaves, window_ms: 1_000, callers: ['agent'] } });

const stampBatch = (service: RunningService) =>
  Promise.all(Array.from({ length: leaves }, () => stampAgent(service, 'basic', { hash: randomHash() })));

test('S14: a batched stamp verifies like any other, by id, raw and as a page; its batch is stored once', async () => {
  const { service, tsa } = await batching();
  const before = tsa.server.received.length;
  const answers = await stampBatch(service);
  expect([tsa.server.received.length - before, new Set(answers.map(({ status }) => status))]).toEqual([1, new Set([201])]);
  const batches = new Set<string | null>();
  for (const { body } of answers) {
    const shown = { tsp_provider: 'tsa-1', is_qualified: false, imprint: { algorithm: 'sha256', digest: body.content_sha256 } };
    const valid = { valid: true, token_id: body.token_id, issued_at: body.issued_at, content_sha256: body.content_sha256, ...shown };
    expect(body).toMatchObject(shown);
    expect((await verifyById(service, body.token_id)).body).toMatchObject({ ...valid, reason: null });
    expect((await verifyRaw(service, body.token)).body).toMatchObject({ ...valid, reason: null });

    const download = async (part: string) => {
      const response = await service.fetch(`${body.verify_url}/${part}`);
      const { headers, status } = response;
      expect([part, status]).toEqual([part, 200]);
      return { type: headers.get('content-type'), batch: headers.get('qstamp-batch'), der: Buffer.from(await response.arrayBuffer()) };
    };
    const [evidence, tsr, tsq, token] = [await download('evidence'), await download('tsr'), await download('tsq'), await download('token')];
    expect(evidence).toEqual({ type: 'application/octet-stream', batch: null, der: derOf(body.token) });
    expect(tsr.batch).toMatch(/^[0-9a-f-]{36}; leaves=5; root=[0-9a-f]{64}$/);
    expect([tsq.batch, token.batch]).toEqual([tsr.batch, tsr.batch]);
    expect(tsr.der.includes(token.der)).toBe(true);
    const root = Buffer.from(tsr.batch!.slice(-64), 'hex');
    expect([tsq.der.includes(root), token.der.includes(root)]).toEqual([true, true]);
    batches.add(tsr.batch);

    const page = await service.fetch(String(body.verify_url), { headers: { accept: 'application/xhtml+xml' } });
    const text = await page.text();
    for (const part of ['evidence', 'tsr', 'tsq', 'token']) expect(text).toContain(`${body.verify_url}/${part}`);
    expect(text).toContain('existed no later');
  }
  expect(batches.size).toBe(1);

  const db = await openDatabase(service);
  const stored = await collectionOf(db, 'stamps')
    .find({ _id: { $in: answers.map(({ body }) => String(body.token_id)) } })
    .toArray();
  const [batchId] = String([...batches]).split(';');
  const factsOf = ({ proofs }: (typeof stored)[number]) =>
    (proofs as Record<string, unknown>[]).map(({ kind, batch, token, tsr }) => [kind, String(batch), token, tsr]);
  expect(stored.map(factsOf)).toEqual(Array(leaves).fill([['leaf', batchId, undefined, undefined]]));
});

test('S14: download and page name the files for the root of a batch; without the .ers no file is rejected', async () => {
  const { service } = await batching();
  const [{ body }] = (await stampBatch(service)) as [JsonAnswer];
  const download = async (part: string) => {
    const response = await service.fetch(`${body.verify_url}/${part}`);
    const [, name] = /filename="([^"]*)"/.exec(response.headers.get('content-disposition') ?? '') ?? [];
    return { name, token: Buffer.from(await response.arrayBuffer()).toString('base64') };
  };
  const [tsr, tsq, token, evidence] = [await download('tsr'), await download('tsq'), await download('token'), await download('evidence')];
  const names = [tsr, tsq, token, evidence].map(({ name }) => name);
  expect(names).toEqual(['batch-root.tsr', 'batch-root.tsq', 'batch-root.tst', `${body.token_id}.ers`]);

  const page = mainText(await (await service.fetch(String(body.verify_url), { headers: { accept: 'application/xhtml+xml' } })).text());
  for (const [kind, { name }] of [
    ['response', tsr],
    ['request', tsq],
    ['token', token],
  ] as const)
    expect(page).toContain(`${kind} for the root of the batch (${name})`);

  const pasted = async (token: string, hash: unknown) => {
    const fields = new URLSearchParams({ token, hash: String(hash) });
    return mainText(
      await (await service.fetch('/verify', { method: 'POST', body: fields, headers: { accept: 'application/xhtml+xml' } })).text(),
    );
  };
  for (const { token: plain } of [tsr, token]) {
    const said = await pasted(plain, body.content_sha256);
    expect(said).toContain('The file has changed, or this is the token of a batch: use the .ers file.');
    expect(said).not.toMatch(/different file|is not what was stamped/);
  }
  expect(await pasted(evidence.token, body.content_sha256)).toContain('Yes: this is the fingerprint that was stamped.');
  const other = await pasted(evidence.token, randomHash());
  expect(other).toContain('The hash that you gave is not what was stamped');
  expect(other).not.toContain('batch');
});

test('S14: only stamps of the named callers are batched', async () => {
  const { service } = await batching();
  const [byAgents, byProducts] = await Promise.all([stampBatch(service), stampMany(service, leaves)]);
  expect(byAgents.map(({ body }) => isEvidenceRecord(derOf(body.token)))).toEqual(Array(leaves).fill(true));
  expect(byProducts.map(({ body }) => isEvidenceRecord(derOf(body.token)))).toEqual(Array(leaves).fill(false));
});

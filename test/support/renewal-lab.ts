import { createHash } from 'node:crypto';
import { pino } from 'pino';
import { expect } from 'vitest';
import { connectProducer, disconnect, untilReady } from '../../src/shared/redis/connection.ts';
import { openProviderNotes } from '../../src/shared/redis/provider-notes.ts';
import { readEvidenceRecord } from '../../src/shared/rfc3161/ers/record.ts';
import { createTrustStore, type SigningIdentity, verifyEvidenceRecord } from '../../src/shared/rfc3161/index.ts';
import { loadConfig } from '../../src/shared/runtime/config.ts';
import { openStore } from '../../src/shared/store/store.ts';
import { noLists } from '../../src/shared/store/trusted-lists.ts';
import { createTokenJudge } from '../../src/shared/trust/judge.ts';
import { loadTrustSettings } from '../../src/shared/trust/trusted-providers.ts';
import { openTsas } from '../../src/workers/providers/open-provider.ts';
import { createProviderPool } from '../../src/workers/providers/pool.ts';
import { runRenewal } from '../../src/workers/renewal/index.ts';
import { createPki, issueSigner } from './certificates.ts';
import { collectionOf, openDatabase } from './database.ts';
import { eventually, randomHash, sha256, stampInternal } from './requests.ts';
import { type RunningService, type Service, startService } from './service.ts';
import { providersSettings, type RunningTsa, startTsa } from './tsa-service.ts';

/** A service for renewal tests: a TSA whose certificate ends, stamps, and renewal runs. */

export const dayMs = 24 * 3_600_000;

/** A TSA whose certificate ends in a month, until it gets another one. */
export async function startOldTsa(): Promise<RunningTsa & { readonly old: SigningIdentity; rollOver(): void }> {
  const nowMs = Date.now();
  const pki = createPki({ nowMs });
  const tsa = await startTsa({ pki: { ...pki, signer: issueSigner(pki.intermediate, { nowMs, notAfterMs: nowMs + 30 * dayMs }) } });
  return {
    ...tsa,
    old: tsa.pki.signer,
    pki,
    rollOver: () => tsa.server.failAlways({ identity: () => pki.signer }),
  };
}

/** A service whose worker has checked for due evidence at start; from then on only the test does. */
export async function startRenewable(tsa: RunningTsa, members: object = {}): Promise<Service> {
  const service = await startService({ settings: providersSettings([{ tsa, ...members }]) });
  const notes = collectionOf(await openDatabase(service), 'checks');
  await eventually(async () => (await notes.findOne({ _id: 'evidence' })) !== null);
  return service;
}

/** `contents`: a number means this many random hashes. */
export async function stampSome(service: RunningService, contents: number | readonly string[]) {
  const hashes = typeof contents === 'number' ? Array.from({ length: contents }, () => randomHash()) : contents.map(sha256);
  const answers = await Promise.all(hashes.map((hash) => stampInternal(service, { hash })));
  return answers.map(({ body }) => ({ tokenId: String(body.token_id), hash: String(body.content_sha256), token: String(body.token) }));
}
export type Stamped = Awaited<ReturnType<typeof stampSome>>[number];

/** `npm run renew` in the process of the test, which is cheaper; returns its output. */
export async function renew({ settings }: Service): Promise<string> {
  const config = loadConfig(settings);
  const log = pino({ level: 'silent' });
  const trust = loadTrustSettings(config);
  const store = openStore(config, log);
  const redis = connectProducer(config, log);
  await untilReady(redis);
  const notes = openProviderNotes({ redis, log });
  const providers = await openTsas(trust.providers, { notes, clock: Date.now, log });
  const provider = createProviderPool({ providers, deadlineMs: 10_000, notes, clock: Date.now, log, keepBatch: store.batches.insertOnce });
  const mockKey = () => store.keys.secret('mock-provider');
  const tokenJudge = createTokenJudge({ trust, lists: noLists.current, mockKey, clock: Date.now });
  const tools = { config, trust, store, provider, tokenJudge, clock: Date.now, log };
  try {
    const { renewed, lapsed, asks, due } = await runRenewal(tools, { isByCommand: true });
    return `${renewed} renewed with ${asks} requests, ${due} still due, ${lapsed} found to have ended`;
  } finally {
    provider.close();
    await store.close();
    await disconnect(redis);
  }
}

export async function recordOf(service: RunningService, { tokenId }: Stamped): Promise<Buffer> {
  const answer = await service.fetch(`/api/v1/verify/v1/token/${tokenId}/evidence`);
  expect(answer.status).toBe(200);
  return Buffer.from(await answer.arrayBuffer());
}

export const tokensIn = (record: Buffer) => readEvidenceRecord(record).chains.flatMap(({ timeStamps }) => timeStamps.length);

/** Verifies with only the root as anchor; with `content`, also by its SHA-512. */
export const judge = (tsa: RunningTsa, record: Buffer, { hash }: Pick<Stamped, 'hash'>, nowMs = Date.now(), content?: string) =>
  verifyEvidenceRecord(record, {
    trust: createTrustStore({ anchors: [tsa.pki.root.certificate] }),
    nowMs,
    digests: [
      { algorithm: 'sha256', digest: Buffer.from(hash, 'hex') },
      ...(content === undefined ? [] : [{ algorithm: 'sha512', digest: createHash('sha512').update(content).digest() } as const]),
    ],
  });

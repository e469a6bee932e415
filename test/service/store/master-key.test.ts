import { execFile } from 'node:child_process';
import { createSecretKey, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { Binary } from 'mongodb';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { decryptMetadata, deriveKey } from '../../../src/shared/domain/encryption.ts';
import { loadConfig } from '../../../src/shared/runtime/config.ts';
import { openStore } from '../../../src/shared/store/store.ts';
import { openDatabase } from '../../support/database.ts';
import { inherited } from '../../support/environment.ts';
import { idleService } from '../../support/idle-service.ts';
import { dumpRedis } from '../../support/redis-dump.ts';
import { eventually, postJson, randomHash, stampInternal, verifyById } from '../../support/requests.ts';
import { freshStore } from '../../support/servers.ts';
import { addWorker, startPart, startProcess, startService } from '../../support/service.ts';
import { dumpDatabase, keysIn, openedBy } from '../../support/thief.ts';
import { startRequest } from '../../support/workflows.ts';

const newKey = () => randomBytes(32).toString('base64');

function openKeys(config: Parameters<typeof openStore>[0]) {
  const store = openStore(config, pino({ level: 'silent' }));
  onTestFinished(() => store.close());
  return store;
}

test('the database and the idempotency keys of callers alone open no workflow, sealed content or mock token (S9, S11)', async () => {
  const service = await startService();
  const guessable = { 'idempotency-key': 'order-of-2026-11-26' };
  expect((await postJson(service, '/api/v1/workflow/start', startRequest(), guessable)).status).toBe(201);
  const content = { content_b64: Buffer.from('a secret draft').toString('base64'), tier: 'sealed' };
  expect((await stampInternal(service, content, guessable)).status).toBe(201);

  const dump = await dumpDatabase(await openDatabase(service));
  expect(dump).toMatchObject({
    workflows: [{}],
    stamps: [{}],
    keys: Array.from({ length: 7 }, () => ({})),
    'sealed.chunks': [{}],
    idempotency: [{}, {}],
  });
  expect(JSON.stringify(dump)).not.toContain('a secret draft');
  const known = { callers: ['product:test', 'agent:127.0.0.1'], idempotencyKeys: ['order-of-2026-11-26'] };
  expect(openedBy(keysIn(dump), dump, known)).toEqual(new Set());

  // The test thief works: with the keys of a service process it opens everything.
  const { keys } = openKeys(loadConfig(service.settings));
  const unwrapped = [await keys.secret('idempotency'), await keys.secret('mock-provider')].map((key) => new Binary(key.export()));
  expect(openedBy(keysIn(unwrapped), dump, known)).toEqual(new Set(['workflow token', 'sealed content', 'forged mock token']));
});

test('a wrong master key ends a process with one line that names the setting, and creates nothing', async () => {
  const service = await startService({ workers: 0 });
  // The service always writes to `checks`, to test whether the store accepts writes.
  const dumpKept = async () => ({ ...(await dumpDatabase(await openDatabase(service))), checks: [] });
  const before = await dumpKept();
  const settings = { ...service.settings, MASTER_KEY: newKey() };
  for (const kind of ['api', 'workers'] as const) {
    const line = /MASTER_KEY: got the key [0-9a-f]{16} \(not shown\); this database needs [0-9a-f]{16}, [^\n]+$/;
    await expect(startPart(kind, settings)).rejects.toThrow(line);
  }
  await expect(startProcess('api', settings)).rejects.toThrow(/^api exited with 1:\nMASTER_KEY: [^\n]+\n$/);
  // If the store was away at start, the error comes later, and again nothing is created (E10).
  await expect(openKeys(loadConfig(settings)).keys.secret('mock-provider')).rejects.toMatchObject({ code: 'store_unavailable' });
  expect(await dumpKept()).toEqual(before);
});

test('concurrently starting processes agree on every key; with two different master keys only one starts', async () => {
  const config = freshStore();
  const stores = Array.from({ length: 4 }, () => openKeys(config));
  await Promise.all(stores.map((store) => store.openKeys()));
  for (const name of ['mock-provider', 'idempotency', 'challenge', 'workflows', 'stamp-metadata', 'cose-receipts'] as const) {
    const [first, ...others] = await Promise.all(stores.map(({ keys }) => keys.secret(name)));
    for (const key of others) expect(key.equals(first!)).toBe(true);
  }

  const other = freshStore();
  const rivals = [other, { ...other, MASTER_KEY: createSecretKey(randomBytes(32)) }].map(openKeys);
  const outcomes = await Promise.allSettled(rivals.map((store) => store.openKeys()));
  expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
});

test('npm run rotate:master-key: running processes go on, new ones accept the new key only, and a second run changes nothing', async () => {
  const service = await startService();
  const { body } = await stampInternal(service, { hash: randomHash() });
  const { MONGODB_URL = '', MASTER_KEY = '' } = service.settings;
  const next = newKey();
  const rotate = (current: string) =>
    promisify(execFile)(process.execPath, ['bin/qstamp.mjs', 'rotate-master-key'], {
      env: { ...inherited, MONGODB_URL, MASTER_KEY: current, NEW_MASTER_KEY: next, LOG_LEVEL: 'silent' },
    });
  await expect(rotate(newKey())).rejects.toMatchObject({ code: 2, stderr: expect.stringMatching(/^qstamp: MASTER_KEY: [^\n]+\n$/) });
  expect((await rotate(MASTER_KEY)).stdout).toMatch(/^7 keys were encrypted again/);
  expect((await rotate(MASTER_KEY)).stdout).toMatch(/^0 keys were encrypted again/);

  expect((await stampInternal(service, { hash: randomHash() })).status).toBe(201);
  await expect(startPart('api', service.settings)).rejects.toThrow(/^MASTER_KEY: /);
  const restarted = await startService({ workers: 0, settings: { ...service.settings, MASTER_KEY: next } });
  expect((await verifyById(restarted, body.token_id)).body).toMatchObject({ valid: true });
});

test('S4: metadata is encrypted in queue and store, under a key of its stamp', async () => {
  const service = await idleService();
  const metadata = { customer: 'Erika Mustermann' };
  const { status, body } = await stampInternal(service, { hash: randomHash(), metadata });
  expect(status).toBe(504);
  const tokenId = String(body.token_id);
  const queued = await dumpRedis(service.settings.REDIS_URL ?? '');
  expect(queued).toContain(tokenId);
  expect(queued).not.toMatch(/customer|Mustermann/);

  const store = openKeys(loadConfig(service.settings));
  await addWorker(service);
  await eventually(async () => (await store.stamps.find(tokenId)) !== null);
  expect(JSON.stringify(await dumpDatabase(await openDatabase(service)))).not.toMatch(/customer|Mustermann/);
  const encrypted = (await store.stamps.find(tokenId))?.metadata ?? '';
  const key = await store.keys.secret('stamp-metadata');
  expect(decryptMetadata(deriveKey(key, tokenId), tokenId, encrypted)).toBe(JSON.stringify(metadata));
  expect(decryptMetadata(deriveKey(key, 'another stamp'), tokenId, encrypted)).toBeUndefined();
});

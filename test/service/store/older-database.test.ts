import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EJSON } from 'bson';
import { expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../support/database.ts';
import { eventually, internalHeaders, verifyById, verifyRaw } from '../../support/requests.ts';
import { type Service, type Settings, serviceToken, startPart, startService, testSettings } from '../../support/service.ts';
import { dumpDatabase, keysIn } from '../../support/thief.ts';

interface OlderDatabase {
  readonly collections: Readonly<Record<string, { _id: string }[]>>;
  readonly stamp: Readonly<Record<string, unknown>>;
  readonly sealed: { readonly sealed_storage_url: string };
  readonly workflowId: string;
}

/** The data of version 0.2.0, once with the mock provider and once with a TSA. */
const older: Readonly<Record<'mock' | 'tsa', OlderDatabase>> & { readonly rootPem: string } = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../fixtures/database-0.2.0.json'), 'utf8'),
);

/** The TSA of that time, and others with every kind of secret. None is asked any more, and their secret files are gone. */
function providersWithoutSecrets(): Settings {
  const dir = mkdtempSync(join(tmpdir(), 'qstamp-providers-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  writeFileSync(join(dir, 'root.pem'), older.rootPem);
  const auths = [
    { type: 'basic', username: 'u', password_file: 'gone.secret' },
    { type: 'bearer', token_file: 'gone.secret' },
    { type: 'client_certificate', certificate_file: 'gone.pem', key_file: 'gone.key' },
  ];
  const file = join(dir, 'providers.json');
  const entries = auths.map((auth, index) => ({
    name: `tsa-${index + 1}`,
    url: 'http://127.0.0.1:9/',
    trust_anchors_file: 'root.pem',
    auth,
  }));
  writeFileSync(file, JSON.stringify(entries));
  return { TSP: 'file', TSP_PROVIDERS_FILE: file };
}

async function startOn({ collections }: OlderDatabase, more: Settings = {}): Promise<Service> {
  const settings = { ...(await testSettings(more)) };
  const db = await openDatabase({ settings });
  for (const [name, documents] of Object.entries(collections)) {
    if (documents.length > 0) await db.collection<{ _id: string }>(name).insertMany(EJSON.deserialize(documents) as { _id: string }[]);
  }
  return startService({ settings, workers: 0 });
}

const text = async (service: Service, path: string, init: RequestInit = {}) => (await service.fetch(path, init)).text();

test.each(['mock', 'tsa'] as const)('a database of version 0.2.0 with stamps of a %s is read unchanged (V1, S11, S12)', async (kind) => {
  const database = older[kind];
  const { stamp, sealed, workflowId } = database;
  const service = await startOn(database, kind === 'tsa' ? providersWithoutSecrets() : {});
  const expected = { valid: true, token_id: stamp.token_id, content_sha256: stamp.content_sha256, issued_at: stamp.issued_at };
  expect((await verifyById(service, stamp.token_id)).body).toMatchObject(expected);
  expect((await verifyRaw(service, stamp.token)).body).toMatchObject(expected);
  expect(JSON.parse(await text(service, '/api/v1/internal/v1/stamps', { headers: internalHeaders }))).toMatchObject({
    items: [{ token_id: stamp.token_id, content_sha256: stamp.content_sha256, issued_at: stamp.issued_at }],
    total: 1,
  });
  expect(await text(service, sealed.sealed_storage_url)).toBe('hello');
  // A busy machine first shows that the record is being checked.
  await eventually(async () => (await text(service, `/workflow/${workflowId}`)).includes('<strong>Completed'));
  // Its plain-text addresses are encrypted when they are first read (W10).
  expect(await text(service, `/workflow/${workflowId}`)).toContain('c•••@example.com');
  expect(JSON.stringify(await dumpDatabase(await openDatabase(service)))).not.toMatch(/client@example|agent-7/);
  expect((await service.fetch(`/api/v1/verify/v1/token/${stamp.token_id}/tsr`)).status).toBe(kind === 'tsa' ? 200 : 404);
  // Its plain-text keys are wrapped by now.
  const hexOf = (keys: Iterable<Buffer>) => new Set([...keys].map((key) => key.toString('hex')));
  const kept = hexOf(keysIn(await dumpDatabase(await openDatabase(service))));
  const plain = hexOf(keysIn(EJSON.deserialize(database.collections.keys ?? [])));
  expect(plain.size).toBe(database.collections.keys?.length);
  expect([...plain].filter((key) => kept.has(key))).toEqual([]);
});

test('the API starts without the secrets of its TSAs; a worker names the missing one in one line (architecture rule 8)', async () => {
  const settings = await testSettings(providersWithoutSecrets());
  const api = await startPart('api', settings);
  onTestFinished(async () => void (await api.stop()));
  expect(await (await fetch(`${api.url}/api/v1/internal/v1/stamps`, { headers: { 'x-service-token': serviceToken } })).json()).toEqual({
    items: [],
    total: 0,
  });
  await expect(startPart('workers', settings)).rejects.toThrow(
    /^TSP_PROVIDERS_FILE: [^\n]*\(tsa-1\)\.auth\.password_file: [^\n]*cannot be read$/,
  );
});

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type Settings, serviceToken, startPart, testSettings } from '../../support/service.ts';
import { startTsa } from '../../support/tsa-service.ts';

/** TSAs with every kind of secret, whose secret files are gone. */
function providersWithoutSecrets(rootPem: string): Settings {
  const dir = mkdtempSync(join(tmpdir(), 'qstamp-providers-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  writeFileSync(join(dir, 'root.pem'), rootPem);
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

test('the API starts without the secrets of its TSAs; a worker names the missing one in one line (architecture rule 8)', async () => {
  const settings = await testSettings(providersWithoutSecrets((await startTsa()).pki.rootPem));
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

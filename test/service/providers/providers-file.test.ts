import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { ConfigError } from '../../../src/shared/runtime/config.ts';
import { canServeQualified, loadTrustSettings } from '../../../src/shared/trust/trusted-providers.ts';
import { createPki } from '../../support/certificates.ts';

const dir = mkdtempSync(join(tmpdir(), 'qstamp-providers-'));
afterAll(() => rmSync(dir, { recursive: true }));
writeFileSync(join(dir, 'root.pem'), createPki({ nowMs: Date.now() }).rootPem);
writeFileSync(join(dir, 'garbage.pem'), '-----BEGIN CERTIFICATE-----\nbm90IGEgY2VydGlmaWNhdGU=\n-----END CERTIFICATE-----\n');
writeFileSync(join(dir, 'note.txt'), 'no certificate\n');
mkdirSync(join(dir, 'folder.pem'));
const file = join(dir, 'providers.json');
const acme = { name: 'acme', url: 'https://tsa.example/tsr', trust_anchors_file: 'root.pem' };

function load(content: unknown) {
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return loadTrustSettings({ TSP: 'file', TSP_PROVIDERS_FILE: file });
}

function refusalOf(content: unknown): string {
  try {
    load(content);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  return 'accepted';
}

test.each(['file', 'local'] as const)('TSP=%s requires a providers file', (TSP) => {
  expect(() => loadTrustSettings({ TSP })).toThrow(/^TSP_PROVIDERS_FILE: got nothing; /);
});

test('a byte order mark, which some editors write, is ignored', () => {
  expect(load(`\uFEFF${JSON.stringify([acme])}`).providers).toMatchObject([{ settings: { name: 'acme' } }]);
});

describe('an unusable providers file gives one line with the provider, the member and the file', () => {
  test.each<[string, unknown, string]>([
    ['a list without lists', [{ ...acme, qualified: 'from_list' }], '(acme).qualified: got "from_list"; that needs TRUSTED_LIST_URLS'],
    ['an unknown member', [{ ...acme, retries: 3 }], '(acme): has an unknown member: "retries"'],
    [
      'an unknown member of its authentication',
      [{ ...acme, auth: { type: 'none', user: 'u' } }],
      '(acme).auth: has an unknown member: "user"',
    ],
    ['an unknown member where the name is missing', [{ url: acme.url, trust_anchors_file: 'root.pem', retries: 3 }], '[0].name: '],
    [
      'an anchor file that is missing',
      [{ ...acme, trust_anchors_file: 'gone.pem' }],
      '(acme).trust_anchors_file: "gone.pem" cannot be read',
    ],
    ['a folder', [{ ...acme, trust_anchors_file: 'folder.pem' }], '(acme).trust_anchors_file: "folder.pem" cannot be read'],
    ['garbage in PEM', [{ ...acme, trust_anchors_file: 'garbage.pem' }], '(acme).trust_anchors_file: "garbage.pem" cannot be used: '],
    ['no PEM', [{ ...acme, trust_anchors_file: 'note.txt' }], '(acme).trust_anchors_file: "note.txt" cannot be used: '],
    [
      'garbage beside the anchors',
      [{ ...acme, intermediates_file: 'garbage.pem' }],
      '(acme).intermediates_file: "garbage.pem" cannot be used: ',
    ],
    ['a revocation list that is none', [{ ...acme, crl_file: 'root.pem' }], '(acme).crl_file: "root.pem" cannot be used: '],
    ['a list cut off', '[{"name":\n"acme",\n', 'cannot be read as JSON'],
  ])('%s', (_, content, expected) => {
    const message = refusalOf(content);
    expect(message.startsWith(`TSP_PROVIDERS_FILE: ${file}`)).toBe(true);
    expect(message).toContain(expected);
    expect(message).not.toContain('\n');
  });
});

test('a qualified stamp needs a configured provider that is qualified (W19)', () => {
  expect(canServeQualified(load([acme]))).toBe(false);
  expect(canServeQualified(load([acme, { ...acme, name: 'acme-qtsa', qualified: true }]))).toBe(true);
  expect(canServeQualified(loadTrustSettings({ TSP: 'mock' }))).toBe(false);
});

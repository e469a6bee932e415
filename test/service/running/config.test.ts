import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ConfigError, loadConfig } from '../../../src/shared/runtime/config.ts';
import { runOperator } from '../../support/cli.ts';

const masterKey = 'MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=';
const servers = { REDIS_URL: 'redis://127.0.0.1', MONGODB_URL: 'mongodb://127.0.0.1', MASTER_KEY: masterKey };
const production = { ...servers, NODE_ENV: 'production', TSP: 'mock', SERVICE_TOKENS: 'acme:0f1e2d3c4b5a69788796a5b4c3d2e1f0' };

function messageOf(environment: Record<string, string>): string {
  try {
    loadConfig(environment);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  return 'accepted';
}

function secretFile(content: string): string {
  const dir = mkdtempSync(join(tmpdir(), 'qstamp-config-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const file = join(dir, 'secret');
  writeFileSync(file, content);
  return file;
}

test('if the servers and the master key are set, everything else has a default; an empty variable counts as unset', () => {
  expect(loadConfig({ ...servers, PORT: '', TRUST_PROXY: '' })).toMatchObject({
    TRUST_PROXY: [],
    PORT: 8080,
    TSP: 'mock',
    STAMP_WAIT_MS: 10_000,
    SERVICE_TOKENS: [{ product: 'dev', token: 'dev-service-token' }],
  });
});

test('an address may list several hosts of a replica set', () => {
  const url = 'mongodb://a.example:27017,b.example:27017/stamps?replicaSet=rs0';
  expect(loadConfig({ ...servers, MONGODB_URL: url }).MONGODB_URL).toBe(url);
});

describe('a wrong setting gives one line: the variable, its value, and the allowed values', () => {
  const wrong = {
    PORT: ['80 80', '65536', '-1'],
    REDIS_URL: [
      'http://localhost',
      'redis://:pa/ss@a.example',
      'redis://:p#ss@a.example',
      'redis://:p@ss@a.example',
      'redis://:100%@a.example',
      'redis://:%FF@a.example',
      'redis://u:12#ss@a.example',
    ],
    MONGODB_URL: ['localhost', 'mongodb://user:pa/ss@a.example,b.example/qstamp', 'mongodb://user:p@ss@a.example/qstamp'],
    REDIS_SENTINELS: ['a.example', 'a.example:26379,b.example'],
    REDIS_CLUSTER_NODES: ['a.example:x'],
    REDIS_TLS_CA_FILE: ['/nowhere/ca.pem'],
    REDIS_KEY_PREFIX: ['{qstamp}', 'a b'],
    REDIS_REPLICAS_ACK: ['10'],
    NODE_ENV: ['prod'],
    TSP: ['qtsp'],
    STAMP_WAIT_MS: ['1e3'],
    TRUST_PROXY: ['everybody', '300.1.1.1', '10.0.0.0/99'],
    MCP_ORIGINS: ['app.example', 'https://app.example/'],
    PUBLIC_BASE_URL: ['https://x.example/?a=b', 'example.com'],
    SMTP_URL: ['smtp://', 'https://mail.example'],
    LOG_LEVEL: ['loud'],
    SERVICE_TOKENS: ['no-colon', 'a:same,b:same'],
    SEALED_MAX_BYTES: ['10MB', '1073741824'],
    MASTER_KEY: ['too-short', masterKey.replace('MDEy', '')],
  };
  test.each(Object.entries(wrong))('%s=%j', (name, values) => {
    for (const value of values) {
      const message = messageOf({ ...servers, [name]: value });
      expect(message).toMatch(new RegExp(`^${name}: got [^\\n]+; it takes [^\\n]+$`));
    }
  });

  test('an account that cannot be read says how to write it, and addresses with several hosts or an @ elsewhere are fine', () => {
    for (const REDIS_URL of ['redis://:p@ss@a.example', 'redis://:12/34@a.example', 'redis://u:p@ss/word@a.example/0']) {
      expect(messageOf({ ...servers, REDIS_URL })).toContain('write @ as %40');
    }
    for (const MONGODB_URL of [
      'mongodb://a.example:1,b.example:2/db?appName=a@b',
      'mongodb://[::1]:27017/db?appName=a@b',
      'mongodb://user:p%40ss@a.example/db',
    ]) {
      expect(messageOf({ ...servers, MONGODB_URL })).toBe('accepted');
    }
  });

  test.each([
    [{ REDIS_URL: '', REDIS_SENTINELS: 'a.example:1,[::1]:2' }, 'accepted'],
    [{ REDIS_URL: '', REDIS_CLUSTER_NODES: 'a.example:1' }, 'accepted'],
    [{ REDIS_SENTINELS: 'a.example:1', REDIS_CLUSTER_NODES: 'a.example:1' }, 'REDIS_SENTINELS: '],
    [{ REDIS_CLUSTER_NODES: 'a.example:1', REDIS_REPLICAS_ACK: '1' }, 'REDIS_REPLICAS_ACK: '],
    [{ REDIS_CLUSTER_NODES: 'a.example:1', REDIS_URL: 'redis://a.example/3' }, 'REDIS_URL: '],
    [{ REDIS_URL: 'redis://a.example/name' }, 'REDIS_URL: '],
    [{ REDIS_URL: 'rediss://a.example', REDIS_TLS_SERVERNAME: 'b.example' }, 'accepted'],
    [{ REDIS_TLS_SERVERNAME: 'b.example' }, 'REDIS_TLS_SERVERNAME: '],
    [{ REDIS_URL: 'rediss://a.example', REDIS_TLS_CERT_FILE: import.meta.filename }, 'REDIS_TLS_KEY_FILE: '],
  ])('the settings of Redis fit together: %j: %s', (settings, start) => {
    expect(messageOf({ ...servers, ...settings } as Record<string, string>).startsWith(start)).toBe(true);
  });

  test('a variable that is missing', () => {
    expect(messageOf({ ...servers, REDIS_URL: '' })).toMatch(/^REDIS_URL is not set, /);
    // On a laptop too: a key that everybody knows protects nothing.
    for (const NODE_ENV of ['development', 'test', 'production']) {
      expect(messageOf({ ...production, NODE_ENV, MASTER_KEY: '' })).toMatch(/^MASTER_KEY is not set, /);
    }
  });

  test('never a secret', () => {
    for (const name of ['MASTER_KEY', 'SERVICE_TOKENS', 'SMTP_URL', 'REDIS_URL', 'MONGODB_URL']) {
      expect(messageOf({ ...servers, [name]: 'hunter2' })).not.toContain('hunter2');
    }
  });
});

describe('a secret from a file', () => {
  test('is read without its line break', () => {
    expect(loadConfig({ ...servers, SERVICE_TOKENS_FILE: secretFile('\uFEFFacme:from-a-file\n') }).SERVICE_TOKENS).toEqual([
      { product: 'acme', token: 'from-a-file' },
    ]);
    const { MASTER_KEY } = loadConfig({ ...servers, MASTER_KEY: '', MASTER_KEY_FILE: secretFile(`${masterKey}\n`) });
    expect(MASTER_KEY.export()).toEqual(Buffer.from(masterKey, 'base64'));
  });

  test('that cannot be read, or is set twice, is refused', () => {
    expect(messageOf({ ...servers, SERVICE_TOKENS_FILE: '/nowhere' })).toMatch(/^SERVICE_TOKENS_FILE: got "\/nowhere"; it cannot be read$/);
    expect(messageOf({ ...servers, SERVICE_TOKENS: 'a:b', SERVICE_TOKENS_FILE: secretFile('a:c') })).toMatch(/^SERVICE_TOKENS_FILE: /);
  });
});

test('the RFC 3161 door is open in development, and closed in production until a setting opens it (T4)', () => {
  expect(loadConfig(servers).TSA_DOOR).toBe('public');
  expect(loadConfig(production).TSA_DOOR).toBe('off');
  expect(loadConfig({ ...production, TSA_DOOR: 'token' }).TSA_DOOR).toBe('token');
});

describe('production refuses settings that are only fit for a laptop (S13)', () => {
  test.each([
    ['no service tokens', { SERVICE_TOKENS: '' }, /^SERVICE_TOKENS: /],
    ['a short token', { SERVICE_TOKENS: `acme:${'x'.repeat(31)}` }, /^SERVICE_TOKENS: .*31 characters/],
    ['the development default', { SERVICE_TOKENS: 'dev:dev-service-token' }, /^SERVICE_TOKENS: /],
    ['no provider', { TSP: '' }, /^TSP: /],
    ['plain SMTP', { SMTP_URL: 'smtp://mail.example' }, /^SMTP_URL: /],
    ['e-mails whose links lead nowhere (W13)', { SMTP_URL: 'smtps://mail.example' }, /^PUBLIC_BASE_URL: /],
    [
      'e-mails whose links are not encrypted',
      { SMTP_URL: 'smtps://mail.example', PUBLIC_BASE_URL: 'http://stamps.example' },
      /^PUBLIC_BASE_URL: got "http:\/\/stamps\.example"/,
    ],
    ['a token from our documents', { SERVICE_TOKENS: 'acme:0123456789abcdef0123456789abcdef' }, /^SERVICE_TOKENS: .*printed/],
    ['a token of ten digits', { SERVICE_TOKENS: `acme:${'0123456789'.repeat(4)}` }, /^SERVICE_TOKENS: .*11 different characters/],
    ['a token that is easy to guess', { SERVICE_TOKENS: `acme:${'abcdefg'.repeat(5)}` }, /^SERVICE_TOKENS: .*7 different characters/],
    ['a master key of equal bytes', { MASTER_KEY: Buffer.alloc(32, 7).toString('base64') }, /^MASTER_KEY: /],
    ['every IPv4 address as proxy', { TRUST_PROXY: '0.0.0.0/0' }, /^TRUST_PROXY: /],
    ['every IPv6 address as proxy', { TRUST_PROXY: '10.0.0.1,::/0' }, /^TRUST_PROXY: /],
    ['both halves of IPv4 as proxies', { TRUST_PROXY: '0.0.0.0/1,128.0.0.0/1' }, /^TRUST_PROXY: /],
    ['all parts of IPv6 as proxies', { TRUST_PROXY: '::/1,c000::/2,8000::/2' }, /^TRUST_PROXY: /],
    ['IPv4 written as IPv6', { TRUST_PROXY: '::ffff:0:0/96' }, /^TRUST_PROXY: /],
    ['Redis on another host, readable for everybody', { REDIS_URL: 'redis://redis.example:6379' }, /^REDIS_URL: /],
    ['MongoDB on another host, readable for everybody', { MONGODB_URL: 'mongodb://db.example' }, /^MONGODB_URL: /],
    ['one of several hosts', { MONGODB_URL: 'mongodb://127.0.0.1:27017,10.0.0.7:27017/?replicaSet=rs0' }, /^MONGODB_URL: /],
    ['a user without password', { MONGODB_URL: 'mongodb://qstamp@db.example/' }, /^MONGODB_URL: /],
    ['TLS that is turned off', { MONGODB_URL: 'mongodb+srv://db.example/?tls=false' }, /^MONGODB_URL: /],
  ])('%s', async (_name, change, message) => {
    const told = messageOf({ ...production, ...change });
    expect(told).toMatch(message);
    expect(told).not.toContain('\n');
    const environment = { ...production, ...change };
    expect(await runOperator(['check-settings'], environment)).toEqual({ code: 2, stdout: '', stderr: `qstamp: ${told}\n` });
    // On a laptop it is accepted.
    expect(messageOf({ ...environment, NODE_ENV: 'development' })).toBe('accepted');
  });

  const accepted = {
    TRUST_PROXY: ['10.0.0.0/8,172.16.0.0/12,fd00::/8', '10.0.0.0/8,fc00::/7,::ffff:10.0.0.0/104,192.0.2.1'],
    // The last ones are as docker-compose.yml and deploy/make-secrets.sh write them.
    REDIS_URL: ['rediss://redis.example', 'redis://localhost', 'redis://[::1]:6379', 'redis://:0a1b@redis:6379'],
    MONGODB_URL: [
      ...['mongodb://db.example/?tls=true', 'mongodb+srv://db.example', 'mongodb://%2Frun%2Fmongodb-27017.sock'],
      'mongodb://localhost:27017,[::1]:27018,127.0.0.2/?replicaSet=rs0',
      'mongodb://qstamp:0a1b@mongodb:27017/qstamp?replicaSet=rs0&authSource=admin',
    ],
  };
  test.each(Object.entries(accepted))('but accepts %s=%j', (name, values) => {
    for (const value of values) expect(messageOf({ ...production, [name]: value })).toBe('accepted');
  });

  test('takes the tokens that `openssl rand -hex 32` and `-base64 32` print', () => {
    const tokens = [randomUUID(), ...(['hex', 'hex', 'hex', 'base64'] as const).map((form) => randomBytes(32).toString(form))];
    for (const token of tokens) expect(messageOf({ ...production, SERVICE_TOKENS: `acme:${token}` })).toBe('accepted');
  });

  test('unless each is allowed by name', () => {
    const mail = { SMTP_URL: 'smtp://mail.example?plain', PUBLIC_BASE_URL: 'https://stamps.example' };
    expect(messageOf({ ...production, ...mail })).toBe('accepted');
    const plain = { REDIS_URL: 'redis://redis.example', MONGODB_URL: 'mongodb://db.example', ALLOW_PLAINTEXT_BACKENDS: '1' };
    expect(messageOf({ ...production, ...plain })).toBe('accepted');
  });
});

test('the operator needs a name if any operator detail is set', () => {
  const url = { OPERATOR_URL: 'https://acme.example' };
  expect(messageOf({ ...servers, ...url })).toMatch(/^OPERATOR_NAME: got nothing; OPERATOR_URL needs it too/);
  expect(messageOf({ ...servers, ...url, OPERATOR_NAME: 'Acme', OPERATOR_CONTACT: 'help@acme.example' })).toBe('accepted');
  expect(messageOf({ ...servers, OPERATOR_NAME: 'two\nlines' })).toMatch(/^OPERATOR_NAME: got /);
});

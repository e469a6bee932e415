import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { onTestFinished } from 'vitest';
import { openApi } from '../../src/api/main.ts';
import { loadConfig } from '../../src/shared/runtime/config.ts';
import { createLifecycle } from '../../src/shared/runtime/lifecycle.ts';
import { createLogger } from '../../src/shared/runtime/log.ts';
import { openWorker } from '../../src/workers/main.ts';
import { inherited } from './environment.ts';
import { eventually } from './eventually.ts';
import { freshMongoUrl, freshRedisUrl } from './servers.ts';
import { share } from './shared.ts';

const root = resolve(import.meta.dirname, '../..');

/** A running API or worker. */
export interface Part {
  /** Where it listens; empty for a worker. */
  readonly url: string;
  /** Its log so far. */
  output(): string;
  /** Finishes running work and closes; returns the exit code of a process. */
  stop(): Promise<number | null>;
}

/** One real process of the service, used only over its sockets. */
export interface ServiceProcess extends Part {
  readonly pid: number;
  /** SIGKILL, like a machine failure. */
  kill(): Promise<void>;
}

export type Settings = Readonly<Record<string, string>>;

/**
 * Opens the same parts as a process of this kind, on the same servers and its own port, but in the process of the test: a process
 * costs more to start than most tests take.
 *
 * @throws ConfigError if a process would end with its one line.
 */
export async function startPart(kind: 'api' | 'workers', settings: Settings): Promise<Part> {
  const lines: string[] = [];
  const config = loadConfig(settings);
  const destination = { write: (line: string) => void lines.push(line) };
  const log = createLogger({ level: config.LOG_LEVEL, process: kind === 'api' ? 'api' : 'worker', destination });
  const lifecycle = createLifecycle(log);
  const stop = async () => {
    await lifecycle.close();
    return null;
  };
  try {
    const { url = '' } = kind === 'api' ? await openApi({ config, log, lifecycle }) : await openWorker({ config, log, lifecycle });
    return { url, output: () => lines.join(''), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Starts `src/<kind>/main.ts` with only these settings as environment; resolves when it serves. */
export async function startProcess(kind: 'api' | 'workers', settings: Settings): Promise<ServiceProcess> {
  const child: ChildProcess = spawn(process.execPath, [`src/${kind}/main.ts`], {
    cwd: root,
    env: { ...inherited, ...settings },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', (text: string) => (output += text));
  const exited = once(child, 'exit');
  const ready = await Promise.race([
    once(child, 'message').then(([message]) => message as { url?: string }),
    exited.then(([code]) => {
      throw new Error(`${kind} exited with ${code}:\n${output}`);
    }),
  ]);
  const end = async (signal: NodeJS.Signals) => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    const [code] = await exited;
    return code as number | null;
  };
  return {
    pid: child.pid ?? 0,
    url: ready.url ?? '',
    output: () => output,
    stop: () => end('SIGTERM'),
    kill: async () => void (await end('SIGKILL')),
  };
}

/** The parts of a service for tests that neither stop nor break it. */
export interface RunningService {
  readonly url: string;
  readonly settings: Settings;
  /** The log of its API so far. */
  output(): string;
  /** A request to the API. */
  fetch(path: string, init?: RequestInit): Promise<Response>;
}

/** A whole service with its own database and queue: the API, and workers of the same kind. */
export type Service<P extends Part = Part> = P &
  RunningService & {
    /** The running API, or the last one. */
    api(): P;
    /** Starts the stopped or killed API again, at the same address. */
    startApi(): Promise<void>;
    startWorker(): Promise<P>;
    readonly workers: P[];
  };

interface ServiceOptions {
  readonly settings?: Settings;
  /** Default 1. */
  readonly workers?: number;
  /** It lives longer than the test that starts it; the test file stops it. */
  readonly keep?: boolean;
}

export const serviceToken = 'test-service-token';

/** The master key of every service that a test starts. */
export const testMasterKey = randomBytes(32).toString('base64');

const ownProducts = Array.from({ length: 64 }, (_, index) => ({ product: `own-${index}`, token: `token-of-own-${index}` }));
let productsTaken = 0;

/** A product that no other test uses, and its header, for tests on a shared service that count or list stamps. */
export function ownProduct() {
  const own = ownProducts[productsTaken++];
  if (!own) throw new Error('all products of the shared services are taken');
  return { product: own.product, headers: { 'x-service-token': own.token } };
}

/** Settings of a service on unshared servers; `overrides` win. */
export const testSettings = async (overrides: Settings = {}): Promise<Settings> => ({
  NODE_ENV: 'test',
  PORT: '0',
  DRAIN_MS: '0',
  REDIS_URL: overrides.REDIS_URL ?? (await freshRedisUrl()),
  MONGODB_URL: freshMongoUrl(),
  MASTER_KEY: testMasterKey,
  SERVICE_TOKENS: [
    `test:${serviceToken},other:other-service-token`,
    ...ownProducts.map(({ product, token }) => `${product}:${token}`),
  ].join(),
  LOG_LEVEL: 'info',
  RATE_AGENT_PER_MINUTE: '0',
  RATE_VERIFY_PER_MINUTE: '0',
  RATE_WORKFLOW_PAGE_PER_MINUTE: '0',
  RATE_RECIPIENT_PER_HOUR: '0',
  RATE_RECIPIENT_PER_DAY: '0',
  RATE_WRONG_TOKEN_PER_MINUTE: '0',
  RATE_UNKNOWN_ID_PER_MINUTE: '0',
  ...overrides,
});

/** The lines of a worker's log with the answers of its providers at start. */
const askedProviders = (worker: Part) => worker.output().match(/"verdict":"(ok|failed)"/g) ?? [];

async function assemble<P extends Part>(
  start: (kind: 'api' | 'workers', settings: Settings) => Promise<P>,
  options: ServiceOptions,
): Promise<Service<P>> {
  const settings = await testSettings(options.settings);
  const workers: P[] = [];
  const startWorker = async () => {
    const worker = await start('workers', settings);
    workers.push(worker);
    // It asks its TSAs once at start, but a test that makes one fail means its own requests.
    const { TSP_PROVIDERS_FILE: file } = settings;
    if (file) await eventually(async () => askedProviders(worker).length >= (JSON.parse(readFileSync(file, 'utf8')) as unknown[]).length);
    return worker;
  };
  const [api] = await Promise.all([start('api', settings), ...Array.from({ length: options.workers ?? 1 }, startWorker)]);
  let current: P = api;
  const stop = async () => {
    const [code] = await Promise.all([current.stop(), ...workers.map((worker) => worker.stop())]);
    return code;
  };
  if (!options.keep) onTestFinished(async () => void (await stop()));
  return {
    ...api,
    output: () => current.output(),
    settings,
    api: () => current,
    startApi: async () => {
      current = await start('api', { ...settings, PORT: new URL(api.url).port });
    },
    workers,
    startWorker,
    stop,
    fetch: (path, init) => fetch(`${api.url}${path}`, init),
  };
}

/** One more worker of a service, in the process of the test; it ends with the test. */
export async function addWorker({ settings }: { readonly settings: Settings }): Promise<Part> {
  const worker = await startPart('workers', settings);
  onTestFinished(async () => void (await worker.stop()));
  return worker;
}

/** One more worker of a service, in its own process, so that it can be killed. It ends with the test. */
export async function addWorkerProcess({ settings }: { readonly settings: Settings }): Promise<ServiceProcess> {
  const worker = await startProcess('workers', settings);
  onTestFinished(async () => void (await worker.stop()));
  return worker;
}

/** A service in the process of the test, on real servers; it stops when the test, or the setup of its file, ends. */
export const startService = (options: ServiceOptions = {}): Promise<Service> => assemble(startPart, options);

/** The same in separate processes, for tests about kills, memory and printed output. */
export const startProcesses = (options: ServiceOptions = {}): Promise<Service<ServiceProcess>> => assemble(startProcess, options);

/** The settings of services shared by many tests, in addition to those of every test service. */
const sharedSettings: Settings = {
  RATE_TSA_PER_MINUTE: '0',
  RATE_WORKFLOW_START_PER_HOUR: '0',
  RATE_WORKFLOW_STAMP_PER_MINUTE: '0',
  SEALED_MAX_BYTES: '100000',
  CORS_ORIGINS: 'https://app.example',
  MCP_ORIGINS: 'https://assistant.example',
};

/** A service that lives longer than the test file that starts it, which stops it. */
export const startKept = ({ settings = {}, workers = 1 }: Omit<ServiceOptions, 'keep'>): Promise<Service> =>
  startService({ settings: { ...sharedSettings, ...settings }, workers, keep: true });

/** The service with these options that the test files of this process share. Other tests have left stamps and workflows there: use only your own. */
export const sharedService = (options: Omit<ServiceOptions, 'keep'> = {}): Promise<RunningService> =>
  share(
    `service ${JSON.stringify(options)}`,
    () => startKept(options),
    (service) => service.stop(),
  );

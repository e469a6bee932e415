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

const root = resolve(import.meta.dirname, '../..');

/** An API or a worker that runs. */
export interface Part {
  /** Where it listens; empty for a worker. */
  readonly url: string;
  /** Everything that it has logged so far. */
  output(): string;
  /** Finishes what is under way and closes; the exit code where it is a process. */
  stop(): Promise<number | null>;
}

/** One real process of the service, spoken to over its sockets only. */
export interface ServiceProcess extends Part {
  readonly pid: number;
  /** SIGKILL, as a machine that dies. */
  kill(): Promise<void>;
}

export type Settings = Readonly<Record<string, string>>;

/**
 * Opens what a process of this kind opens, on the same servers and a port of its own, but in the process of the test: a process
 * costs more to start than most tests take.
 *
 * @throws ConfigError where a process would end with its one line.
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

/** Starts `src/<kind>/main.ts` with these settings and nothing else of the environment; resolves when it serves. */
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

/** What a test needs of a service that it neither stops nor breaks. */
export interface RunningService {
  readonly url: string;
  readonly settings: Settings;
  /** Everything that its API has logged so far. */
  output(): string;
  /** A request to the API. */
  fetch(path: string, init?: RequestInit): Promise<Response>;
}

/** A whole service on a database and a queue of its own: the API, and workers of the same make. */
export type Service<P extends Part = Part> = P &
  RunningService & {
    /** The API that runs, or ran last. */
    api(): P;
    /** Starts the API again, at the address that it had; it was stopped or killed. */
    startApi(): Promise<void>;
    startWorker(): Promise<P>;
    readonly workers: P[];
  };

interface ServiceOptions {
  readonly settings?: Settings;
  /** 1 unless told. */
  readonly workers?: number;
  /** It outlives the test that starts it; the file stops it. */
  readonly keep?: boolean;
}

export const serviceToken = 'test-service-token';

/** The master key of every service that a test starts. */
export const testMasterKey = randomBytes(32).toString('base64');

/** Settings of a service on servers that nobody else uses; `overrides` win. */
export const testSettings = async (overrides: Settings = {}): Promise<Settings> => ({
  NODE_ENV: 'test',
  PORT: '0',
  REDIS_URL: overrides.REDIS_URL ?? (await freshRedisUrl()),
  MONGODB_URL: freshMongoUrl(),
  MASTER_KEY: testMasterKey,
  SERVICE_TOKENS: `test:${serviceToken},other:other-service-token`,
  LOG_LEVEL: 'info',
  RATE_AGENT_PER_MINUTE: '0',
  RATE_VERIFY_PER_MINUTE: '0',
  RATE_WORKFLOW_PAGE_PER_MINUTE: '0',
  RATE_WRONG_TOKEN_PER_MINUTE: '0',
  RATE_UNKNOWN_ID_PER_MINUTE: '0',
  ...overrides,
});

/** The lines of a worker's log that tell what a provider said when it was asked at start. */
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
    // It asks its TSAs once when it starts: a test that makes one of them fail means its own requests.
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

/** One more worker of a service, in a process of its own: what it takes to kill one. It ends with the test. */
export async function addWorkerProcess({ settings }: { readonly settings: Settings }): Promise<ServiceProcess> {
  const worker = await startProcess('workers', settings);
  onTestFinished(async () => void (await worker.stop()));
  return worker;
}

/** A service in the process of the test, on real servers; everything is stopped when the test, or its file's setup, ends. */
export const startService = (options: ServiceOptions = {}): Promise<Service> => assemble(startPart, options);

/** The same in processes of its own, for what only they show: being killed, memory, all that is printed. */
export const startProcesses = (options: ServiceOptions = {}): Promise<Service<ServiceProcess>> => assemble(startProcess, options);

const shared = new Map<string, Promise<Service>>();

/** What services that many tests share are set to, beside what every test service is. */
const sharedSettings: Settings = { RATE_WORKFLOW_START_PER_HOUR: '0', SEALED_MAX_BYTES: '100000' };

/**
 * The one service with these options in this test process, which runs until the process ends. Other tests have left stamps and workflows there:
 * look only at your own.
 */
export function sharedService({ settings = {}, workers = 1 }: Omit<ServiceOptions, 'keep'> = {}): Promise<RunningService> {
  const key = JSON.stringify([settings, workers]);
  const running = shared.get(key) ?? startService({ settings: { ...sharedSettings, ...settings }, workers, keep: true });
  shared.set(key, running);
  return running;
}

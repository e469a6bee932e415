import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { onTestFinished } from 'vitest';
import { inherited } from './environment.ts';
import { eventually } from './eventually.ts';
import { freshMongoUrl, freshRedisUrl } from './servers.ts';

const root = resolve(import.meta.dirname, '../..');

/** One real process of the service, spoken to over its sockets only. */
export interface ServiceProcess {
  readonly pid: number;
  readonly url: string;
  /** Everything that it has printed so far. */
  output(): string;
  /** SIGTERM, and the exit code. */
  stop(): Promise<number | null>;
  /** SIGKILL, as a machine that dies. */
  kill(): Promise<void>;
}

export type Settings = Readonly<Record<string, string>>;

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

/** A whole service on a database and a queue of its own. */
export interface Service extends ServiceProcess {
  readonly settings: Settings;
  startWorker(): Promise<ServiceProcess>;
  readonly workers: ServiceProcess[];
  /** A request to the API. */
  fetch(path: string, init?: RequestInit): Promise<Response>;
}

export const serviceToken = 'test-service-token';

/** Settings of a service on servers that nobody else uses; `overrides` win. */
export const testSettings = async (overrides: Settings = {}): Promise<Settings> => ({
  NODE_ENV: 'test',
  PORT: '0',
  REDIS_URL: overrides.REDIS_URL ?? (await freshRedisUrl()),
  MONGODB_URL: freshMongoUrl(),
  SERVICE_TOKENS: `test:${serviceToken},other:other-service-token`,
  LOG_LEVEL: 'info',
  RATE_AGENT_PER_MINUTE: '0',
  RATE_VERIFY_PER_MINUTE: '0',
  ...overrides,
});

/** The lines of a worker's log that tell what a provider said when it was asked at start. */
const askedProviders = (worker: ServiceProcess) => worker.output().match(/"verdict":"(ok|failed)"/g) ?? [];

/** Starts one API and `workers` workers (1 unless told); everything is stopped when the test, or its file's setup, ends. */
export async function startService(options: { settings?: Settings; workers?: number; keep?: boolean } = {}): Promise<Service> {
  const settings = await testSettings(options.settings);
  const workers: ServiceProcess[] = [];
  const startWorker = async () => {
    const worker = await startProcess('workers', settings);
    workers.push(worker);
    // It asks its TSAs once when it starts: a test that makes one of them fail means its own requests.
    const { TSP_PROVIDERS_FILE: file } = settings;
    if (file) await eventually(async () => askedProviders(worker).length >= (JSON.parse(readFileSync(file, 'utf8')) as unknown[]).length);
    return worker;
  };
  const [api] = await Promise.all([startProcess('api', settings), ...Array.from({ length: options.workers ?? 1 }, startWorker)]);
  const stop = async () => {
    const [code] = await Promise.all([api.stop(), ...workers.map((worker) => worker.stop())]);
    return code;
  };
  if (!options.keep) onTestFinished(async () => void (await stop()));
  return { ...api, settings, workers, startWorker, stop, fetch: (path, init) => fetch(`${api.url}${path}`, init) };
}

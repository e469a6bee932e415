import { Redis } from 'ioredis';
import { type LoadResult, load } from './load.ts';
import { startProcesses } from './processes.ts';

/** Until the connections stand and most of the code is compiled. There is more code of qstamp than of others: after 8 s some of it was not. */
export const warmUpSeconds = 15;

/** The worker and the API as they are. */
export const ours = ['src/workers/main.ts', 'src/api/main.ts'];

async function syncRedis(url: string, sync: string): Promise<void> {
  const redis = new Redis(url);
  await redis.config('SET', 'appendfsync', sync);
  redis.disconnect();
}

/** Starts processes, the last of which answers a request of products, warms them up and measures. */
export async function underLoad(options: {
  processes: readonly string[];
  environment: NodeJS.ProcessEnv;
  path: string;
  body: unknown;
  connections: number;
  seconds: number;
  sync?: 'always' | 'everysec';
  status?: number;
}): Promise<LoadResult> {
  const { processes, environment, path, body, connections, seconds, sync = 'always', status = 201 } = options;
  await syncRedis(environment.REDIS_URL ?? '', sync);
  const running = await startProcesses(processes, environment);
  const request = {
    url: `${running.url}${path}`,
    headers: { 'content-type': 'application/json', 'x-service-token': 'dev-service-token' },
    body: JSON.stringify(body),
    connections,
    status,
  };
  await load({ ...request, seconds: warmUpSeconds });
  const result = await load({ ...request, seconds });
  await running.stop();
  return result;
}

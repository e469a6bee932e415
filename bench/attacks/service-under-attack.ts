import { readFileSync } from 'node:fs';
import { newMasterKey } from '../../scripts/stack/master-key.ts';
import { type Stack, withStack } from '../../scripts/stack/stack.ts';
import { end, ours, startProcesses, startScript } from '../processes.ts';

export const serviceToken = 'token-of-the-attacked';

export interface ServiceUnderAttack {
  readonly url: string;
  readonly servers: Stack['servers'];
  /** The current memory of the API process, in MB. */
  memoryMb(): number;
}

/** Runs one API and one worker in their own processes with default settings, on servers that the attack may break. */
export function withServiceUnderAttack(run: (service: ServiceUnderAttack) => Promise<void>): Promise<void> {
  return withStack(AbortSignal.timeout(10 * 60_000), async ({ redisUrl, mongoUrl, servers }) => {
    const settings = { REDIS_URL: redisUrl, MONGODB_URL: mongoUrl, MASTER_KEY: newMasterKey(), SERVICE_TOKENS: `attacked:${serviceToken}` };
    const env = { ...process.env, PORT: '0', ...settings };
    const { url, pids, stop } = await startProcesses(ours, env, { stdout: 'ignore' });
    try {
      await run({
        url,
        servers,
        memoryMb: () => Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pids.at(-1)}/status`, 'utf8'))?.[1]) / 1_000,
      });
    } finally {
      await servers.redis?.resume();
      await stop();
    }
  });
}

/**
 * Starts an attacker in its own process, so that it does not slow down the measurement. Resolves when the attack has begun. `stop` returns the number
 * of answers that the attacker got, or 0 if it does not count them.
 */
export async function startAttacker(script: string, ...args: string[]): Promise<{ stop(): Promise<number> }> {
  const { child } = await startScript(script, args);
  let answers = 0;
  child.on('message', (message: { answers?: number }) => (answers = message.answers ?? answers));
  return {
    stop: async () => {
      await end(child);
      return answers;
    },
  };
}

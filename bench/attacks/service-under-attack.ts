import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { newMasterKey } from '../../scripts/stack/master-key.ts';
import { type Stack, withStack } from '../../scripts/stack/stack.ts';

export const serviceToken = 'token-of-the-attacked';

export interface ServiceUnderAttack {
  readonly url: string;
  readonly servers: Stack['servers'];
  /** What the API process holds now, in MB. */
  memoryMb(): number;
}

async function startNode(script: string, args: string[], env: NodeJS.ProcessEnv): Promise<{ child: ChildProcess; url: string }> {
  const child = spawn(process.execPath, [script, ...args], { env, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const [message] = (await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(([code]) => Promise.reject(new Error(`${script} ended with ${code}`))),
  ])) as [{ url?: string }];
  return { child, url: message.url ?? '' };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
}

/** Runs one API and one worker, in processes of their own and with default settings, on servers that the attack may break. */
export function withServiceUnderAttack(run: (service: ServiceUnderAttack) => Promise<void>): Promise<void> {
  return withStack(AbortSignal.timeout(10 * 60_000), async ({ redisUrl, mongoUrl, servers }) => {
    const settings = { REDIS_URL: redisUrl, MONGODB_URL: mongoUrl, MASTER_KEY: newMasterKey(), SERVICE_TOKENS: `attacked:${serviceToken}` };
    const env = { ...process.env, PORT: '0', ...settings };
    const worker = await startNode('src/workers/main.ts', [], env);
    const api = await startNode('src/api/main.ts', [], env);
    try {
      await run({
        url: api.url,
        servers,
        memoryMb: () => Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${api.child.pid}/status`, 'utf8'))?.[1]) / 1_000,
      });
    } finally {
      await servers.redis?.resume();
      await Promise.all([end(api.child), end(worker.child)]);
    }
  });
}

/**
 * Starts an attacker in a process of its own, so that it does not slow down what is measured here; resolves once it attacks. `stop` tells
 * how many answers it got, where it counts them.
 */
export async function startAttacker(script: string, ...args: string[]): Promise<{ stop(): Promise<number> }> {
  const { child } = await startNode(script, args, process.env);
  let answers = 0;
  child.on('message', (message: { answers?: number }) => (answers = message.answers ?? answers));
  return {
    stop: async () => {
      await end(child);
      return answers;
    },
  };
}

import { request } from 'node:http';
import type { StackContext } from './context.ts';

const answerMs = 5_000;
const defaultSocket = '/var/run/docker.sock';

/** How Node reaches the API of an engine at an address as `DOCKER_HOST` has it; undefined for one that needs more than a connection (TLS, SSH). */
function connectionTo(host: string): { socketPath: string } | { host: string; port: string } | undefined {
  if (host.startsWith('unix://')) return { socketPath: host.slice('unix://'.length) };
  if (!host.startsWith('tcp://') || process.env.DOCKER_TLS_VERIFY) return undefined;
  const { hostname, port } = new URL(host.replace(/^tcp:/, 'http:'));
  return { host: hostname, port: port || '2375' };
}

/** True when an engine answers there as Docker's does: Docker itself, or Podman's socket. */
export function answersAsEngine(host: string, signal?: AbortSignal): Promise<boolean> {
  const connection = connectionTo(host);
  if (connection === undefined) return Promise.resolve(false);
  return new Promise((resolve) => {
    const limit = AbortSignal.timeout(answerMs);
    const asked = request({ ...connection, path: '/_ping', signal: signal ? AbortSignal.any([signal, limit]) : limit });
    asked.once('response', (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    asked.once('error', () => resolve(false));
    asked.end();
  });
}

/** Whether a container engine is there for us: the one that `DOCKER_HOST` names, else the one at Docker's usual socket. */
export async function engineAnswers({ signal, progress }: Pick<StackContext, 'signal' | 'progress'>): Promise<boolean> {
  const named = process.env.DOCKER_HOST;
  const answers = await answersAsEngine(named || `unix://${defaultSocket}`, signal);
  signal.throwIfAborted();
  if (named && !answers) progress.say(`  no engine answers at DOCKER_HOST=${named}: going on without containers`);
  return answers;
}

import { request } from 'node:http';
import type { StackContext } from './context.ts';
import { StepError } from './progress.mjs';

const answerMs = 5_000;

/** Where an engine is looked for: `DOCKER_HOST`, else Docker's usual socket. */
const engineAddress = () => process.env.DOCKER_HOST || 'unix:///var/run/docker.sock';

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
    // A connection that was kept would answer for an engine that nobody else can reach, or die with one that is back.
    const asked = request({ ...connection, agent: false, path: '/_ping', signal: signal ? AbortSignal.any([signal, limit]) : limit });
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
  const answers = await answersAsEngine(engineAddress(), signal);
  signal.throwIfAborted();
  if (named && !answers) progress.say(`  no container engine answers at DOCKER_HOST=${named}`);
  return answers;
}

/** Of this process: the loss of an engine is one line, also where it ends several things. */
let isLossTold = false;

/** The one line for an engine that was there and has gone; undefined while it answers. What it ran may still run, and only it can say. */
async function describeLostEngine(): Promise<string | undefined> {
  if (await answersAsEngine(engineAddress())) return undefined;
  return `the container engine at ${engineAddress()} stopped answering; containers that it had started may still run`;
}

/** What to tell of something in a container that ended, or failed to start: that the engine has gone, where it has, else its own report. */
export async function blameEngine(report: string): Promise<{ readonly report: string; readonly isEngineLost: boolean }> {
  const lost = await describeLostEngine();
  isLossTold ||= lost !== undefined;
  return { report: lost ?? report, isEngineLost: lost !== undefined };
}

/** The error of a step that an engine had to do. */
export async function containerStepError(step: string, error: Error, remedy: string): Promise<StepError> {
  const { report, isEngineLost } = await blameEngine(error.message);
  const again = 'start the engine and run the same command again: it takes over what still runs';
  return new StepError(step, report, isEngineLost ? again : remedy, error);
}

/** Cleans up in an engine; where that has gone, nothing can be, which is said unless it was already. */
export async function cleanUpUnlessLost(cleanUp: () => Promise<unknown>, say: (line: string) => void): Promise<void> {
  try {
    await cleanUp();
  } catch (error) {
    const lost = await describeLostEngine();
    if (lost === undefined) throw error;
    if (!isLossTold) say(`  ${lost}`);
    isLossTold = true;
  }
}

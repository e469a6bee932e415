import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';

export interface Running {
  readonly child: ChildProcess;
  /** Where it listens, if it does. */
  readonly url?: string;
}

/** Starts a process of the service or of a contender; resolves when it serves. */
export async function start(script: string, environment: NodeJS.ProcessEnv): Promise<Running> {
  const child = fork(script, { env: environment, execArgv: [] });
  const [message] = (await once(child, 'message')) as [{ url?: string }];
  return { child, ...message };
}

export async function stop({ child }: Running): Promise<void> {
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
}

import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { type ComposeServer, composeImage, containerCommands, engineAnswers } from './compose.ts';
import type { StackContext } from './context.ts';
import { initiateReplicaSet } from './mongod.ts';
import { findFreePort } from './ports.ts';
import { StepError } from './progress.ts';
import { pingRedis } from './redis.ts';
import type { ServerOptions, StackServer } from './server-process.ts';

const contained = {
  redis: {
    // Without a password, Redis by default refuses clients from outside its container. This setting allows them, as Docker Hub's image does.
    command: [...containerCommands.redis, '--protected-mode', 'no'],
    inside: 6379,
    checkReady: pingRedis,
    urlAt: (host: string, port: number) => `redis://${host}:${port}`,
  },
  mongodb: {
    command: [...containerCommands.mongodb],
    inside: 27017,
    checkReady: (port: number, host: string) => initiateReplicaSet(port, 'localhost:27017', host),
    urlAt: (host: string, port: number) => `mongodb://${host}:${port}/?directConnection=true`,
  },
} as const;

/** Whether a process of this machine belongs to a container. An engine may be on another machine, and then its process ids mean nothing here. */
function isOfContainer(pid: number, id: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/cgroup`, 'utf8').includes(id);
  } catch {
    return false;
  }
}

const readyMs = 60_000;
const pollMs = 100;

/**
 * Starts a test server with testcontainers, from the image in docker-compose.yml: without a password, and with its data inside the container. The
 * modules of testcontainers for Redis and MongoDB are not used: they change the port at each restart, but our servers must keep their port.
 *
 * @returns undefined if no engine answers
 */
export async function startTestContainer(
  context: StackContext,
  name: ComposeServer,
  options: ServerOptions,
): Promise<StackServer | undefined> {
  if (!(await engineAnswers(context))) return undefined;
  // Loaded only if needed, because it takes longer to load than most tests to run.
  const { GenericContainer, getContainerRuntimeClient } = await import('testcontainers');
  const { signal, progress } = context;
  const image = composeImage(name);
  const { command, inside, checkReady, urlAt } = contained[name];
  const port = await findFreePort(options.preferredPort);
  const { container: containers, info } = await getContainerRuntimeClient();
  // This is not localhost if we run in a container ourselves, or if the engine is on another machine.
  const { host } = info.containerRuntime;
  /** Publishes the port only to this machine if the engine is on this machine. testcontainers itself publishes it to the whole network. */
  class ClosedContainer extends GenericContainer {
    protected override async beforeContainerCreated(): Promise<void> {
      const binding = { HostPort: String(port), ...(['localhost', '127.0.0.1'].includes(host) && { HostIp: '127.0.0.1' }) };
      this.hostConfig.PortBindings = { [`${inside}/tcp`]: [binding] };
    }
  }
  const ready = async () => {
    const deadline = Date.now() + readyMs;
    for (;;) {
      signal.throwIfAborted();
      try {
        return await checkReady(port, host);
      } catch (error) {
        if (Date.now() > deadline) throw error;
        await delay(pollMs);
      }
    }
  };
  const title = `Starting ${image} (testcontainers)`;
  const begin = () =>
    new ClosedContainer(image)
      .withCommand([...command])
      .withExposedPorts(inside)
      .start();
  const begun = await progress.step(title, begin).catch((error) => {
    throw new StepError(title, error.message, 'check that the engine runs and that its images can be pulled', error);
  });
  const container = containers.getById(begun.getId());
  const remove = () => container.remove({ force: true, v: true });
  const listeners: ((report: string) => void)[] = [];
  let isExpected = false;
  const serve = async () => {
    await ready();
    isExpected = false;
    container.wait().then(
      ({ StatusCode }: { StatusCode: number }) => {
        if (!isExpected) for (const listener of listeners) listener(`${name} (${image}) ended with code ${StatusCode}`);
      },
      // An error means that the container was removed or the engine has ended.
      () => undefined,
    );
  };
  const resume = async () => {
    if ((await container.inspect()).State.Paused) await container.unpause();
  };
  /**
   * Ends the container. Podman does not stop or kill a paused container, so it is resumed first. For a kill, its process gets SIGKILL before it is
   * resumed, so that it does no more work.
   */
  const end = async (how: 'stop' | 'kill') => {
    isExpected = true;
    const { Paused, Pid, Running } = (await container.inspect()).State;
    if (!Running && !Paused) return;
    if (Paused && how === 'kill' && isOfContainer(Pid, container.id)) process.kill(Pid, 'SIGKILL');
    if (Paused) await container.unpause();
    if (!Paused || how === 'stop') await container[how]();
    await container.wait();
  };
  try {
    await serve();
  } catch (error) {
    await remove();
    throw error;
  }
  return {
    url: urlAt(host, port),
    source: `the image ${image} by testcontainers, because a container engine answers`,
    port,
    start: async () => {
      await container.start();
      await serve();
    },
    stop: () => end('stop'),
    kill: () => end('kill'),
    remove,
    pause: () => container.pause(),
    resume,
    onUnexpectedExit: (listener) => void listeners.push(listener),
  };
}

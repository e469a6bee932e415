import { setTimeout as delay } from 'node:timers/promises';
import { type ComposeServer, composeImage, containerCommands } from './compose-file.ts';
import type { StackContext } from './context.ts';
import { cleanUpUnlessLost, containerStepError } from './engine.ts';
import { initiateReplicaSet } from './mongo-ready.ts';
import { findFreePort } from './ports.ts';
import { pingRedis } from './redis-binary.ts';
import type { ServerOptions, StackServer } from './server.ts';

interface Contained {
  readonly command: readonly string[];
  readonly port: number;
  readonly checkReady: (port: number, host: string) => Promise<void>;
  readonly urlAt: (host: string, port: number) => string;
}

const contained: Readonly<Record<ComposeServer, Contained>> = {
  redis: {
    // Without a password Redis would answer nobody from outside its container; the image of Docker Hub has that switched off.
    command: [...containerCommands.redis, '--protected-mode', 'no'],
    port: 6379,
    checkReady: pingRedis,
    urlAt: (host, port) => `redis://${host}:${port}`,
  },
  mongodb: {
    command: containerCommands.mongodb,
    port: 27017,
    checkReady: (port, host) => initiateReplicaSet(port, 'localhost:27017', host),
    urlAt: (host, port) => `mongodb://${host}:${port}/?directConnection=true`,
  },
};

const readyMs = 60_000;
const pollMs = 100;

async function untilReady(checkReady: () => Promise<void>, { signal }: StackContext): Promise<void> {
  const deadline = Date.now() + readyMs;
  for (;;) {
    signal.throwIfAborted();
    try {
      return await checkReady();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await delay(pollMs);
    }
  }
}

/**
 * A server for tests in a container of compose's image, by testcontainers: without a password, and with its data inside the container. Not by
 * testcontainers' own modules for Redis and MongoDB: they take another port after each restart, and these servers keep theirs.
 */
export async function startTestContainer(context: StackContext, name: ComposeServer, options: ServerOptions): Promise<StackServer> {
  // Costs more to read than most tests take, and where no engine answers nobody needs it.
  const { GenericContainer, getContainerRuntimeClient } = await import('testcontainers');
  const image = composeImage(name);
  const title = `Starting ${image} (testcontainers)`;
  const { port: inside, command, checkReady, urlAt } = contained[name];
  const port = await findFreePort(options.preferredPort);
  const failure = async (error: Error): Promise<Error> =>
    context.signal.aborted
      ? context.signal.reason
      : containerStepError(title, error, 'see that the engine runs and that its images can be pulled');
  const { container: containers, info } = await getContainerRuntimeClient().catch(async (error) => {
    throw await failure(error);
  });
  // Elsewhere than here where we run in a container ourselves, or the engine is on another machine.
  const { host } = info.containerRuntime;
  /** Publishes its port to this machine alone where that will do; testcontainers by itself does so to the whole network. */
  class ClosedContainer extends GenericContainer {
    protected override async beforeContainerCreated(): Promise<void> {
      const binding = { HostPort: String(port), ...(['localhost', '127.0.0.1'].includes(host) && { HostIp: '127.0.0.1' }) };
      this.hostConfig.PortBindings = { [`${inside}/tcp`]: [binding] };
    }
    protected override containerCreated = async (id: string) => {
      created = id;
    };
  }
  let created = '';
  const removeById = (id: string) => cleanUpUnlessLost(() => containers.getById(id).remove({ force: true, v: true }), context.progress.say);
  try {
    await context.progress.step(title, () =>
      new ClosedContainer(image)
        .withCommand([...command])
        .withExposedPorts(inside)
        .start(),
    );
  } catch (error) {
    const failed = await failure(error as Error);
    if (created !== '') await removeById(created);
    throw failed;
  }
  const container = containers.getById(created);
  const remove = () => removeById(created);
  const ready = () => untilReady(() => checkReady(port, host), context);
  const listeners: ((report: string) => void)[] = [];
  let isExpected = false;
  const watch = () =>
    container.wait().then(
      ({ StatusCode }: { StatusCode: number }) => {
        if (!isExpected) for (const listener of listeners) listener(`${name} (${image}) ended with code ${StatusCode}`);
      },
      // It was removed, or the engine has gone.
      () => undefined,
    );
  const stopNow = async () => {
    isExpected = true;
    const { State } = await container.inspect();
    if (!State.Running && !State.Paused) return;
    if (State.Paused) await container.unpause();
    await container.stop();
  };
  const stop = () => cleanUpUnlessLost(stopNow, context.progress.say);
  const kill = async () => {
    isExpected = true;
    const { State } = await container.inspect();
    if (!State.Running && !State.Paused) return;
    if (State.Paused) {
      // Podman kills no container that is paused. Told before it goes on, it does nothing any more.
      process.kill(State.Pid, 'SIGKILL');
      await container.unpause();
    } else await container.kill();
    await container.wait();
  };
  const server: StackServer = {
    url: urlAt(host, port),
    source: `the image ${image} by testcontainers, because a container engine answers`,
    port,
    start: async () => {
      await container.start();
      isExpected = false;
      await ready();
      void watch();
    },
    stop,
    kill,
    remove,
    pause: () => container.pause(),
    resume: async () => {
      if ((await container.inspect()).State.Paused) await container.unpause();
    },
    onUnexpectedExit: (listener) => void listeners.push(listener),
  };
  try {
    await ready();
  } catch (error) {
    const failed = await failure(error as Error);
    await remove();
    throw failed;
  }
  void watch();
  return server;
}

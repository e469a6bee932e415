import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { answersAsEngine } from '../../scripts/stack/compose.ts';
import type { StackContext } from '../../scripts/stack/context.ts';
import { canInstallPackages, installPackages } from '../../scripts/stack/debian.ts';
import { StepError } from '../../scripts/stack/progress.ts';
import { findProgram, runCommand, runToEnd } from '../../scripts/stack/run.ts';
import { createServerProcess } from '../../scripts/stack/server-process.ts';

const packages = ['podman', 'buildah', 'runc', 'netavark', 'aardvark-dns', 'iptables'];

/** The interval of the health checks in docker-compose.yml. */
const healthMs = 5_000;

/** A container engine of our own, on a private socket. */
export interface Podman {
  /** Environment variables that make Docker's clients, testcontainers and `podman` itself use this engine. */
  readonly env: Readonly<Record<string, string>>;
  podman(args: readonly string[]): Promise<string>;
  stop(): Promise<void>;
}

/**
 * Writes the settings of an engine that has all its files below `folder`, separate from other Podmans of the machine. crun is not used because it
 * refuses a hybrid cgroup tree, and there is no systemd to make another tree. Limits are set because the usual ones are higher than root may set in a
 * container.
 */
function writeSettings(folder: string): Record<string, string> {
  const settings = (name: string, lines: readonly string[]) => {
    const file = join(folder, name);
    writeFileSync(file, `${lines.join('\n')}\n`);
    return file;
  };
  const containers = settings('containers.conf', [
    '[containers]',
    'default_ulimits = ["nofile=1024:1024", "nproc=2048:2048"]',
    '[engine]',
    'cgroup_manager = "cgroupfs"',
    'runtime = "runc"',
    'events_logger = "file"',
    `tmp_dir = "${join(folder, 'tmp')}"`,
    '[network]',
    'network_backend = "netavark"',
    `network_config_dir = "${join(folder, 'networks')}"`,
  ]);
  const storage = settings('storage.conf', [
    '[storage]',
    'driver = "overlay"',
    `graphroot = "${join(folder, 'storage')}"`,
    `runroot = "${join(folder, 'run')}"`,
  ]);
  return { CONTAINERS_CONF: containers, CONTAINERS_STORAGE_CONF: storage };
}

/**
 * Runs the health checks of all containers regularly: Podman runs them through systemd, which is missing here. Returns a function that stops this.
 */
function askAfterHealth(socketPath: string, everyMs: number): () => Promise<void> {
  const get = (path: string) =>
    new Promise<string>((resolve, reject) => {
      const asked = request({ socketPath, path, timeout: 30_000 }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.once('end', () => resolve(Buffer.concat(chunks).toString()));
      });
      asked.once('error', reject);
      asked.end();
    });
  const stopped = new AbortController();
  const round = async () => {
    const running: { Id: string }[] = JSON.parse(await get('/v4.0.0/libpod/containers/json'));
    // A container without a health check, or one that has just ended, refuses this request, which is ignored.
    await Promise.all(running.map(({ Id }) => get(`/v4.0.0/libpod/containers/${Id}/healthcheck`)));
  };
  const rounds = (async () => {
    while (!stopped.signal.aborted) {
      await round().catch(() => undefined);
      await delay(everyMs, undefined, { signal: stopped.signal }).catch(() => undefined);
    }
  })();
  return () => {
    stopped.abort();
    return rounds;
  };
}

/** Installs Debian's Podman if it is missing, and starts it with cached images. */
export async function startPodman(context: StackContext): Promise<Podman> {
  const { signal, cacheDir, dataDir } = context;
  if (findProgram('podman') === undefined || findProgram('runc') === undefined) {
    if (!canInstallPackages()) {
      throw new StepError(
        'Finding a container engine',
        'none answers, and packages cannot be installed here',
        'start Docker, or set DOCKER_HOST',
      );
    }
    await installPackages(context, packages);
  }
  const folder = join(cacheDir, 'containers');
  mkdirSync(folder, { recursive: true });
  const socket = join(dataDir, 'podman.sock');
  const own = writeSettings(folder);
  const env = { ...process.env, ...own };
  const podman = (args: readonly string[]) => runCommand('podman', args, { signal, env });
  const removeAll = async () => {
    for (const command of ['container rm --all --force', 'volume rm --all --force', 'network prune --force'])
      await runToEnd('podman', command.split(' '), { env });
  };
  // Containers may be left over from an interrupted run, perhaps before a reboot of this machine.
  await removeAll();
  for (const state of ['run', 'tmp']) rmSync(join(folder, state), { recursive: true, force: true });

  const service = createServerProcess({
    name: 'Podman',
    command: 'podman',
    args: ['system', 'service', '--time=0', `unix://${socket}`],
    env,
    logFile: join(dataDir, 'logs', 'podman.log'),
    stopSignal: 'SIGTERM',
    checkReady: async () => {
      if (!(await answersAsEngine(`unix://${socket}`))) throw new Error('no answer yet');
    },
  });
  await service.start(signal);
  const endHealth = askAfterHealth(socket, healthMs);
  return {
    // BuildKit's own images may not be available, and our image does not need it.
    env: {
      ...own,
      DOCKER_HOST: `unix://${socket}`,
      DOCKER_BUILDKIT: '0',
      TESTCONTAINERS_RYUK_DISABLED: 'true',
      TESTCONTAINERS_HOST_OVERRIDE: '127.0.0.1',
    },
    podman,
    stop: async () => {
      await endHealth();
      await removeAll();
      await service.stop();
    },
  };
}

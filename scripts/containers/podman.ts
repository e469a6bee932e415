import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { canInstallPackages, findProgram, installPackages } from '../stack/administrator.ts';
import type { StackContext } from '../stack/context.ts';
import { answersAsEngine } from '../stack/engine.ts';
import { createManagedProcess } from '../stack/managed-process.ts';
import { processTree, sendSignal } from '../stack/process-group.ts';
import { StepError } from '../stack/progress.mjs';
import { runCommand } from '../stack/run-command.ts';

const packages = ['podman', 'buildah', 'runc', 'netavark', 'aardvark-dns', 'iptables'];

/** The interval of the health checks in docker-compose.yml. */
const healthMs = 5_000;

/** An engine of ours, on a socket that nobody else knows. */
export interface Podman {
  /** What makes Docker's clients, testcontainers and `podman` itself use it. */
  readonly env: Readonly<Record<string, string>>;
  podman(args: readonly string[], onLine?: (line: string) => void): Promise<string>;
  /** SIGKILL to what answers at the socket: containers go on. */
  crash(): Promise<void>;
  /** Has it answer again. */
  revive(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Settings of an engine with all that it has below `folder`: nothing of it meets another Podman of the machine. crun refuses a hybrid tree of
 * cgroups, and there is no systemd to make any; the usual limits are more than root may set in a container.
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

/** Podman asks after the health of containers through systemd; where that is not, somebody else must. */
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
    // A container without a health check, or one that has just ended, is refused, and that is all.
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

/** Podman's monitors of containers below `folder`: one waits for ever where Podman was killed between making a container and starting it. */
const findMonitors = (folder: string): number[] =>
  readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .flatMap((entry) => {
      try {
        const [program = '', ...args] = readFileSync(`/proc/${entry}/cmdline`, 'utf8').split('\0');
        return basename(program) === 'conmon' && args.some((arg) => arg.startsWith(`${folder}/`)) ? [Number(entry)] : [];
      } catch {
        // It ended while we looked.
        return [];
      }
    });

/** Installs Debian's Podman where it is missing, and starts it, with its images kept in the cache. */
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
  const podman = (args: readonly string[], onLine?: (line: string) => void) =>
    runCommand('podman', args, { signal, env: { ...process.env, ...own }, ...(onLine && { onLine }) });
  const removeAll = async () => {
    const asMuchAsGoes = { env: { ...process.env, ...own } };
    for (const what of ['container', 'volume']) {
      await runCommand('podman', [what, 'rm', '--all', '--force'], asMuchAsGoes).catch(() => undefined);
    }
    await runCommand('podman', ['network', 'prune', '--force'], asMuchAsGoes).catch(() => undefined);
    for (const pid of findMonitors(folder)) for (const each of processTree(pid)) sendSignal(each, 'SIGKILL');
  };
  // Of a run that was cut off, perhaps before this machine was started anew.
  await removeAll();
  for (const state of ['run', 'tmp']) rmSync(join(folder, state), { recursive: true, force: true });

  const service = createManagedProcess({
    name: 'Podman',
    command: 'podman',
    args: ['system', 'service', '--time=0', `unix://${socket}`],
    env: { ...process.env, ...own },
    logFile: join(dataDir, 'logs', 'podman.log'),
    stopSignal: 'SIGTERM',
    checkReady: async () => {
      if (!(await answersAsEngine(`unix://${socket}`, signal))) throw new Error('no answer yet');
    },
  });
  await service.start(signal);
  const endHealth = askAfterHealth(socket, healthMs);
  return {
    // Its own images are not to be had where nothing is, and ours needs no BuildKit.
    env: {
      ...own,
      DOCKER_HOST: `unix://${socket}`,
      DOCKER_BUILDKIT: '0',
      TESTCONTAINERS_RYUK_DISABLED: 'true',
      TESTCONTAINERS_HOST_OVERRIDE: '127.0.0.1',
    },
    podman,
    crash: service.kill,
    revive: () => service.start(signal),
    stop: async () => {
      await endHealth();
      await removeAll();
      await service.stop();
    },
  };
}

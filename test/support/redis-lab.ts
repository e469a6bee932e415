import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { cached, recipeKey } from '../../scripts/stack/cache.ts';
import { createTemporaryContext } from '../../scripts/stack/context.ts';
import { makeTree, treeRecipe } from '../../scripts/stack/debian.ts';
import { findFreePort } from '../../scripts/stack/ports.ts';
import { pingRedis, redisSettings } from '../../scripts/stack/redis.ts';
import { createServerProcess, type ServerProcess } from '../../scripts/stack/server-process.ts';
import { eventually } from './eventually.ts';

/** Several servers of Debian's newest Redis or Valkey, with what stands before them. */
export type Kind = 'redis' | 'valkey';

/** A server, and the way to it: everybody but the test reaches it through `gate`. */
export interface LabServer extends ServerProcess {
  readonly port: number;
  readonly gate: Gate;
  /** Runs one command on the server itself. */
  command(...words: string[]): Promise<unknown>;
}

/** A port that passes connections on, and can cut some of them off. */
export interface Gate {
  readonly port: number;
  /** Passes new connections to another port. */
  leadTo(port: number): void;
  /** Cuts off other servers, but not the service: its connections have names. Nothing is closed, and nothing comes through. */
  cutOffServers(isCut: boolean): void;
  close(): void;
}

async function openGate(target: number): Promise<Gate> {
  let [to, isCut] = [target, false];
  const open = new Set<net.Socket>();
  const server = net.createServer((client) => {
    const upstream = net.connect(to, '127.0.0.1').setNoDelay();
    client.setNoDelay();
    let isService = false;
    const isSilent = () => isCut && !isService;
    client.on('data', (octets) => {
      isService ||= octets.includes('qstamp-');
      if (!isSilent()) upstream.write(octets);
    });
    upstream.on('data', (octets) => isSilent() || client.write(octets));
    for (const [one, other] of [[client, upstream] as const, [upstream, client] as const]) {
      open.add(one);
      one.on('error', () => undefined);
      one.on('close', () => {
        open.delete(one);
        other.destroy();
      });
    }
  });
  const port = await findFreePort();
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return {
    port,
    leadTo: (next) => {
      to = next;
    },
    cutOffServers: (isCutNow) => {
      isCut = isCutNow;
    },
    close: () => {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}

/** A server's certificate, which is its own CA, and its key. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
}

/** A sentinel. `port` takes connections without TLS, for the test. */
interface LabSentinel extends ServerProcess {
  readonly port: number;
  readonly servicePort: number;
}

const tlsSettings = (port: number, { cert, key }: TlsFiles): string[] => [
  `tls-port ${port}`,
  `tls-cert-file ${cert}`,
  `tls-key-file ${key}`,
  `tls-ca-cert-file ${cert}`,
  'tls-auth-clients no',
  'tls-replication yes',
];

/** Settings of a file as arguments. */
const argumentsOf = (settings: readonly string[]): string[] => settings.flatMap((setting) => `--${setting}`.split(' '));

/** A folder for servers, and the programs. `dispose` ends all servers. */
export async function openRedisLab(kind: Kind = 'redis') {
  const { context, dispose } = createTemporaryContext(new AbortController().signal);
  const packages = ['redis-server', 'valkey-server'];
  const tree = join(
    await cached(context, 'redis-tree', recipeKey(...packages, ...treeRecipe), (folder) =>
      makeTree(context, folder, packages, "Unpacking Debian's newest Redis and Valkey", 'extract'),
    ),
    'root',
  );
  const libraries = `${tree}/usr/lib/x86_64-linux-gnu`;
  const inTree = (name: string, program: string) => ['--argv0', name, '--library-path', libraries, `${tree}/usr/bin/${program}`];
  const loader = `${tree}/usr/lib64/ld-linux-x86-64.so.2`;
  const dir = mkdtempSync(join(tmpdir(), 'qstamp-redis-lab-'));
  const closing: (() => unknown)[] = [() => rmSync(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })];

  async function start(name: string, port: number, args: readonly string[]): Promise<ServerProcess> {
    const folder = join(dir, name);
    mkdirSync(folder, { recursive: true });
    const server = createServerProcess({
      name,
      command: loader,
      args: [...inTree(`${kind}-server`, `${kind}-check-rdb`), ...args],
      cwd: folder,
      logFile: join(folder, 'log'),
      stopSignal: 'SIGTERM',
      checkReady: () => pingRedis(port),
    });
    await server.start();
    closing.push(() => server.kill());
    return server;
  }

  const commandTo = async (port: number, words: readonly string[]) => {
    const redis = new Redis({ port, maxRetriesPerRequest: 5, connectionName: 'lab' });
    redis.on('error', () => undefined);
    try {
      return await redis.call(words[0]!, ...words.slice(1));
    } finally {
      redis.disconnect();
    }
  };

  return {
    dir,
    /** Starts a server behind a gate, under whose port other servers and the service know it. With `tls`, they use TLS. */
    startServer: async (name: string, settings: readonly string[] = [], tls?: TlsFiles): Promise<LabServer> => {
      const [port, tlsPort] = [await findFreePort(), await findFreePort()];
      const gate = await openGate(tls ? tlsPort : port);
      closing.push(() => gate.close());
      const announced = ['--replica-announce-ip', '127.0.0.1', '--replica-announce-port', String(gate.port)];
      const args = ['--port', String(port), '--bind', '127.0.0.1', ...redisSettings, '--repl-ping-replica-period', '1', ...announced];
      const server = await start(name, port, [...args, ...settings, ...(tls ? argumentsOf(tlsSettings(tlsPort, tls)) : [])]);
      return { ...server, port, gate, command: (...words) => commandTo(port, words) };
    },
    /** Starts a sentinel that watches the primary `qstamp`. */
    startSentinel: async (name: string, primary: LabServer, tls?: TlsFiles): Promise<LabSentinel> => {
      const [port, tlsPort] = [await findFreePort(), await findFreePort()];
      const file = join(dir, `${name}.conf`);
      writeFileSync(
        file,
        [
          `port ${port}`,
          'bind 127.0.0.1',
          `sentinel monitor qstamp 127.0.0.1 ${primary.gate.port} 2`,
          'sentinel down-after-milliseconds qstamp 2000',
          'sentinel failover-timeout qstamp 6000',
          ...(tls ? tlsSettings(tlsPort, tls) : []),
        ].join('\n'),
      );
      return { ...(await start(name, port, [file, '--sentinel'])), port, servicePort: tls ? tlsPort : port };
    },
    /** Runs redis-cli. */
    cli: async (...args: string[]) => {
      const options = { timeout: 60_000 };
      return (await promisify(execFile)(loader, [...inTree(`${kind}-cli`, `${kind}-cli`), ...args], options)).stdout;
    },
    dispose: async () => {
      for (const close of closing.toReversed()) await close();
      dispose();
    },
  };
}

export type RedisLab = Awaited<ReturnType<typeof openRedisLab>>;

const isPrimary = async (server: LabServer) => String(await server.command('ROLE').catch(() => '')).startsWith('master');

/** Resolves when the sentinels have made a server the primary. */
export const untilPrimary = (server: LabServer) => eventually(async () => (await isPrimary(server)) || undefined, 40_000);

/** Resolves when a replica has all of its primary. */
export const untilReplicating = (replica: LabServer) =>
  eventually(async () => /,connected,/.test(String(await replica.command('ROLE'))) || undefined, 30_000);

/** A primary and a replica with three sentinels. */
export async function startSentinels(lab: RedisLab, tls?: TlsFiles) {
  const first = await lab.startServer('first', [], tls);
  const second = await lab.startServer('second', ['--replicaof', '127.0.0.1', String(first.gate.port)], tls);
  await untilReplicating(second);
  const sentinels = await Promise.all(['a', 'b', 'c'].map((name) => lab.startSentinel(`sentinel-${name}`, first, tls)));
  const known = async () =>
    (await Promise.all(sentinels.map(({ port }) => lab.cli('-p', String(port), 'sentinel', 'ckquorum', 'qstamp').catch(() => '')))).every(
      (answer) => answer.startsWith('OK 3'),
    );
  await eventually(async () => (await known()) || undefined, 30_000);
  return {
    settings: {
      REDIS_SENTINELS: sentinels.map(({ servicePort }) => `127.0.0.1:${servicePort}`).join(),
      REDIS_SENTINEL_NAME: 'qstamp',
      ...(tls && { REDIS_URL: 'rediss://127.0.0.1', REDIS_TLS_CA_FILE: tls.cert, REDIS_SENTINEL_TLS: '1' }),
    },
    sentinels,
    /** The server that calls itself the primary, and the other one. */
    roles: async () => ((await isPrimary(first)) ? { primary: first, replica: second } : { primary: second, replica: first }),
  };
}

/** A primary and a replica behind one address. */
export async function startPair(lab: RedisLab) {
  const first = await lab.startServer('one');
  const second = await lab.startServer('other', ['--replicaof', '127.0.0.1', String(first.gate.port)]);
  await untilReplicating(second);
  const address = await openGate(first.port);
  let [primary, replica] = [first, second];
  return {
    settings: { REDIS_URL: `redis://127.0.0.1:${address.port}` },
    /** Swaps the roles. Connections to the old primary stay open. */
    swap: async () => {
      await replica.command('REPLICAOF', 'NO', 'ONE');
      address.leadTo(replica.port);
      await primary.command('REPLICAOF', '127.0.0.1', String(replica.gate.port));
      [primary, replica] = [replica, primary];
      await untilReplicating(replica);
    },
    /** The machine of the primary is gone without a word; the replica takes over. Later the old primary comes back as a replica. */
    vanish: async () => {
      primary.pause();
      await replica.command('REPLICAOF', 'NO', 'ONE');
      address.leadTo(replica.port);
      return async () => {
        primary.resume();
        await primary.command('REPLICAOF', '127.0.0.1', String(replica.gate.port));
        [primary, replica] = [replica, primary];
        await untilReplicating(replica);
      };
    },
    close: () => address.close(),
  };
}

/** Three primaries, each with a replica. */
export async function startCluster(lab: RedisLab) {
  const settings = ['--cluster-enabled', 'yes', '--cluster-node-timeout', '2000'];
  const nodes = await Promise.all(Array.from({ length: 6 }, (_, index) => lab.startServer(`node-${index}`, settings)));
  const addresses = nodes.map(({ port }) => `127.0.0.1:${port}`);
  await lab.cli('--cluster', 'create', ...addresses, '--cluster-replicas', '1', '--cluster-yes');
  const isWhole = async () =>
    (await Promise.all(nodes.map((node) => node.command('CLUSTER', 'INFO')))).every((info) => String(info).includes('cluster_state:ok'));
  await eventually(async () => (await isWhole()) || undefined, 30_000);
  const slotOf = async () => Number(await nodes[0]!.command('CLUSTER', 'KEYSLOT', '{qstamp}'));
  const slots = async () => (await nodes[0]!.command('CLUSTER', 'SLOTS')) as [number, number, ...[string, number, string][]][];
  const primariesOf = async () => {
    const slot = await slotOf();
    const all = await slots();
    const owner = all.find(([from, to]) => from <= slot && slot <= to)![2] as unknown as [string, number, string];
    const other = all.find(([from, to]) => !(from <= slot && slot <= to))![2] as unknown as [string, number, string];
    return {
      slot,
      owner: nodes.find(({ port }) => port === owner[1])!,
      ownerId: owner[2],
      other: nodes.find(({ port }) => port === other[1])!,
      otherId: other[2],
    };
  };
  return {
    settings: { REDIS_CLUSTER_NODES: addresses.slice(0, 3).join() },
    nodes,
    primariesOf,
    isWhole,
    /** Moves the slot of the service with its keys to another primary, a hundred keys at a time. */
    moveSlot: async () => {
      const { slot, owner, ownerId, other, otherId } = await primariesOf();
      await other.command('CLUSTER', 'SETSLOT', String(slot), 'IMPORTING', ownerId);
      await owner.command('CLUSTER', 'SETSLOT', String(slot), 'MIGRATING', otherId);
      for (;;) {
        const keys = (await owner.command('CLUSTER', 'GETKEYSINSLOT', String(slot), '100')) as string[];
        if (keys.length === 0) break;
        await owner.command('MIGRATE', '127.0.0.1', String(other.port), '', '0', '5000', 'KEYS', ...keys);
      }
      for (const node of [other, owner]) await node.command('CLUSTER', 'SETSLOT', String(slot), 'NODE', otherId);
    },
  };
}

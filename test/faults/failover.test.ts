import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { isFaults } from '../support/depth.ts';
import { eventually } from '../support/eventually.ts';
import { breakableMongo, type FaultFigures, runFault } from '../support/fault-run.ts';
import {
  openRedisLab,
  type RedisLab,
  startCluster,
  startPair,
  startSentinels,
  type TlsFiles,
  untilPrimary,
  untilReplicating,
} from '../support/redis-lab.ts';
import { freshDatabase } from '../support/servers.ts';
import { type RunningService, type Service, type ServiceProcess, type Settings, startProcess, startProcesses } from '../support/service.ts';
import { createTlsIdentity } from '../support/tls-identity.ts';

/** Two APIs, which clients use in turn, and four workers. */
async function startTwoApis(settings: Settings): Promise<{ service: RunningService; stop(): Promise<unknown> }> {
  const first: Service<ServiceProcess> = await startProcesses({ workers: 4, settings, keep: true });
  const second = await startProcess('api', { ...first.settings, PORT: '0' });
  let turn = 0;
  const fetchInTurn: RunningService['fetch'] = (path, init) => {
    turn += 1;
    return fetch(`${turn % 2 ? first.url : second.url}${path}`, init);
  };
  return { service: { ...first, fetch: fetchInTurn }, stop: () => Promise.all([first.stop(), second.stop()]) };
}

const figures: (FaultFigures & { readonly acknowledged: number })[] = [];
afterAll(() => isFaults && console.table(figures));

/** Runs faults one after the other against one service, with and without acknowledgement by a replica. */
async function run(lab: RedisLab, redis: Settings, acknowledged: number, faults: readonly (readonly [string, () => Promise<unknown>])[]) {
  const settings: Settings = {
    REDIS_URL: '',
    ...redis,
    REDIS_REPLICAS_ACK: String(acknowledged),
    MONGODB_URL: freshDatabase((await breakableMongo()).url),
    RATE_WORKFLOW_START_PER_HOUR: '0',
    RATE_WORKFLOW_STAMP_PER_MINUTE: '0',
    LOG_LEVEL: 'warn',
  };
  const { service, stop } = await startTwoApis(settings);
  try {
    for (const [fault, happen] of faults) {
      const counted = await runFault({ name: fault, service, clients: 16, fault: happen });
      figures.push({ ...counted, acknowledged });
      console.log(JSON.stringify(figures.at(-1)));
      expect
        .soft(counted, fault)
        .toMatchObject({ other: 0, doubled: 0, misnumbered: 0, false503: 0, ...(acknowledged > 0 && { lost: 0 }) });
      expect.soft(counted.recoveryMs, fault).toBeLessThan(15_000);
      expect.soft(counted.silenceMs, fault).toBeLessThan(15_000);
    }
  } finally {
    await stop();
    await lab.dispose();
  }
}

async function killPrimary(roles: Awaited<ReturnType<typeof startSentinels>>['roles']): Promise<void> {
  const { primary, replica } = await roles();
  await primary.kill();
  await untilPrimary(replica);
  await primary.start();
  await untilReplicating(primary);
}

/** Writes a new certificate, which is its own CA, and its key. */
function writeCertificate(lab: RedisLab): TlsFiles {
  const [cert, key] = ['cert', 'key'].map((name) => join(lab.dir, `${name}.pem`)) as [string, string];
  const identity = createTlsIdentity('127.0.0.1');
  writeFileSync(cert, identity.cert);
  writeFileSync(key, identity.key);
  return { cert, key };
}

describe.runIf(isFaults)('a Redis that fails over', { timeout: 600_000 }, () => {
  test.each([
    ['redis', 1],
    ['redis', 0],
    ['valkey', 1],
    ['valkey', 0],
  ] as const)(
    'E11: %s with three sentinels, jobs confirmed by %i replicas: no failover makes an answer false',
    async (kind, acknowledged) => {
      const lab = await openRedisLab(kind);
      const { settings, sentinels, roles } = await startSentinels(lab);
      const partitioned = async () => {
        const { primary, replica } = await roles();
        primary.gate.cutOffServers(true);
        await untilPrimary(replica);
        await delay(2_000);
        primary.gate.cutOffServers(false);
        await untilReplicating(primary);
      };
      const sentinelsFrozen = async () => {
        for (const sentinel of sentinels) sentinel.pause();
        await delay(45_000);
        for (const sentinel of sentinels) sentinel.resume();
      };
      const primaryFrozen = async () => {
        const { primary, replica } = await roles();
        primary.pause();
        await untilPrimary(replica);
        primary.resume();
        await untilReplicating(primary);
      };
      await run(lab, settings, acknowledged, [
        ['the primary killed, and back as a replica', () => killPrimary(roles)],
        ['the primary cut off from the other servers', partitioned],
        ['the primary frozen until it is replaced', primaryFrozen],
        ['the sentinels frozen for 45 s', sentinelsFrozen],
      ]);
    },
  );

  test('E11: TLS to sentinels and servers: the service follows a failover', async () => {
    const lab = await openRedisLab();
    const { settings, roles } = await startSentinels(lab, writeCertificate(lab));
    await run(lab, settings, 1, [['with TLS: the primary killed, and back as a replica', () => killPrimary(roles)]]);
  });

  test.each([1, 0])(
    'E11: two servers behind one address, jobs confirmed by %i replicas: no failover makes an answer false',
    async (acknowledged) => {
      const lab = await openRedisLab();
      const pair = await startPair(lab);
      await run(lab, pair.settings, acknowledged, [
        ['the roles swapped', pair.swap],
        ['the roles swapped back', pair.swap],
        [
          'the primary gone without a word',
          async () => {
            const comeBack = await pair.vanish();
            await delay(12_000);
            await comeBack();
          },
        ],
      ]);
      pair.close();
    },
  );

  test('E11: a Cluster of six nodes: a killed primary and a moved slot make no answer false', async () => {
    const lab = await openRedisLab();
    const cluster = await startCluster(lab);
    await run(lab, cluster.settings, 0, [
      [
        'a primary of the Cluster killed, and back',
        async () => {
          const { owner } = await cluster.primariesOf();
          await owner.kill();
          await delay(8_000);
          await owner.start();
          await eventually(async () => (await cluster.isWhole()) || undefined, 30_000);
        },
      ],
      ['the slot of the service moved', cluster.moveSlot],
    ]);
  });

  test('E11: certificates that are renewed on the server and in REDIS_TLS_CA_FILE need no restart', async () => {
    const lab = await openRedisLab();
    const { cert, key } = writeCertificate(lab);
    const server = await lab.startServer('tls', [], { cert, key });
    const settings = { REDIS_URL: `rediss://127.0.0.1:${server.gate.port}`, REDIS_TLS_CA_FILE: cert };
    await run(lab, settings, 0, [
      [
        'the certificate renewed, and all connections closed',
        async () => {
          writeCertificate(lab);
          await server.command('CONFIG', 'SET', 'tls-cert-file', cert, 'tls-key-file', key, 'tls-ca-cert-file', cert);
          await server.command('CLIENT', 'KILL', 'TYPE', 'normal');
        },
      ],
    ]);
  });
});

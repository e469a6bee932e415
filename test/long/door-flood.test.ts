import { randomBytes, randomInt } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { mutated, mutations } from '../support/der-mutation.ts';
import { makeOwnKey, ownKeySettings } from '../support/own-key.ts';
import { heldMebibytes } from '../support/process-memory.ts';
import { startProcesses } from '../support/service.ts';
import { postToDoor, randomDigest, statusOf } from '../support/tsa-door.ts';
import { ask } from '../support/tsa-lab.ts';

const requests = 100_000;
const clients = 64;
const rounds = 5;
/** The allowed growth of memory since the first round, MiB: a process need not collect garbage while there is room. */
const leewayMebibytes = 128;
/** A process that keeps 1 KiB of each request would exceed it. */
const heap = '--max-old-space-size=128';

const mutationLists = fc.sample(mutations, 5_000);

interface Sent {
  readonly body: Buffer | string;
  readonly path: string;
  readonly type: string;
}

function genuine(): Buffer {
  const hash = (['sha256', 'sha384', 'sha512'] as const)[randomInt(3)]!;
  const nonce = randomInt(4) === 0 ? undefined : BigInt(`0x${randomBytes(randomInt(1, 64)).toString('hex')}`);
  return ask({ hash, digest: randomDigest(hash), nonce, certReq: randomInt(2) === 0, nullParameters: randomInt(5) === 0 }).der;
}

function cutOrNoisy(der: Buffer): Buffer {
  const bytes = Buffer.from(der);
  for (let flips = randomInt(4); flips >= 0; flips -= 1) bytes[randomInt(bytes.length)]! ^= 1 << randomInt(8);
  return randomInt(3) === 0 ? bytes.subarray(0, randomInt(bytes.length)) : bytes;
}

/** A tenth are real client requests; the rest is noise, mutated requests, and various JSON. */
function next(): Sent {
  const query = { path: ['/tsa', '/api/v1/tsa', '/api/v1/timestamp'][randomInt(3)]!, type: 'application/timestamp-query' };
  const kind = randomInt(10);
  if (kind === 0) return { ...query, body: genuine() };
  if (kind === 1) return { ...query, body: randomBytes(randomInt(6_000)) };
  if (kind < 6) return { ...query, body: Buffer.from(mutated(genuine(), mutationLists[randomInt(mutationLists.length)]!)) };
  if (kind < 9) return { ...query, body: cutOrNoisy(genuine()) };
  const member = [randomBytes(32).toString('base64'), 7, null, [], {}, 'x'.repeat(randomInt(3_000)), 1e300][randomInt(7)];
  const body = JSON.stringify({
    artifactHash: randomBytes(32).toString('base64'),
    hashAlgorithm: 'sha256',
    nonce: member,
    tsaPolicyOID: member,
  });
  return { path: '/api/v1/timestamp', type: 'application/json', body };
}

test.runIf(process.platform === 'linux')(
  '100 000 random and mutated requests: no 5xx, no crash, and constant memory (T1, V4)',
  async () => {
    const settings = { ...ownKeySettings(makeOwnKey()), RATE_TSA_PER_MINUTE: '0', STAMP_WAIT_MS: '60000', NODE_OPTIONS: heap };
    const service = await startProcesses({ settings });
    const pids = [service.pid, service.workers[0]!.pid];
    const said: Record<string, number> = {};
    const held: number[][] = [];
    for (let round = 0; round < rounds; round += 1) {
      const sendMany = async () => {
        for (let sent = 0; sent < requests / rounds / clients; sent += 1) {
          const { body, path, type } = next();
          const reply = await postToDoor(service, body, { path, headers: { 'content-type': type } });
          const outcome = reply.status < 300 ? statusOf(reply) : String(reply.status);
          said[outcome] = (said[outcome] ?? 0) + 1;
        }
      };
      await Promise.all(Array.from({ length: clients }, sendMany));
      held.push(pids.map(heldMebibytes));
    }
    console.log(
      said,
      'MiB of API and worker after each round:',
      held.map((round) => round.map(Math.round)),
    );
    expect(Object.keys(said).filter((outcome) => !/^(granted|rejection (bad|unaccepted)\w+|400|413)$/.test(outcome))).toEqual([]);
    expect(said.granted).toBeGreaterThan(requests / 20);
    const [first, last] = [held[0]!, held.at(-1)!];
    for (const [index, mebibytes] of last.entries()) expect(mebibytes - first[index]!).toBeLessThan(leewayMebibytes);
  },
  1_800_000,
);

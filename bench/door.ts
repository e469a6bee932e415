import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { goProgram } from '../scripts/stack/cache.ts';
import { createTemporaryContext } from '../scripts/stack/context.ts';
import { newMasterKey } from '../scripts/stack/master-key.ts';
import { findFreePort } from '../scripts/stack/ports.ts';
import { startStack } from '../scripts/stack/stack.ts';
import { encodeRequest, pemOf } from '../src/shared/rfc3161/index.ts';
import { createPki } from '../src/tsa/pki.ts';
import { type LoadResult, load } from './load.ts';
import { median } from './median.ts';
import { cpuSecondsBelow, type RunningProcesses, startProcesses, startProgram } from './processes.ts';

/**
 * `npm run bench -- door`: our RFC 3161 endpoint with its own P-256 key, which verifies and stores its tokens, compared with sigstore's TSA with a
 * P-256 key in memory, which stores nothing. Both run all the time and get load in turns. Each round compares two consecutive turns, because a
 * machine's speed may change within minutes. Exits with 1 below half of sigstore's rate.
 */

const sigstore = 'github.com/sigstore/timestamp-authority/v2/cmd/timestamp-server@v2.1.3';
const rounds = Number(process.env.BENCH_ROUNDS ?? 11);
const seconds = Number(process.env.BENCH_SECONDS ?? 4);
const connections = Number(process.env.BENCH_CONNECTIONS ?? 64);
const warmUpSeconds = Number(process.env.BENCH_WARM_UP ?? 30);
/** The seconds of load before each measurement, so that the previous turn has no effect. */
const leadSeconds = 1;

type Running = Pick<RunningProcesses, 'url' | 'stop'>;

/** The settings of a service with its own signing key. The key is made in `dir`. */
function ownKeySettings(dir: string): NodeJS.ProcessEnv {
  mkdirSync(dir);
  const { signer, intermediate, rootPem } = createPki({ nowMs: Date.now() });
  writeFileSync(join(dir, 'tsa.key'), signer.privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  writeFileSync(join(dir, 'tsa.pem'), [signer, intermediate].map(({ certificate }) => pemOf('CERTIFICATE', certificate)).join(''));
  writeFileSync(join(dir, 'root.pem'), rootPem);
  const files = { key_file: 'tsa.key', certificates_file: 'tsa.pem', trust_anchors_file: 'root.pem' };
  const file = join(dir, 'providers.json');
  writeFileSync(file, JSON.stringify([{ name: 'own-tsa', type: 'key', ...files, policy_oid: '2.999.1', clock: 'unchecked' }]));
  return { TSP: 'file', TSP_PROVIDERS_FILE: file, TSA_DOOR: 'public', RATE_TSA_PER_MINUTE: '0' };
}

async function startSigstore(program: string): Promise<Running> {
  const port = await findFreePort();
  const options = ['serve', '--port', String(port), '--host', '127.0.0.1', '--timestamp-signer', 'memory', '--disable-ntp-monitoring'];
  const running = startProgram(program, [...options, '--log-type', 'prod', '--include-chain-in-response', '--use-http-201']);
  const url = `http://127.0.0.1:${port}`;
  while (!(await fetch(`${url}/ping`).catch(() => undefined))?.ok) await delay(50);
  return { url, stop: running.stop };
}

interface Result extends LoadResult {
  /** The CPU time of all its processes per time-stamp. */
  readonly cpuMicroseconds: number;
}

const request = {
  headers: { 'content-type': 'application/timestamp-query' },
  body: encodeRequest({ imprint: { algorithm: 'sha256', digest: randomBytes(32) }, nonce: randomBytes(16) }),
  connections,
};

async function measure(url: string): Promise<Result> {
  const asked = { ...request, url: `${url}/api/v1/timestamp` };
  await load({ ...asked, seconds: leadSeconds });
  const [cpuBefore, startedAt] = [cpuSecondsBelow(), performance.now()];
  const result = await load({ ...asked, seconds });
  const stamps = (result.perSecond * (performance.now() - startedAt)) / 1_000;
  return { ...result, cpuMicroseconds: ((cpuSecondsBelow() - cpuBefore) * 1e6) / stamps };
}

const { context, dispose } = createTemporaryContext(AbortSignal.timeout(20 * 60_000), { durable: true });
const stack = await startStack(context);
const started: Running[] = [];
try {
  const program = await goProgram(context, sigstore);
  const servers = { REDIS_URL: stack.redisUrl, MONGODB_URL: stack.mongoUrl, MASTER_KEY: newMasterKey() };
  const environment = { ...process.env, PORT: '0', ...servers, ...ownKeySettings(join(context.dataDir, 'key')) };
  const theirs = await startSigstore(program);
  started.push(theirs);
  const ours = await startProcesses(['src/workers/main.ts', 'src/api/main.ts'], environment);
  started.push(ours);
  for (const { url } of started) await load({ ...request, url: `${url}/api/v1/timestamp`, seconds: warmUpSeconds });
  const pairs: { readonly theirs: Result; readonly ours: Result }[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const isOurTurn = round % 2 === 1;
    const first = await measure(isOurTurn ? ours.url : theirs.url);
    const second = await measure(isOurTurn ? theirs.url : ours.url);
    pairs.push(isOurTurn ? { ours: first, theirs: second } : { theirs: first, ours: second });
  }
  console.log(`\n${connections} connections, median of ${rounds} rounds of ${seconds} s, both running, under load in turns`);
  const row = (name: string, results: readonly Result[]) => {
    const of = (member: keyof Result) => median(results.map((result) => result[member]));
    return {
      TSA: name,
      'time-stamps/s': Math.round(of('perSecond')),
      'p50 ms': Number(of('p50Ms').toFixed(2)),
      'p99 ms': Number(of('p99Ms').toFixed(2)),
      'p99 / p50': (of('p99Ms') / of('p50Ms')).toFixed(1),
      'CPU µs each': Math.round(of('cpuMicroseconds')),
      failed: results.reduce((sum, { failed }) => sum + failed, 0),
    };
  };
  console.table([
    row(
      'sigstore timestamp-server',
      pairs.map((pair) => pair.theirs),
    ),
    row(
      'qstamp',
      pairs.map((pair) => pair.ours),
    ),
  ]);
  const ratios = pairs.map((pair) => pair.ours.perSecond / pair.theirs.perSecond);
  const ratio = median(ratios);
  console.log('CPU: of all processes, including Redis, the database and idle ones, but without the load generator');
  console.log(`qstamp, which verifies and stores each: ${ratio.toFixed(2)} of sigstore's TSA, which does neither`);
  console.log(`in each round: ${ratios.map((one) => one.toFixed(2)).join(', ')}`);
  process.exitCode = ratio < 0.5 ? 1 : 0;
} finally {
  await Promise.allSettled(started.map(({ stop }) => stop()));
  await stack.stop();
  dispose();
}

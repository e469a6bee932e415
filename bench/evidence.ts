import { spawn } from 'node:child_process';
import { createSecretKey, hash, randomUUIDv7 } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream, createWriteStream, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { newMasterKey } from '../scripts/stack/master-key.ts';
import { withStack } from '../scripts/stack/stack.ts';
import { encodeRequest, issueResponse, type TsaProfile, tokenIn } from '../src/shared/rfc3161/index.ts';
import { createLogger } from '../src/shared/runtime/log.ts';
import { openStore, type Store } from '../src/shared/store/store.ts';
import { createPki, type Pki, randomSerial } from '../src/tsa/pki.ts';
import { createTsaServer, DEVELOPMENT_POLICY } from '../src/tsa/server.ts';
import { startProcesses } from './processes.ts';

/**
 * What the evidence bundle of a large workflow costs: the memory of the API while it is fetched as zip and as JSON, twice each, and time and
 * memory of both verifiers. Run: `npm run bench -- evidence`; BENCH_OUTPUTS is the number of outputs. Exits 1 when the API takes more than
 * 128 MiB on top of what it takes with a small workflow, or `qstamp verify` more than 200 MiB.
 */

const outputs = Number(process.env.BENCH_OUTPUTS ?? 100_000);
const pageSize = 1_000;
const mostApiMiB = 128;
const mostCommandMiB = 200;
const hashOf = (number: number): string => hash('sha256', `output ${number}`, 'hex');

/** In MiB, as the kernel counts. */
const memoryOf = (pid: number, what: 'VmRSS' | 'VmHWM'): number =>
  Number(new RegExp(`${what}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;

/** Outputs and their stamps as workers would have written them; each has a token of its own. */
async function fill(store: Store, chain: { workflowId: string; briefingHash: string }, pki: Pki): Promise<void> {
  const profile: TsaProfile = { identity: pki.signer, policies: [DEVELOPMENT_POLICY], accuracy: { seconds: 1 } };
  for (let first = 1; first <= outputs; first += pageSize) {
    const made = Array.from({ length: Math.min(pageSize, outputs - first + 1) }, (_, index) => {
      const digest = hashOf(first + index);
      const timeMs = Math.floor(Date.now() / 1000) * 1000;
      const tsq = encodeRequest({ imprint: { algorithm: 'sha256', digest: Buffer.from(digest, 'hex') }, nonce: randomSerial128() });
      const tsr = issueResponse(profile, tsq, { timeMs, serial: randomSerial() });
      const issuedAt = `${new Date(timeMs).toISOString().slice(0, 19)}Z`;
      const proof = {
        kind: 'token',
        provider: 'bench',
        isQualified: false,
        issuedAt,
        token: tokenIn(tsr)!.toString('base64'),
        tsq,
        tsr,
      } as const;
      return { tokenId: randomUUIDv7(), digest, issuedAt, proof };
    });
    await store.stamps.insertOnce(
      made.map(({ tokenId, digest, issuedAt, proof }) => ({
        tokenId,
        imprint: { algorithm: 'sha256', digest },
        proofs: [proof],
        tier: 'basic',
        caller: { kind: 'workflow' },
        acceptedAt: new Date(issuedAt),
        requestId: tokenId,
      })),
    );
    const listed = made.map(({ tokenId, digest, issuedAt }) => ({
      outputId: tokenId,
      tokenId,
      hash: digest,
      type: 'image',
      metadata: undefined,
      stampedAt: issuedAt,
      provider: 'bench',
      isQualified: false,
    }));
    await store.outputs.append(chain, listed);
  }
}

const randomSerial128 = (): Buffer => Buffer.from(randomUUIDv7().replaceAll('-', ''), 'hex');

interface Run {
  readonly seconds: number;
  readonly mebibytes: number;
  readonly code: number | null;
  readonly said: string;
}

/** Runs a program and looks at its memory ten times a second; where there is none to read, it has ended. */
async function run(program: string, args: readonly string[], cwd: string): Promise<Run> {
  const startedAt = performance.now();
  const child = spawn(program, args, { cwd, stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  let mebibytes = 0;
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text));
  const timer = setInterval(() => {
    try {
      mebibytes = Math.max(mebibytes, memoryOf(child.pid ?? 0, 'VmHWM'));
    } catch {}
  }, 100);
  const [code] = (await once(child, 'close')) as [number | null];
  clearInterval(timer);
  return { seconds: (performance.now() - startedAt) / 1000, mebibytes, code, said: said.trim().split('\n').at(-1) ?? '' };
}

await withStack(AbortSignal.timeout(120 * 60_000), async ({ redisUrl, mongoUrl }) => {
  const folder = mkdtempSync(join(tmpdir(), 'qstamp-bench-'));
  const closing: (() => unknown)[] = [() => rmSync(folder, { recursive: true })];
  try {
    const pki = createPki({ nowMs: Date.now() });
    const tsa = createTsaServer({ pki, clock: Date.now });
    const entry = { name: 'bench', url: await tsa.listen(), trust_anchors_file: 'root.pem' };
    closing.push(() => tsa.close());
    writeFileSync(join(folder, 'root.pem'), pki.rootPem);
    writeFileSync(join(folder, 'providers.json'), JSON.stringify([entry]));
    const masterKey = newMasterKey();
    const settings = {
      ...process.env,
      REDIS_URL: redisUrl,
      MONGODB_URL: mongoUrl,
      MASTER_KEY: masterKey,
      PORT: '0',
      LOG_LEVEL: 'error',
      TSP: 'file',
      TSP_PROVIDERS_FILE: join(folder, 'providers.json'),
      STAMP_WAIT_MS: '120000',
      RATE_WORKFLOW_START_PER_HOUR: '0',
    };
    const log = createLogger({ level: 'error', process: 'bench' });
    const store = openStore({ MONGODB_URL: mongoUrl, MASTER_KEY: createSecretKey(masterKey, 'base64') }, log);
    closing.push(() => store.close());
    await store.openKeys();
    const running = await startProcesses(['src/workers/main.ts', 'src/api/main.ts'], settings);
    closing.push(() => running.stop());
    const apiPid = running.pids.at(-1) ?? 0;

    const post = async (path: string, body: object | undefined, token?: string) => {
      const headers = { ...(body && { 'content-type': 'application/json' }), ...(token && { authorization: `Workflow ${token}` }) };
      const response = await fetch(`${running.url}${path}`, { method: 'POST', headers, ...(body && { body: JSON.stringify(body) }) });
      return (await response.json()) as Record<string, string>;
    };
    const start = () => post('/api/v1/workflow/start', { user_email: 'a@example.com', agent_id: 'bench', briefing_hash: hashOf(0) });
    const fetchTo = async (workflowId: string, form: 'zip' | 'json', file: string) => {
      const startedAt = performance.now();
      const response = await fetch(`${running.url}/workflow/${workflowId}/evidence.${form}`);
      if (response.status !== 200 || !response.body) throw new Error(`${response.status} ${await response.text()}`);
      await pipeline(Readable.fromWeb(response.body as never), createWriteStream(file));
      return (performance.now() - startedAt) / 1000;
    };
    const sha256Of = async (file: string) => {
      const digest = (await import('node:crypto')).createHash('sha256');
      for await (const chunk of createReadStream(file)) digest.update(chunk);
      return digest.digest('hex');
    };

    const small = await start();
    await post(`/api/v1/workflow/${small.workflow_id}/complete`, undefined, small.workflow_token);
    await fetchTo(String(small.workflow_id), 'zip', join(folder, 'small.zip'));
    const before = memoryOf(apiPid, 'VmHWM');

    const { workflow_id: workflowId = '', workflow_token: token } = await start();
    const filledAt = performance.now();
    await fill(store, { workflowId, briefingHash: hashOf(0) }, pki);
    console.log(`${outputs} outputs and their stamps written in ${Math.round((performance.now() - filledAt) / 1000)} s`);
    let completed = await post(`/api/v1/workflow/${workflowId}/complete`, undefined, token);
    // On a busy machine that takes longer than anybody is kept waiting (E11).
    for (let tries = 1; completed.status !== 'completed' && tries < 20; tries += 1) {
      completed = await post(`/api/v1/workflow/${workflowId}/complete`, undefined, token);
    }
    console.log(`completed: ${completed.status} with ${completed.output_count} outputs`);

    const file = (name: string) => join(folder, name);
    const rows = [];
    for (const name of ['first.zip', 'second.zip', 'first.json', 'second.json']) {
      const seconds = await fetchTo(workflowId, name.endsWith('zip') ? 'zip' : 'json', file(name));
      const mebibytes = memoryOf(apiPid, 'VmHWM');
      rows.push({
        what: `API: ${name}`,
        seconds: seconds.toFixed(1),
        'MiB at most': Math.round(mebibytes),
        bytes: statSync(file(name)).size,
      });
    }
    const grown = memoryOf(apiPid, 'VmHWM') - before;
    const isSame = (await sha256Of(file('first.zip'))) === (await sha256Of(file('second.zip')));
    const verify = ['bin/qstamp.mjs', 'verify', '--json', '--ca', file('root.pem'), file('first.zip')];
    const judged = await run(process.execPath, verify, process.cwd());
    rows.push({ what: 'qstamp verify', seconds: judged.seconds.toFixed(1), 'MiB at most': Math.round(judged.mebibytes), bytes: 0 });
    mkdirSync(file('bundle'));
    await run('unzip', ['-q', file('first.zip'), '-d', file('bundle')], folder);
    writeFileSync(file('middle'), `output ${Math.ceil(outputs / 2)}`);
    const script = await run('sh', [join('bundle', 'verify.sh'), '--ca', 'root.pem', 'middle'], folder);
    rows.push({ what: 'sh verify.sh', seconds: script.seconds.toFixed(1), 'MiB at most': Math.round(script.mebibytes), bytes: 0 });
    console.table(rows);
    console.log(
      `memory of the API: ${Math.round(before)} MiB with a small workflow, ${Math.round(grown)} MiB more with ${outputs} outputs`,
    );
    console.log(
      `the same bytes twice: ${isSame}; qstamp verify ended with ${judged.code}; verify.sh ended with ${script.code}: ${script.said}`,
    );
    const isGood = grown <= mostApiMiB && judged.mebibytes <= mostCommandMiB && isSame && judged.code === 0 && script.code === 0;
    console.log(`wanted: at most ${mostApiMiB} MiB more, and ${mostCommandMiB} MiB for the command: ${isGood ? 'reached' : 'MISSED'}`);
    process.exitCode = isGood ? 0 : 1;
  } finally {
    for (const close of closing.reverse()) await close();
  }
});

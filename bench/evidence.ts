import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream, createWriteStream, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { withStack } from '../scripts/stack/stack.ts';
import { prepare } from './evidence/prepare.ts';
import { startProcesses } from './processes.ts';

/**
 * What the evidence bundle of a large workflow costs: the memory of the API while it is fetched as zip and as JSON, twice each, and time and
 * memory of both verifiers. Run: `npm run bench -- evidence`; BENCH_OUTPUTS is the number of outputs. Exits 1 when the API takes more than
 * 128 MiB on top of what it takes with a small workflow, or `qstamp verify` more than 200 MiB.
 *
 * With BENCH_KEPT, REDIS_URL and MONGODB_URL the servers are those of `scripts/dev-servers.ts`, and what was prepared is kept in that folder
 * and in the database: the next run begins at once.
 */

const { BENCH_KEPT, REDIS_URL, MONGODB_URL } = process.env;
const outputs = Number(process.env.BENCH_OUTPUTS ?? 100_000);
const mostApiMiB = 128;
const mostCommandMiB = 200;

/** In MiB, as the kernel counts. */
const memoryOf = (pid: number, what: 'VmRSS' | 'VmHWM'): number =>
  Number(new RegExp(`${what}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;

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

async function fetchTo(address: string, file: string): Promise<number> {
  const startedAt = performance.now();
  const response = await fetch(address);
  if (response.status !== 200 || !response.body) throw new Error(`${response.status} ${await response.text()}`);
  await pipeline(Readable.fromWeb(response.body as never), createWriteStream(file));
  return (performance.now() - startedAt) / 1000;
}

async function sha256Of(file: string): Promise<string> {
  const digest = createHash('sha256');
  for await (const chunk of createReadStream(file)) digest.update(chunk);
  return digest.digest('hex');
}

interface Row {
  readonly what: string;
  readonly seconds: string;
  readonly 'MiB at most': number;
  readonly bytes: number;
}

async function measure(servers: { redisUrl: string; mongoUrl: string }, folder: string): Promise<void> {
  const { small, large, settings, anchor } = await prepare(BENCH_KEPT || folder, servers, outputs);
  const running = await startProcesses(['src/api/main.ts'], settings);
  const file = (name: string) => join(folder, name);
  const rows: Row[] = [];
  const apiPid = running.pids[0] ?? 0;
  const addressOf = (workflowId: string, name: string) => `${running.url}/workflow/${workflowId}/evidence.${name.split('.')[1]}`;
  let before: number;
  try {
    await fetchTo(addressOf(small, 'small.zip'), file('small.zip'));
    before = memoryOf(apiPid, 'VmHWM');
    for (const name of ['first.zip', 'second.zip', 'first.json', 'second.json']) {
      const seconds = await fetchTo(addressOf(large, name), file(name));
      const bytes = statSync(file(name)).size;
      rows.push({ what: `API: ${name}`, seconds: seconds.toFixed(1), 'MiB at most': Math.round(memoryOf(apiPid, 'VmHWM')), bytes });
    }
  } finally {
    await running.stop();
  }
  const grown = Math.max(...rows.map((row) => row['MiB at most'])) - before;
  const isSame = (await sha256Of(file('first.zip'))) === (await sha256Of(file('second.zip')));
  const told = (what: string, { seconds, mebibytes }: Run): Row => ({
    what,
    seconds: seconds.toFixed(1),
    'MiB at most': Math.round(mebibytes),
    bytes: 0,
  });
  const judged = await run(process.execPath, ['bin/qstamp.mjs', 'verify', '--json', '--ca', anchor, file('first.zip')], process.cwd());
  mkdirSync(file('bundle'));
  await run('unzip', ['-q', file('first.zip'), '-d', file('bundle')], folder);
  writeFileSync(file('middle'), `output ${Math.ceil(outputs / 2)}`);
  const script = await run('sh', [join('bundle', 'verify.sh'), '--ca', anchor, 'middle'], folder);
  console.table([...rows, told('qstamp verify', judged), told('sh verify.sh', script)]);
  console.log(`memory of the API: ${Math.round(before)} MiB with a small workflow, ${Math.round(grown)} MiB more with ${outputs} outputs`);
  console.log(
    `the same bytes twice: ${isSame}; qstamp verify ended with ${judged.code}; verify.sh ended with ${script.code}: ${script.said}`,
  );
  const isGood = grown <= mostApiMiB && judged.mebibytes <= mostCommandMiB && isSame && judged.code === 0 && script.code === 0;
  console.log(`wanted: at most ${mostApiMiB} MiB more, and ${mostCommandMiB} MiB for the command: ${isGood ? 'reached' : 'MISSED'}`);
  process.exitCode = isGood ? 0 : 1;
}

async function measureIn(servers: { redisUrl: string; mongoUrl: string }): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'qstamp-bench-'));
  try {
    await measure(servers, folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

if (BENCH_KEPT && REDIS_URL && MONGODB_URL) await measureIn({ redisUrl: REDIS_URL, mongoUrl: MONGODB_URL });
else await withStack(AbortSignal.timeout(120 * 60_000), measureIn);

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { withStack } from '../scripts/stack/stack.ts';
import { median } from './rate.ts';

/**
 * What counting costs when many workers count at once: processes that do nothing but count batches of stamps, all in one row, and each in the
 * rows of its own ledger, five at a time. Run: `npm run bench -- counting`.
 */

const processes = Number(process.env.BENCH_PROCESSES ?? 16);
const seconds = Number(process.env.BENCH_SECONDS ?? 5);
const rounds = Number(process.env.BENCH_ROUNDS ?? 3);

type Way = 'shared' | 'own';

/** What a contender reports of its round. */
export interface Counted {
  readonly batches: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

async function measure(mongoUrl: string, way: Way): Promise<{ perSecond: number; p50Ms: number; p99Ms: number; isRight: boolean }> {
  const children: ChildProcess[] = Array.from({ length: processes }, () =>
    fork('bench/contenders/counting.ts', [way, String(seconds)], { env: { ...process.env, MONGODB_URL: mongoUrl } }),
  );
  for (const child of children) {
    child.once('exit', (code) => {
      if (code !== 0) throw new Error(`a process that counts ended with code ${code}`);
    });
  }
  await Promise.all(children.map((child) => once(child, 'message')));
  const before = await totalOf(children[0]);
  const reports = children.map((child) => once(child, 'message') as Promise<[Counted]>);
  for (const child of children) child.send('count');
  const counted = (await Promise.all(reports)).map(([report]) => report);
  const batches = counted.reduce((sum, report) => sum + report.batches, 0);
  const after = await totalOf(children[0]);
  for (const child of children) child.disconnect();
  return {
    perSecond: batches / seconds,
    p50Ms: median(counted.map(({ p50Ms }) => p50Ms)),
    p99Ms: median(counted.map(({ p99Ms }) => p99Ms)),
    isRight: after - before === batches,
  };
}

async function totalOf(child: ChildProcess | undefined): Promise<number> {
  child?.send('total');
  const [total] = (await once(child!, 'message')) as [number];
  return total;
}

await withStack(
  AbortSignal.timeout(10 * 60_000),
  async ({ mongoUrl }) => {
    const url = new URL(mongoUrl);
    url.pathname = '/bench_counting';
    const ways: readonly Way[] = ['shared', 'own'];
    const results = new Map(ways.map((way) => [way, [] as Awaited<ReturnType<typeof measure>>[]]));
    for (let round = 0; round < rounds; round += 1) for (const way of ways) results.get(way)?.push(await measure(url.href, way));
    console.log(`${processes} processes count at once, median of ${rounds} rounds of ${seconds} s, in turn`);
    console.table(
      ways.map((way) => {
        const runs = results.get(way) ?? [];
        return {
          rows: way,
          'batches/s': Math.round(median(runs.map(({ perSecond }) => perSecond))),
          'p50 ms': Number(median(runs.map(({ p50Ms }) => p50Ms)).toFixed(1)),
          'p99 ms': Number(median(runs.map(({ p99Ms }) => p99Ms)).toFixed(1)),
          'total right': runs.every(({ isRight }) => isRight),
        };
      }),
    );
  },
  { durable: true },
);

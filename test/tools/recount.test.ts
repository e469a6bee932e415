import { expect, test } from 'vitest';
import { recount as recountCommand } from '../../src/operator/recount.ts';
import type { HourCounts } from '../../src/shared/store/counters.ts';
import { runOperator } from '../support/cli.ts';
import { openDatabase } from '../support/database.ts';
import { eventually, randomHash, stampAgent, stampInternal } from '../support/requests.ts';
import { startService } from '../support/service.ts';

const hourMs = 3_600_000;
const timeOf = (timeMs: number) => `${new Date(timeMs).toISOString().slice(0, 16)}Z`;

/** The hours until now, even if a new one begins while the test runs. */
const lastHours = () => [timeOf(Date.now() - 2 * hourMs), timeOf(Date.now() + hourMs)];

const recount = (args: readonly string[], env: Record<string, string>) => runOperator(recountCommand, args, env);

test('missing and double counts of a killed process are corrected from the stamps; failures and latencies stay', async () => {
  const service = await startService();
  for (let stamp = 0; stamp < 3; stamp += 1) await stampInternal(service, { hash: randomHash() });
  await stampAgent(service, 'basic', { hash: randomHash() });
  const counts = (await openDatabase(service)).collection<HourCounts>('counts');
  const read = () => counts.find({}).sort({ _id: 1 }).toArray();
  const right = await eventually(async () => {
    const documents = await read();
    return documents.reduce((sum, { done }) => sum + (done?.stamps ?? 0), 0) === 4 && documents;
  });
  await counts.updateMany({}, { $inc: { 'done.stamps': -2, 'products.test': 40, 'series.agent:unqualified:mock.stamps': 40 } });

  const env = { MONGODB_URL: service.settings.MONGODB_URL ?? '' };
  const { code, stdout, stderr } = await recount(lastHours(), env);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/^counted the stamps of \d hours\n$/);
  const told = (documents: readonly HourCounts[]) => documents.map(({ _id, done, products, series }) => ({ _id, done, products, series }));
  expect(told(await read())).toEqual(told(right));
});

test('invalid arguments give one line and exit code 2', async () => {
  const lines = [[], ['2026-11-25', '2026-11-24']];
  const outcomes = await Promise.all(lines.map((args) => recount(args, { MONGODB_URL: 'mongodb://127.0.0.1:1/' })));
  for (const outcome of outcomes) expect(outcome).toEqual({ code: 2, stdout: '', stderr: expect.stringMatching(/^qstamp: [^\n]+\n$/) });
});

test('without a store the command says so in one line, and does not report success (E10)', async () => {
  expect(await recount(lastHours(), { MONGODB_URL: 'mongodb://127.0.0.1:1/' })).toEqual({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/^qstamp: [^\n]*store cannot be reached[^\n]*\n$/),
  });
});

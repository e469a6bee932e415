import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { MongoClient } from 'mongodb';
import { expect, onTestFinished, test } from 'vitest';
import { inherited } from '../support/environment.ts';
import { getJson, internalHeaders, randomHash, stampAgent, stampInternal } from '../support/requests.ts';
import { startService } from '../support/service.ts';

const run = promisify(execFile);

test('counters that are wrong are made right again from the stamps', async () => {
  const service = await startService();
  for (let stamp = 0; stamp < 3; stamp += 1) await stampInternal(service, { hash: randomHash() });
  await stampAgent(service, 'basic', { hash: randomHash() });
  const read = async () => ({
    daily: (await getJson(service, '/api/v1/internal/stats/daily', internalHeaders)).body,
    // One of them only: a page that shows all of them needs no counter.
    total: (await getJson(service, '/api/v1/internal/v1/stamps?limit=1', internalHeaders)).body.total,
  });
  const right = await read();
  expect(right.total).toBe(3);

  const client = new MongoClient(service.settings.MONGODB_URL ?? '');
  onTestFinished(() => client.close());
  const counters = client.db().collection('counters');
  await counters.updateMany({ stamps: { $gt: 0 } }, { $inc: { stamps: 40 } });
  await counters.deleteOne({ _id: 'product:test' as never });
  await client
    .db()
    .collection('count_ledgers')
    .updateMany({ 'counts.0.stamps': { $gt: 0 } }, { $inc: { 'counts.0.stamps': 40 } });
  expect(await read()).not.toEqual(right);

  const { stdout } = await run(process.execPath, ['scripts/repair-counters.ts'], { env: { ...inherited, ...service.settings } });
  expect(stdout).toContain('4 stamps counted; the counters are right again');
  expect(await read()).toEqual(right);
});

test('without a store the command says so in a line, and does not call it repaired (E10)', async () => {
  const env = { ...inherited, MONGODB_URL: 'mongodb://127.0.0.1:1/', LOG_LEVEL: 'silent' };
  const failed = await run(process.execPath, ['scripts/repair-counters.ts'], { env }).catch((error: unknown) => error);
  expect(failed).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/^MONGODB_URL: The store cannot be reached[^\n]*\n$/),
  });
});

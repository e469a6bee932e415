import { expect, onTestFinished, test } from 'vitest';
import { openStore } from '../../../src/shared/store/store.ts';
import { runOperator } from '../../support/cli.ts';
import { openQueueLab } from '../../support/queue-lab.ts';
import { freshRedisUrl, freshStore } from '../../support/servers.ts';
import { stampItem } from '../../support/stamp-items.ts';

const run = (command: 'jobs' | 'recount', environment: Record<string, string>, ...args: string[]) =>
  runOperator([command, ...args], environment);

test('E11: an operator lists, retries and drops given-up jobs; only stamps of retried jobs no longer show as failed', async () => {
  const REDIS_URL = await freshRedisUrl();
  const settings = freshStore();
  const { add, consume, untilRetried, stamps, log } = await openQueueLab(REDIS_URL);
  const store = openStore(settings, log);
  onTestFinished(() => store.close());
  let isMended = false;
  consume(async () => {
    if (!isMended) throw new Error('a broken invariant');
  });
  const items = [stampItem(), stampItem()] as const;
  const [{ tokenId }] = items;
  await add('a', { replyTo: 'nobody', items });
  const dropped = stampItem();
  await add('b', { replyTo: 'nobody', items: [dropped] });
  await untilRetried(async () => (await stamps.getFailedCount()) === 2);
  await store.refusals.insertOnce([tokenId, dropped.tokenId].map((id) => ({ tokenId: id, reason: 'stamp_failed', at: new Date() })));

  const environment = { REDIS_URL, MONGODB_URL: settings.MONGODB_URL };
  const listed = await run('jobs', environment, 'failed', '--json');
  const [first, ...others] = listed.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
    .toSorted((one, other) => one.id.localeCompare(other.id));
  expect([first, others.length, listed.code]).toEqual([
    {
      id: 'a',
      kind: 'stamp',
      failed_at: expect.stringMatching(/^\d{4}-.*Z$/),
      reason: 'a broken invariant',
      token_ids: items.map((item) => item.tokenId),
    },
    1,
    0,
  ]);
  expect((await run('jobs', environment, 'failed')).stdout).toContain('stamp (2 stamps): a broken invariant\n');
  isMended = true;
  expect(await run('jobs', environment, 'retry', 'a', 'c')).toEqual({
    code: 1,
    stdout: 'a is retried\n',
    stderr: 'qstamp: there is no failed job c\n',
  });
  expect(await store.refusals.find(tokenId)).toBeUndefined();
  expect(await run('jobs', environment, 'drop', 'c')).toEqual({ code: 1, stdout: '', stderr: 'qstamp: there is no failed job c\n' });
  expect(await run('jobs', environment, 'drop', '--all')).toEqual({ code: 0, stdout: 'b was dropped\n', stderr: '' });
  expect((await run('jobs', environment, 'failed')).stdout).toBe('');
  expect(await store.refusals.find(dropped.tokenId)).toBe('stamp_failed');
});

test('S12: an operator recounts the stamps of some hours', async () => {
  const { MONGODB_URL } = freshStore();
  expect(await run('recount', { MONGODB_URL }, '2026-05-20T12:30Z', '2026-05-21')).toEqual({
    code: 0,
    stdout: 'counted the stamps of 12 hours\n',
    stderr: '',
  });
});

test.each<['jobs' | 'recount', string[]]>([
  ['jobs', []],
  ['jobs', ['repair']],
  ['jobs', ['failed', 'a']],
  ['jobs', ['retry']],
  ['jobs', ['drop', 'a', '--all']],
  ['jobs', ['failed', '--no-such-option']],
  ['recount', ['2026-05-20']],
  ['recount', ['2026-05-21', '2026-05-20']],
  ['recount', ['yesterday', 'today']],
  ['recount', ['2026-05-20', '2026-05-21', '2026-05-22']],
])('%o %j is refused as invalid', async (command, args) => {
  expect(await run(command, {}, ...args)).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(/^qstamp: [^\n]+\n$/) });
});

test('help works without settings; missing settings and unreachable servers give an error', async () => {
  for (const command of ['jobs', 'recount'] as const) expect(await run(command, {}, '--help')).toMatchObject({ code: 0, stderr: '' });
  expect(await run('recount', {}, '2026-05-20', '2026-05-21')).toMatchObject({ code: 2, stderr: expect.stringContaining('MONGODB_URL') });
  const away = { REDIS_URL: 'redis://127.0.0.1:1', MONGODB_URL: 'mongodb://127.0.0.1:1' };
  expect(await run('jobs', away, 'failed')).toMatchObject({ code: 1, stderr: expect.stringContaining('Redis does not answer') });
  const failed = expect.stringMatching(/^qstamp: [^\n]*store cannot be reached[^\n]*\n$/);
  expect(await run('recount', away, '2026-05-20', '2026-05-21')).toEqual({ code: 1, stdout: '', stderr: failed });
});

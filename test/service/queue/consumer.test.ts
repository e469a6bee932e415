import { ReplyError } from 'ioredis';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { ServiceError, TransientError } from '../../../src/shared/domain/service-error.ts';
import { consumeJobs, isTransient } from '../../../src/shared/queue/consumer.ts';
import { type FailedJob, type JobProcessors, NotItsTurnError } from '../../../src/shared/queue/jobs.ts';
import { openQueue } from '../../../src/shared/queue/open-queue.ts';
import { scheduleJob } from '../../../src/shared/queue/schedules.ts';
import { connectWorker, disconnect, untilReady } from '../../../src/shared/redis/connection.ts';
import { eventually } from '../../support/eventually.ts';
import { openQueueLab } from '../../support/queue-lab.ts';
import { startPrivateRedis } from '../../support/servers.ts';
import { stampItem } from '../../support/stamp-items.ts';

test.each([
  [true, new TransientError('a TSA is away')],
  [true, new NotItsTurnError(5)],
  [true, new ServiceError('store_unavailable', 'The store cannot be reached.')],
  [true, new ReplyError('OOM command not allowed')],
  [true, new Error('Connection is closed.')],
  [true, new Error('Command timed out')],
  [true, AbortSignal.abort().reason],
  [true, new AggregateError([Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })])],
  [true, Object.assign(new Error('connect ECONNREFUSED'), { syscall: 'connect', code: 'ECONNREFUSED' })],
  [false, new Error('a broken invariant')],
  [false, new TypeError('undefined is not a function')],
  [false, 'thrown, and no error'],
])('E11: it is %s that a job may succeed later after the error: %s', (expected, error) => {
  expect(isTransient(error)).toBe(expected);
});

test('E11: a job that fails for an external reason is retried until it succeeds, and then removed', async () => {
  const { add, consume, untilRetried, stamps, failedJobs } = await openQueueLab();
  const givenUp: FailedJob[] = [];
  const runs: boolean[] = [];
  consume(
    async (_, { isRetry }) => {
      runs.push(isRetry);
      if (runs.length < 12) throw new TransientError('a TSA is away');
    },
    { onGivenUp: async (job) => void givenUp.push(job) },
  );
  await add('a');
  await untilRetried(async () => (await stamps.getJob('a')) === undefined);
  expect(runs).toEqual([false, ...Array(11).fill(true)]);
  expect([givenUp, await Array.fromAsync(failedJobs.list())]).toEqual([[], []]);
});

test('E11: a job that fails for its own reason is given up after five tries, logged, and kept until it is retried or dropped', async () => {
  const { add, consume, untilRetried, stamps, failedJobs } = await openQueueLab();
  const [givenUp, failed, runs]: [FailedJob[], string[], string[]] = [[], [], []];
  let isBroken = true;
  consume(
    async (_, { jobId }) => {
      runs.push(jobId);
      if (isBroken) throw new Error('a broken invariant');
    },
    {
      onFailed: (kind) => failed.push(kind),
      onGivenUp: async (job) => {
        givenUp.push(job);
        throw new Error('the store is away, and the sweep tells it later');
      },
    },
  );
  const startedAt = Date.now();
  await add('a');
  await add('b');
  await untilRetried(async () => givenUp.length === 2);
  expect(runs.toSorted()).toEqual([...Array(5).fill('a'), ...Array(5).fill('b')]);
  expect(failed).toEqual(Array(10).fill('stamp'));
  const listed = await Array.fromAsync(failedJobs.list());
  expect(listed.map(({ id }) => id).toSorted()).toEqual(['a', 'b']);
  const shown = await failedJobs.find('a');
  expect(shown).toMatchObject({ kind: 'stamp', reason: 'a broken invariant', job: givenUp.find(({ id }) => id === 'a') });
  expect(shown!.failedAt.getTime()).toBeGreaterThanOrEqual(startedAt);

  // A retry has five new tries, whether the job was repaired or not.
  await failedJobs.retry('a');
  await untilRetried(async () => givenUp.length === 3);
  expect(runs).toHaveLength(15);
  isBroken = false;
  await failedJobs.retry('a');
  await failedJobs.retry('no such job');
  await eventually(async () => (await stamps.getJob('a')) === undefined);
  expect(await failedJobs.find('a')).toBeUndefined();
  await failedJobs.drop('b');
  await failedJobs.drop('no such job');
  expect(await stamps.getJob('b')).toBeUndefined();
});

test('E11: a job that lost its worker ten times is given up without another try; an operator can retry it', async () => {
  const { redis, stamps, add, consume, failedJobs } = await openQueueLab();
  const [runs, givenUp]: [string[], string[]] = [[], []];
  // The state after a killed worker: running, and without a lock.
  for (const [id, lost] of [
    ['ninth', 8],
    ['tenth', 9],
  ] as const) {
    await add(id);
    await redis.hset(stamps.toKey(id), 'stc', lost);
    await redis.lmove(stamps.toKey('wait'), stamps.toKey('active'), 'LEFT', 'LEFT');
  }
  consume(async (_, { jobId }) => void runs.push(jobId), { onGivenUp: async ({ id }) => void givenUp.push(id) });
  await eventually(async () => runs.length > 0 && givenUp.length > 0);
  expect([runs, givenUp]).toEqual([['ninth'], ['tenth']]);
  expect(await failedJobs.find('tenth')).toMatchObject({ reason: expect.stringContaining('stalled') });
  await failedJobs.retry('tenth');
  await eventually(async () => (await stamps.getJob('tenth')) === undefined);
  expect(runs).toEqual(['ninth', 'tenth']);
});

test('E11: failures for external reasons do not count as tries if the job later fails for its own reason', async () => {
  const { add, consume, untilRetried, stamps } = await openQueueLab();
  let runs = 0;
  consume(
    async () => {
      runs += 1;
      if (runs <= 8) throw new TransientError('a TSA is away');
      if (runs === 9) throw new Error('a broken invariant');
    },
    { onGivenUp: async () => expect.unreachable('it has failed once for a reason of its own') },
  );
  await add('a');
  await untilRetried(async () => runs >= 9 && ((await stamps.getJob('a')) === undefined || (await stamps.getFailedCount()) > 0));
  expect([runs, await stamps.getFailedCount()]).toEqual([10, 0]);
});

test('E11, E14: a pause does not count as a try, and is never longer than the longest pause between two tries', async () => {
  const { add, consume, untilRetried, stamps } = await openQueueLab();
  let runs = 0;
  consume(async () => {
    runs += 1;
    throw new NotItsTurnError(40 * 24 * 3_600_000);
  });
  await add('a');
  await untilRetried(async () => runs >= 6);
  await eventually(async () => (await stamps.getDelayedCount()) === 1);
  const job = (await stamps.getJob('a'))!;
  expect([job.attemptsMade, job.delay <= 60_000]).toEqual([0, true]);
});

test('E11: when a job is given up, only its remaining items are reported as failed', async () => {
  const { add, consume, untilRetried } = await openQueueLab();
  const [made, broken] = [stampItem(), stampItem()];
  const givenUp: FailedJob[] = [];
  let runs = 0;
  consume(
    async (job, { keepOnly }) => {
      runs += 1;
      if (runs === 5) await keepOnly({ ...job, items: [broken] });
      throw new Error('a broken invariant');
    },
    { onGivenUp: async (job) => void givenUp.push(job) },
  );
  await add('a', { replyTo: 'nobody', items: [made, broken] });
  await untilRetried(async () => givenUp.length > 0);
  expect(givenUp).toMatchObject([{ payload: { items: [broken] } }]);
});

test('E11: a job of another version waits for a worker that supports it, however many tries it takes', async () => {
  const { add, consume, untilRetried, stamps, failedJobs } = await openQueueLab();
  const failed = { stamp: 0, unknown: 0 };
  consume(async () => expect.unreachable('it cannot be read'), {
    onFailed: (kind) => {
      failed[kind as keyof typeof failed] += 1;
    },
    onGivenUp: async () => expect.unreachable('it is not given up'),
  });
  await add('payload', { replyTo: 'nobody', items: 'of a later form' });
  await add('name', {}, 'of-a-later-version');
  await untilRetried(async () => Math.min(failed.stamp, failed.unknown) > 6);
  await eventually(async () => (await stamps.getDelayedCount()) === 2);
  const [job] = await stamps.getDelayed();
  expect(job!.delay).toBe(60_000);
  expect(await Array.fromAsync(failedJobs.list())).toEqual([]);
});

test('E17: a job of a newer form waits for a newer worker: no try counts, it is not given up, and one line says so', async () => {
  const { add, consume, untilRetried, stamps, redis, failedJobs } = await openQueueLab();
  const lines: string[] = [];
  const unexpected = async () => expect.unreachable('it is left to a newer worker');
  consume(unexpected, {
    onFailed: () => expect.unreachable('it has not failed'),
    onGivenUp: unexpected,
    log: pino({ level: 'warn' }, { write: (line) => void lines.push(line) }),
  });
  const payload = { form: 2, replyTo: 'nobody', items: [stampItem()] };
  await add('a', payload);
  await add('b', payload);
  const startsOf = async (id: string) => Number(await redis.hget(stamps.toKey(id), 'ats'));
  await untilRetried(async () => Math.min(await startsOf('a'), await startsOf('b')) > 6);
  await eventually(async () => (await stamps.getDelayedCount()) === 2);
  const job = (await stamps.getJob('a'))!;
  expect([job.attemptsMade, job.data]).toEqual([0, payload]);
  expect(await Array.fromAsync(failedJobs.list())).toEqual([]);
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ kind: 'stamp', msg: 'jobs of a newer version wait for a newer worker' }]);
});

test('E17: each stored payload has the number of its form: added, scheduled, and after a run kept only a part', async () => {
  const { add, consume, untilRetried, stamps, redis, log } = await openQueueLab();
  await add('a');
  expect((await stamps.getJob('a'))?.data).toMatchObject({ form: 1, replyTo: 'nobody' });
  let runs = 0;
  consume(async (job, { keepOnly }) => {
    runs += 1;
    await keepOnly({ ...job, replyTo: 'somebody' });
    throw new NotItsTurnError(60_000);
  });
  await untilRetried(async () => runs > 0);
  await eventually(async () => (await stamps.getDelayedCount()) === 1);
  expect((await stamps.getJob('a'))?.data).toMatchObject({ form: 1, replyTo: 'somebody' });

  await scheduleJob(redis, { name: 'qstamp-renew', everyMs: 3_600_000 }, log);
  const renewals = openQueue('renewals', { redis, log });
  onTestFinished(() => renewals.close());
  // A job that changes its state meanwhile is listed twice.
  const scheduled = await renewals.getJobs();
  expect(scheduled.length).toBeGreaterThan(0);
  for (const { data } of scheduled) expect(data).toEqual({ form: 1 });
});

test('E11: only a run that still has its job may replace the payload with the remaining items', async () => {
  const { add, consume, untilRetried, stamps, redis } = await openQueueLab();
  const payloads: object[] = [];
  const refused: string[] = [];
  consume(async (job, { jobId, isOurs, keepOnly }) => {
    payloads.push(job);
    if (payloads.length === 1) await keepOnly({ ...job, replyTo: 'somebody' });
    if (payloads.length === 2) {
      await redis.del(`${stamps.toKey(jobId)}:lock`);
      expect(await isOurs()).toBe(false);
      await keepOnly({ ...job, replyTo: 'lost' }).catch(({ message }: Error) => refused.push(message));
    }
    if (payloads.length < 3) throw new TransientError('done again');
  });
  await add('a');
  await untilRetried(async () => payloads.length === 3);
  expect(refused).toEqual(['another worker has taken the job over']);
  expect(payloads.slice(1)).toEqual(Array(2).fill({ ...payloads[0], replyTo: 'somebody' }));
});

test('an error that stays is logged once for each queue, however often it is reported', async () => {
  const server = await startPrivateRedis();
  onTestFinished(() => server.dispose());
  const lines: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line) => void lines.push(line) });
  const redis = connectWorker({ REDIS_URL: server.url }, log);
  onTestFinished(() => disconnect(redis));
  await untilReady(redis);
  const consumer = consumeJobs({ redis, processors: {} as JobProcessors, concurrency: 1, log });
  onTestFinished(() => consumer.close());
  await redis.call('ACL', 'SETUSER', 'default', '-evalsha');
  const refusedOf = async () => (((await redis.call('ACL', 'LOG')) as [string, number][])[0] ?? [])[1] ?? 0;
  await eventually(async () => (await refusedOf()) > 50);
  const queues = lines.map((line) => (JSON.parse(line) as { msg: string }).msg);
  expect(queues.toSorted()).toEqual([...new Set(queues)].toSorted());
  expect(queues[0]).toMatch(/^the worker of the queue \S+ reported an error; trying again$/);
});

import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { readDurability } from '../../src/shared/redis/durability.ts';
import { eventually, getJson } from '../support/requests.ts';
import { startPrivateRedis } from '../support/servers.ts';
import { startService } from '../support/service.ts';

test('E11: the service logs and shows whether its Redis survives a crash without losing jobs', async () => {
  const server = await startPrivateRedis();
  onTestFinished(server.dispose);
  const redis = new Redis(server.url);
  onTestFinished(() => redis.disconnect());
  expect(await readDurability(redis)).toBe('every_write');
  await redis.config('SET', 'appendfsync', 'everysec');

  const service = await startService({ workers: 0, settings: { REDIS_URL: server.url } });
  await eventually(async () => service.output().includes('Redis may lose the last second of accepted stamps'));
  const status = await getJson(service, '/api/v1/status');
  expect(status.body.queue).toMatchObject({ durability: 'every_second' });
  const page = await (await service.fetch('/status')).text();
  expect(page).toContain('A crash of the queue may lose the jobs of its last second.');

  await redis.config('SET', 'maxmemory-policy', 'allkeys-lru');
  expect(await readDurability(redis)).toBe('none');
  await redis.config('SET', 'maxmemory-policy', 'noeviction');
  await redis.config('SET', 'appendfsync', 'no');
  expect(await readDurability(redis)).toBe('none');
  // Redis hosts often forbid CONFIG; the service then reports what it can see without it.
  await redis.call('ACL', 'SETUSER', 'guest', 'on', 'nopass', '~*', '+@all', '-config');
  const guest = new Redis(server.url, { username: 'guest', password: 'any' });
  onTestFinished(() => guest.disconnect());
  expect(await readDurability(guest)).toBe('unknown');
  await redis.config('SET', 'appendonly', 'no');
  expect([await readDurability(guest), await readDurability(redis)]).toEqual(['none', 'none']);
});

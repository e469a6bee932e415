import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { startPrivateRedis } from '../../support/servers.ts';

test('the Redis of npm start logs each write to disk, never evicts, and its files are readable only by this user', async () => {
  const server = await startPrivateRedis();
  onTestFinished(() => server.dispose());
  const redis = new Redis(server.url);
  onTestFinished(() => redis.disconnect());
  for (const [name, value] of [
    ['appendonly', 'yes'],
    ['appendfsync', 'always'],
    ['maxmemory-policy', 'noeviction'],
  ] as const) {
    expect(await redis.config('GET', name)).toEqual([name, value]);
  }
  // In a container, its files are inside the container.
  if (server.remove !== undefined) return;
  await redis.set('kept', 'yes');
  const paths = readdirSync(server.dataDir, { recursive: true, encoding: 'utf8' }).map((name) => join(server.dataDir, name));
  const files = paths.filter((path) => statSync(path).isFile());
  expect(files.length).toBeGreaterThan(1);
  for (const file of files) expect((statSync(file).mode & 0o777).toString(8), file).toBe('600');
});

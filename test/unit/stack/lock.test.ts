import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkoutDir } from '../../../scripts/stack/context.ts';
import { tryLock, withLock } from '../../../scripts/stack/lock.mjs';

const lockModule = join(checkoutDir, 'scripts/stack/lock.mjs');

/** Another process that holds the lock until it is killed. */
async function startHolder(name: string) {
  const program = `
    const { tryLock } = await import(${JSON.stringify(lockModule)});
    await tryLock(${JSON.stringify(name)}, () => 'I am elsewhere');
    setInterval(() => undefined, 1000);
    process.stdout.write('held');
  `;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  return child;
}

test('who finds a lock taken is told by its holder where it is', async () => {
  const name = randomUUID();
  const holder = await startHolder(name);
  expect(await tryLock(name)).toEqual({ holder: 'I am elsewhere' });
  holder.kill('SIGKILL');
});

test('the lock of a process that was killed is free', async () => {
  const name = randomUUID();
  const holder = await startHolder(name);
  holder.kill('SIGKILL');
  await once(holder, 'exit');
  const attempt = await tryLock(name);
  expect(attempt).toHaveProperty('lock');
  if ('lock' in attempt) await attempt.lock.release();
});

test('only one at a time runs under a lock, and the waiting one is told once', async () => {
  const name = randomUUID();
  let inside = 0;
  let most = 0;
  let waits = 0;
  const run = () =>
    withLock(
      name,
      async () => {
        inside += 1;
        most = Math.max(most, inside);
        await new Promise((resolve) => setImmediate(resolve));
        inside -= 1;
      },
      { onWait: () => (waits += 1) },
    );
  await Promise.all([run(), run(), run()]);
  expect(most).toBe(1);
  expect(waits).toBeLessThanOrEqual(2);
});

test('a failing run releases the lock, and an abort ends the waiting', async () => {
  const name = randomUUID();
  await expect(withLock(name, () => Promise.reject(new Error('no luck')))).rejects.toThrow('no luck');
  const holder = await startHolder(name);
  const stop = new AbortController();
  const waiting = withLock(name, async () => 'ran', { signal: stop.signal, onWait: () => stop.abort(new Error('enough')) });
  await expect(waiting).rejects.toThrow('enough');
  holder.kill('SIGKILL');
});

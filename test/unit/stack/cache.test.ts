import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { cached, recipeKey } from '../../../scripts/stack/cache.ts';
import { findCacheDir, type StackContext } from '../../../scripts/stack/context.ts';
import { createTemporaryContext } from '../../../scripts/stack/stack.ts';

let context: StackContext;
let dispose: () => void;

beforeEach(() => {
  const temporary = createTemporaryContext(new AbortController().signal);
  context = { ...temporary.context, cacheDir: join(temporary.context.dataDir, 'cache') };
  mkdirSync(context.cacheDir);
  dispose = temporary.dispose;
});
afterEach(() => dispose());

test('a thing is made once, also for two who ask at the same time', async () => {
  let made = 0;
  const ask = () =>
    cached(context, 'cake', 'k1', async (folder) => {
      made += 1;
      writeFileSync(join(folder, 'slice'), 'sweet');
    });
  const [first, second] = await Promise.all([ask(), ask()]);
  expect(await ask()).toBe(first);
  expect(second).toBe(first);
  expect(made).toBe(1);
  expect(readFileSync(join(first, 'slice'), 'utf8')).toBe('sweet');
});

test('what failed half-way is removed and made anew', async () => {
  const failing = cached(context, 'cake', 'k1', async (folder) => {
    writeFileSync(join(folder, 'slice'), 'raw');
    throw new Error('power cut');
  });
  await expect(failing).rejects.toThrow('power cut');
  expect(readdirSync(context.cacheDir)).toEqual([]);
});

test('what a killed start left half-made is removed', async () => {
  mkdirSync(join(context.cacheDir, 'cake-k1.partial-1'));
  await cached(context, 'cake', 'k1', async () => undefined);
  expect(readdirSync(context.cacheDir)).toEqual(['cake-k1']);
});

test('a changed recipe is another thing', () => {
  expect(recipeKey('flour', 'sugar')).not.toBe(recipeKey('flour', 'salt'));
  expect(recipeKey('ab', 'c')).not.toBe(recipeKey('a', 'bc'));
});

test('the cache is XDG_CACHE_HOME/qstamp', () => {
  const folder = findCacheDir({ XDG_CACHE_HOME: context.dataDir });
  expect(folder).toBe(join(context.dataDir, 'qstamp'));
  expect(existsSync(folder)).toBe(true);
});

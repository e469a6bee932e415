import { rmSync, writeFileSync } from 'node:fs';
import { Collection, Db } from 'mongodb';

/**
 * Preloaded into a worker (`node --import`): right before its next write to a collection it stops, like with SIGSTOP, at a moment that no signal from
 * outside could hit. The file `$FREEZE_BEFORE_WRITE.<collection>` requests it; of several workers one removes the file, writes its process id to `.frozen`, and stops.
 */
const asked = process.env.FREEZE_BEFORE_WRITE;
const isWorker = process.argv[1]?.endsWith('src/workers/main.ts');

function stopWhereAsked(collection: string | undefined): void {
  try {
    rmSync(`${asked}.${collection}`);
  } catch {
    return;
  }
  writeFileSync(`${asked}.frozen`, String(process.pid));
  process.kill(process.pid, 'SIGSTOP');
}

function stopBefore<T extends object>(
  prototype: T,
  method: keyof T,
  collectionOf: (self: T, ...given: unknown[]) => string | undefined,
): void {
  const write = prototype[method] as (...given: unknown[]) => unknown;
  Object.assign(prototype, {
    [method](this: T, ...given: unknown[]) {
      stopWhereAsked(collectionOf(this, ...given));
      return write.apply(this, given);
    },
  });
}

if (asked && isWorker) {
  for (const method of ['insertMany', 'updateOne'] as const)
    stopBefore(Collection.prototype, method, ({ collectionName }) => collectionName);
  stopBefore(Db.prototype, 'command', (_, command) => (command as { readonly insert?: string }).insert);
}

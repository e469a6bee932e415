import { chmodSync, cpSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { removeTree } from '../stack/administrator.ts';
import { cached, recipeKey } from '../stack/cache.ts';
import type { StackContext } from '../stack/context.ts';
import { findGo, moduleDir, moduleFiles } from '../stack/documentdb-gateway.ts';

/** Where FerretDB, embedded, leaves off what compose's MongoDB does: it asks for passwords, and is a replica set of one. */
const source = 'vendor/github.com/FerretDB/FerretDB/v2/ferretdb/ferretdb.go';
const changes = [
  [/Auth: +false,/, 'Auth: true,'],
  [/ReplSetName: +"",/, 'ReplSetName: "rs0",'],
] as const;

/** The gateway of the image that stands for MongoDB's, with passwords; built once from our Go module, and minutes of work. */
export async function findGatewayWithPasswords(context: StackContext): Promise<string> {
  const key = recipeKey(String(changes), ...moduleFiles.map((file) => readFileSync(join(moduleDir, file), 'utf8')));
  const folder = await cached(context, 'gateway-with-passwords', key, async (place) => {
    const work = join(place, 'work');
    const module = join(work, 'module');
    mkdirSync(module, { recursive: true });
    for (const file of moduleFiles) cpSync(join(moduleDir, file), join(module, file));
    const go = await findGo(context, work);
    await context.progress.step('Building the MongoDB gateway with passwords (go build)', async () => {
      await go(['mod', 'vendor']);
      const file = join(module, source);
      chmodSync(file, 0o644);
      const changed = changes.reduce(
        (text, [from, to]) => {
          if (!from.test(text)) throw new Error(`FerretDB has no ${from} any more`);
          return text.replace(from, to);
        },
        readFileSync(file, 'utf8'),
      );
      writeFileSync(file, changed);
      await go(['build', '-mod=vendor', '-trimpath', '-ldflags=-s -w', '-o', 'gateway', '.']);
    });
    renameSync(join(module, 'gateway'), join(place, 'gateway'));
    await removeTree(work);
  });
  return join(folder, 'gateway');
}

import { chmodSync, cpSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { removeTree } from '../stack/administrator.ts';
import { cached, recipeKey } from '../stack/cache.ts';
import type { StackContext } from '../stack/context.ts';
import { findGo, moduleDir, moduleFiles } from '../stack/documentdb-gateway.ts';

const inFerretDb = 'vendor/github.com/FerretDB/FerretDB/v2';

/** What FerretDB, embedded, leaves off and compose's MongoDB has: it asks for passwords, and is a replica set of one, reached by this name. */
const changes = [
  { file: `${inFerretDb}/ferretdb/ferretdb.go`, from: /Auth: +false,/, to: 'Auth: true,' },
  { file: `${inFerretDb}/ferretdb/ferretdb.go`, from: /ReplSetName: +"",/, to: 'ReplSetName: "rs0",' },
  { file: `${inFerretDb}/internal/util/setup/setup.go`, from: /TCPHost: +opts\.TCPAddr,/, to: 'TCPHost: "mongodb:27017",' },
] as const;

function change(module: string, { file, from, to }: (typeof changes)[number]): void {
  const path = join(module, file);
  const text = readFileSync(path, 'utf8');
  if (!from.test(text)) throw new Error(`${file} has no ${from} any more`);
  chmodSync(path, 0o644);
  writeFileSync(path, text.replace(from, to));
}

/** The gateway of the image that stands for MongoDB's, with passwords; built once from our Go module, and minutes of work. */
export async function findGatewayWithPasswords(context: StackContext): Promise<string> {
  const key = recipeKey(...changes.map(({ to }) => to), ...moduleFiles.map((file) => readFileSync(join(moduleDir, file), 'utf8')));
  const folder = await cached(context, 'gateway-with-passwords', key, async (place) => {
    const work = join(place, 'work');
    const module = join(work, 'module');
    mkdirSync(module, { recursive: true });
    for (const file of moduleFiles) cpSync(join(moduleDir, file), join(module, file));
    const go = await findGo(context, work);
    await context.progress.step('Building the MongoDB gateway with passwords (go build)', async () => {
      await go(['mod', 'vendor']);
      for (const each of changes) change(module, each);
      await go(['build', '-mod=vendor', '-trimpath', '-ldflags=-s -w', '-o', 'gateway', '.']);
    });
    renameSync(join(module, 'gateway'), join(place, 'gateway'));
    await removeTree(work);
  });
  return join(folder, 'gateway');
}

import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { recipeKey } from '../../scripts/stack/cache.ts';
import type { StackContext } from '../../scripts/stack/context.ts';
import { buildGateway, gatewayRecipe, goBuild } from '../../scripts/stack/documentdb.ts';

const inFerretDb = 'vendor/github.com/FerretDB/FerretDB/v2';

/**
 * Changes to the embedded FerretDB, so that it has the settings of MongoDB in compose: passwords, and a replica set of one node with the same name.
 */
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

/** The gateway with passwords, for the image that replaces MongoDB. It is built once from our Go module, which takes minutes. */
export const findGatewayWithPasswords = (context: StackContext): Promise<string> =>
  buildGateway(context, 'gateway-with-passwords', recipeKey(...changes.map(({ to }) => to), ...gatewayRecipe()), async (go, module) => {
    await go('mod', 'vendor');
    for (const each of changes) change(module, each);
    await go(...goBuild, '-mod=vendor', '.');
  });

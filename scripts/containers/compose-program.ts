import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram, installPackages, removeTree } from '../stack/administrator.ts';
import { cached, recipeKey } from '../stack/cache.ts';
import { findCompose } from '../stack/compose-file.ts';
import type { StackContext } from '../stack/context.ts';
import { makeTree } from '../stack/documentdb-tree.ts';

const packages = ['docker-compose'];

/** How Docker Compose is called: the machine's own, else Debian's, taken out of its package and kept in the cache. */
export async function getCompose(context: StackContext): Promise<readonly string[]> {
  const own = await findCompose(context);
  if (own !== undefined) return own;
  if (findProgram('mmdebstrap') === undefined) await installPackages(context, ['mmdebstrap']);
  const folder = await cached(context, 'docker-compose', recipeKey(...packages), async (place) => {
    await makeTree(context, place, { packages, isUnpackedOnly: true }, 'Unpacking Docker Compose (mmdebstrap)');
    copyFileSync(join(place, 'root/usr/libexec/docker/cli-plugins/docker-compose'), join(place, 'docker-compose'));
    await removeTree(join(place, 'root'));
  });
  return [join(folder, 'docker-compose')];
}

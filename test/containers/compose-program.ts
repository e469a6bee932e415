import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { cached, recipeKey } from '../../scripts/stack/cache.ts';
import { findCompose } from '../../scripts/stack/compose.ts';
import type { StackContext } from '../../scripts/stack/context.ts';
import { makeTree, removeTree } from '../../scripts/stack/debian.ts';

const packages = ['docker-compose'];

/** The command for Docker Compose: the machine's own, otherwise the one in Debian's package, which is extracted and cached. */
export async function getCompose(context: StackContext): Promise<readonly string[]> {
  const own = await findCompose(context);
  if (own !== undefined) return own;
  const folder = await cached(context, 'docker-compose', recipeKey(...packages), async (place) => {
    await makeTree(context, place, packages, 'Unpacking Docker Compose (mmdebstrap)', 'extract');
    copyFileSync(join(place, 'root/usr/libexec/docker/cli-plugins/docker-compose'), join(place, 'docker-compose'));
    await removeTree(join(place, 'root'));
  });
  return [join(folder, 'docker-compose')];
}

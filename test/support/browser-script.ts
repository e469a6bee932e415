import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { checkoutDir } from '../../scripts/stack/context.ts';
import { viewsFolder } from '../../src/shared/views/engine.ts';

const assets = pathToFileURL(join(viewsFolder, 'assets/')).href;
/** The service serves these folders beside the assets, and the scripts of the pages import from them as neighbours. */
const beside = { './proof/': 'src/shared/proof/', './@noble/hashes/': 'node_modules/@noble/hashes/' };

registerHooks({
  resolve(specifier, context, nextResolve) {
    const found = context.parentURL?.startsWith(assets)
      ? Object.entries(beside).find(([prefix]) => specifier.startsWith(prefix))
      : undefined;
    if (!found) return nextResolve(specifier, context);
    const [prefix, folder] = found;
    return nextResolve(pathToFileURL(join(checkoutDir, folder, specifier.slice(prefix.length))).href, context);
  },
});

/** A script of the pages. These are typed for a browser, so they are not part of this program. */
export const loadScript = (file: string) => import(assets + file);

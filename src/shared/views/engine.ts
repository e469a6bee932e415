import { fileURLToPath } from 'node:url';
import { Eta } from 'eta';
import * as format from './format.ts';

/** The folder of templates, e-mails and assets. */
export const viewsFolder = fileURLToPath(new URL('../../../views', import.meta.url));

/**
 * Makes an engine that renders the templates of `views/`. Everything in `<%= %>` is escaped. Templates see their model as `it`, and call the functions of `format.ts` by their plain names.
 *
 * `assetUrl` maps a file of `views/assets` to its address. E-mails do not need it.
 */
export function createViewEngine(assetUrl: (file: string) => string = String): Eta {
  const functions = { ...format, asset: assetUrl };
  const engine = new Eta({
    views: viewsFolder,
    cache: true,
    autoTrim: false,
    functionHeader: `const { ${Object.keys(functions).join(', ')} } = this.templateFunctions;`,
  });
  return Object.assign(engine, { templateFunctions: functions });
}

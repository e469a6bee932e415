import { fileURLToPath } from 'node:url';
import { Eta } from 'eta';
import * as format from './format.ts';

/** The folder of templates, e-mails and assets. */
export const viewsFolder = fileURLToPath(new URL('../../../views', import.meta.url));

/**
 * Makes an engine that renders the templates of `views/`. Everything in `<%= %>` is escaped. Templates see their model as `it`, and call the functions of `format.ts` by their plain names.
 *
 * `urlOf` maps a file of `views/assets` to its address, and `modulesOf` a script to the addresses of what it imports. E-mails need neither.
 */
export function createViewEngine(
  assets: { urlOf?: (file: string) => string; modulesOf?: (script: string) => readonly string[] } = {},
): Eta {
  const { urlOf = String, modulesOf = () => [] } = assets;
  const functions = { ...format, asset: urlOf, modulesOf };
  const engine = new Eta({
    views: viewsFolder,
    cache: true,
    autoTrim: false,
    functionHeader: `const { ${Object.keys(functions).join(', ')} } = this.templateFunctions;`,
  });
  return Object.assign(engine, { templateFunctions: functions });
}

import { fileURLToPath } from 'node:url';
import { Eta } from 'eta';
import { count, dayText, duration, hash, inlineCode, latency, plural, stampTime, time, timeText } from './format.ts';

/** Where templates, e-mails and assets lie. */
export const viewsFolder = fileURLToPath(new URL('../../../views', import.meta.url));

/** The functions that templates may call by their bare names. */
const templateFunctions = { count, dayText, duration, hash, inlineCode, latency, plural, stampTime, time, timeText };

/**
 * Renders the templates of `views/`. Whatever a template writes with `<%= %>` is escaped; templates see their model as `it`.
 *
 * `assetUrl` maps a file of `views/assets` to its address; e-mails need none.
 */
export function createViewEngine(assetUrl: (file: string) => string = String): Eta {
  const functions = { ...templateFunctions, asset: assetUrl };
  const engine = new Eta({
    views: viewsFolder,
    cache: true,
    autoTrim: false,
    functionHeader: `const { ${Object.keys(functions).join(', ')} } = this.templateFunctions;`,
  });
  return Object.assign(engine, { templateFunctions: functions });
}

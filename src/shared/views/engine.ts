import { fileURLToPath } from 'node:url';
import { Eta } from 'eta';
import {
  count,
  dateText,
  dayText,
  duration,
  hash,
  inlineCode,
  latency,
  minute,
  plural,
  stampClock,
  stampTime,
  time,
  timeText,
} from './format.ts';

/** The folder of templates, e-mails and assets. */
export const viewsFolder = fileURLToPath(new URL('../../../views', import.meta.url));

/** Functions that templates can call by their plain names. */
const templateFunctions = {
  count,
  dateText,
  dayText,
  duration,
  hash,
  inlineCode,
  latency,
  minute,
  plural,
  stampClock,
  stampTime,
  time,
  timeText,
};

/**
 * Makes an engine that renders the templates of `views/`. Everything in `<%= %>` is escaped. Templates see their model as `it`.
 *
 * `assetUrl` maps a file of `views/assets` to its address. E-mails do not need it.
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

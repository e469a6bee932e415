import { Eta } from 'eta';
import type { Language } from '../domain/language.ts';
import * as format from './format.ts';
import { viewsFolder } from './translation.ts';

export { viewsFolder };

/**
 * Makes an engine that renders the templates of `views/` in a language. Everything in `<%= %>` is escaped. Templates see their model as `it`, and call the functions of `format.ts` and of the language by their plain names.
 *
 * `urlOf` maps a file of `views/assets` to its address, and `modulesOf` a script to the addresses of what it imports. E-mails need neither.
 */
export function createViewEngine(
  language: Language,
  { urlOf = String, modulesOf = () => [] }: { urlOf?: (file: string) => string; modulesOf?: (script: string) => readonly string[] } = {},
): Eta {
  const { wordsOf, ...formats } = format;
  const functions = { ...formats, ...wordsOf(language), asset: urlOf, modulesOf };
  const engine = new Eta({
    views: viewsFolder,
    cache: true,
    autoTrim: false,
    functionHeader: `const { ${Object.keys(functions).join(', ')} } = this.templateFunctions;`,
  });
  return Object.assign(engine, { templateFunctions: functions });
}

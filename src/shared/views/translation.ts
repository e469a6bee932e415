import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Language, localeOf } from '../domain/language.ts';

/** The folder of templates, e-mails, assets and catalogues of words. */
export const viewsFolder = fileURLToPath(new URL('../../../views', import.meta.url));

/** A value in a sentence. A text is escaped where the sentence becomes HTML; `html` is not. */
export type Value = string | number | { readonly html: string };
type Values = Readonly<Record<string, Value>>;

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => entities[character]!);

/**
 * Returns the functions that say a sentence in a language. Code and templates have the English sentence, which is the key of its translation in
 * `views/words`. In a sentence, `{name}` stands for the value of this name. In HTML, words between `**` are strong, and words between backticks are code.
 */
export function translatorOf(language: Language) {
  const catalogue: Readonly<Record<string, string>> =
    language === 'en' ? {} : JSON.parse(readFileSync(join(viewsFolder, `words/${language}.json`), 'utf8'));
  const numbers = new Intl.NumberFormat(localeOf(language));
  const rules = new Intl.PluralRules(language);

  const fill = (text: string, values: Values, write: (value: string) => string): string =>
    text.replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = values[name] ?? '';
      if (typeof value === 'object') return value.html;
      return write(typeof value === 'number' ? numbers.format(value) : value);
    });

  /** Says a sentence as plain text. */
  const t = (text: string, values: Values = {}): string => fill((catalogue[text] ?? text).replaceAll('**', ''), values, String);

  /** Says a sentence as HTML. */
  function tHtml(text: string, values: Values = {}): string {
    const html = escapeHtml(catalogue[text] ?? text)
      .replace(/\*\*(.+?)\*\*/g, '<strong>$1</strong>')
      .replace(/`(.+?)`/g, '<code>$1</code>');
    return fill(html, values, escapeHtml);
  }

  /** Says the first sentence of one thing, and the second of any other number, with the value `count`. */
  const tCount = (count: number, one: string, other: string, values: Values = {}): string =>
    t(rules.select(count) === 'one' ? one : other, { count, ...values });

  return { language, t, tHtml, tCount };
}

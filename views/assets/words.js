// @ts-check
// Says sentences in the language of the page. The catalogue is that of the service; a page in English needs none, and without it a page stays in English.

const language = globalThis.document?.documentElement.lang || 'en';

/** The language and region whose rules numbers and dates follow. */
export const locale = language === 'en' ? 'en-GB' : language;

/** @returns {Promise<Record<string, string>>} */
async function loadCatalogue() {
  const answer = await fetch(new URL(`words/${language}.json`, import.meta.url));
  return answer.ok ? answer.json() : {};
}

const catalogue = language === 'en' ? {} : await loadCatalogue().catch(() => /** @type {Record<string, string>} */ ({}));

/** The translation of a sentence, with its marks and the names of its values. @param {string} text */
export const translated = (text) => catalogue[text] ?? text;

/** Writes a number like `2,000`. @param {number} number */
export const count = (number) => number.toLocaleString(locale);

/** Says a sentence with named values. @param {string} text @param {Readonly<Record<string, string | number>>} [values] */
export const t = (text, values = {}) =>
  translated(text)
    .replaceAll('**', '')
    .replace(/\{(\w+)\}/g, (_, name) => (typeof values[name] === 'number' ? count(values[name]) : (values[name] ?? '')));

/** The first sentence for one thing, the second for any other number. They have the value `count`. @param {number} number @param {string} one @param {string} other */
export const chosen = (number, one, other) => (new Intl.PluralRules(language).select(number) === 'one' ? one : other);

/** @param {number} number @param {string} one @param {string} other @param {Readonly<Record<string, string | number>>} [values] */
export const tCount = (number, one, other, values) => t(chosen(number, one, other), { count: number, ...values });

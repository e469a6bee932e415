/** The languages of pages and mails. Answers for programs are in English. */
export const languages = ['en', 'de', 'fr'] as const;
export type Language = (typeof languages)[number];

/** Returns our language that a reader likes best, by `Accept-Language` (RFC 9110 §12.5.4); English if none of ours is named. */
export function languageOf(accepted: string | undefined): Language {
  const ranges = (accepted ?? '').split(',').map((range) => {
    const [tag = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const weight = parameters.find((parameter) => parameter.startsWith('q='));
    return { language: tag.split('-')[0], weight: weight === undefined ? 1 : Number(weight.slice(2)) };
  });
  const liked = ranges.filter(({ weight }) => weight > 0).sort((a, b) => b.weight - a.weight);
  return liked.flatMap(({ language }) => languages.find((known) => known === language) ?? [])[0] ?? 'en';
}

/** The language and region whose rules numbers and dates follow. */
export const localeOf = (language: Language): string => (language === 'en' ? 'en-GB' : language);

/** A sentence with named values. Pages translate it. */
export interface SentenceWords {
  readonly text: string;
  readonly values: Readonly<Record<string, string>>;
}

/** The sentence in English, as programs get it. */
export const filled = ({ text, values }: SentenceWords): string => text.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '');

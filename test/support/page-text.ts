const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'", nbsp: '\u00a0' };

/** The words of a piece of HTML: an inline tag is removed, any other becomes a new line. */
export const plainText = (html: string): string =>
  html
    .replace(/<(script|style|svg)\b.*?<\/\1>/gs, '')
    .replace(/<\/?(a|abbr|bdi|code|em|span|strong|time|wbr)\b[^>]*>/g, '')
    .replace(/<[^>]+>/g, '\n')
    .replace(/&(#?\w+);/g, (entity, name: string) => entities[name] ?? entity);

/** The words of a page as sent, without header and footer, and without effects of styles. */
export const mainText = (page: string): string => plainText(/<main\b.*<\/main>/s.exec(page)?.[0] ?? '');

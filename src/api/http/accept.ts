import type { FastifyRequest } from 'fastify';

/** Whether an `Accept` header names exactly this media type, and not with weight 0 (RFC 9110 §12.5.1). */
const names = (accept: string | undefined, type: string): boolean =>
  (accept ?? '').split(',').some((range) => {
    const [name = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    return name === type && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });

/** The headers that decide between a page and JSON. */
export const varyByBrowser = 'Accept, Sec-Fetch-Mode';

/**
 * Whether a browser asks for a page (V8). Programs get JSON, also those that name `text/html` among other types. With other methods than GET and HEAD,
 * only the forms of our own pages lead to a page.
 */
export function wantsPage({ method, headers, routeOptions }: FastifyRequest): boolean {
  const answers = routeOptions.config?.contract?.answers ?? {};
  const isForm = Object.values(answers).some(({ content }) => content !== undefined && 'text/html' in content);
  if (method !== 'GET' && method !== 'HEAD' && !isForm) return false;
  return headers['sec-fetch-mode'] === 'navigate' || names(headers.accept, 'application/xhtml+xml');
}

/** Whether a client of the link in the mail asks for JSON: its `Accept` names `application/json` and does not take everything (E12). */
export const wantsJson = ({ headers: { accept } }: FastifyRequest): boolean => names(accept, 'application/json') && !names(accept, '*/*');

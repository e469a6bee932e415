import { createRequestCheck, type SentRequest } from './request-check.ts';

/** `fetch` for our clients: every request is checked against the document of the service at `baseUrl`, and recorded. */
export function recordedFetch(baseUrl: string): { readonly fetch: typeof globalThis.fetch; readonly sent: SentRequest[] } {
  const sent: SentRequest[] = [];
  const check = globalThis
    .fetch(`${baseUrl}/openapi.json`)
    .then((response) => response.json())
    .then((document) => createRequestCheck(document as Parameters<typeof createRequestCheck>[0]));
  return {
    sent,
    fetch: async (input, init = {}) => {
      const { pathname, search } = new URL(String(input));
      const headers = Object.fromEntries(new Headers(init.headers));
      const request = { method: init.method ?? 'GET', path: pathname + search, headers, body: String(init.body ?? '') };
      sent.push(request);
      const fault = (await check)(request);
      if (fault !== undefined) throw new Error(`broken contract: ${fault}`);
      return globalThis.fetch(input, init);
    },
  };
}

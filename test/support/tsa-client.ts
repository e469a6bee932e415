import { QUERY_TYPE } from '../../src/tsa/server.ts';

/** POSTs a query like a plain client that checks nothing; a broken connection rejects. */
export async function postQuery(url: string, query: Uint8Array, init: RequestInit = {}) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': QUERY_TYPE },
    body: Buffer.from(query),
    redirect: 'manual',
    ...init,
  });
  return { status: response.status, headers: response.headers, body: Buffer.from(await response.arrayBuffer()) };
}

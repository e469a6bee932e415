import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { createContractCheck } from '../support/contract-check.ts';
import { createRequestCheck } from '../support/request-check.ts';

type Document = Parameters<typeof createContractCheck>[0] & Parameters<typeof createRequestCheck>[0];

/** Stands between a client of ours and the service; `faults` has every request and answer that the service's document does not know. */
export async function startContractProxy(
  serviceUrl: string,
  document: Document,
): Promise<{ url: string; calls: () => number; faults: ReadonlySet<string>; stop(): Promise<void> }> {
  const [checkRequest, checkAnswer] = [createRequestCheck(document), createContractCheck(document)];
  const faults = new Set<string>();
  const note = (fault: string | undefined) => fault !== undefined && faults.add(fault);
  let calls = 0;
  const server = createServer(async (request, response) => {
    const { method = 'GET', url: path = '/' } = request;
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
    const body = await buffer(request);
    calls += 1;
    note(checkRequest({ method, path, headers, body: body.toString('utf8') }));
    const { host: _, connection: __, 'content-length': ___, 'transfer-encoding': ____, ...passed } = headers;
    try {
      const answer = await fetch(serviceUrl + path, { method, headers: passed, ...(body.length > 0 && { body }) });
      const bytes = Buffer.from(await answer.arrayBuffer());
      const contentType = answer.headers.get('content-type');
      note(checkAnswer({ method, path, status: answer.status, contentType, body: bytes.toString('utf8') }));
      const kept = ['content-type', 'retry-after', 'www-authenticate', 'x-request-id'].flatMap((name) => {
        const value = answer.headers.get(name);
        return value === null ? [] : [[name, value] as const];
      });
      response.writeHead(answer.status, Object.fromEntries(kept)).end(bytes);
    } catch {
      response.destroy();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls: () => calls,
    faults,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

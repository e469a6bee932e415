import { once } from 'node:events';
import { createServer, type IncomingMessage, type OutgoingHttpHeaders, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { getCACertificates, setDefaultCACertificates, type TLSSocket } from 'node:tls';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createTsaClient, TransportError, type TsaClient } from '../../../src/workers/providers/tsa-client.ts';
import { startProxy } from '../../support/proxy.ts';
import { createTlsIdentity } from '../../support/tls-identity.ts';

const replyType = { 'content-type': 'application/timestamp-reply' };
const query = Buffer.from('a query');

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A TSA with a given answer, and its address without a scheme. */
async function serve(answer: RequestListener) {
  const server = createServer(answer);
  return { server, address: await listen(server) };
}

function clientOf(
  url: string,
  { timeoutMs = 5_000, maxConcurrent = 4, credentials = { headers: {} } }: Partial<Parameters<typeof createTsaClient>[0]> = {},
) {
  const client = createTsaClient({ url, credentials, maxConcurrent, timeoutMs });
  onTestFinished(() => client.close());
  return client;
}

const ask = (client: TsaClient, signal = new AbortController().signal) => client.ask(query, signal);

const faultOf = async (client: TsaClient, signal?: AbortSignal): Promise<TransportError> => {
  const error = await ask(client, signal).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(TransportError);
  return error as TransportError;
};

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = '';
  for await (const part of request.setEncoding('latin1')) body += part;
  return body;
}

describe('asking a TSA (RFC 3161 §3.4)', () => {
  test('posts the query with length, path and host name, and returns the answer', async () => {
    let seen: (IncomingMessage & { body?: string }) | undefined;
    const { address } = await serve(async (request, response) => {
      seen = Object.assign(request, { body: await bodyOf(request) });
      response.writeHead(200, { 'content-type': 'Application/Timestamp-Reply; charset=x' }).end('an answer');
    });
    const answer = await ask(clientOf(`http://us%20er:p%3Ass@${address}/tsa?a=b`, { credentials: { headers: { 'x-key': 'k' } } }));
    expect(answer.toString()).toBe('an answer');
    expect(seen).toMatchObject({ method: 'POST', url: '/tsa?a=b', body: 'a query' });
    expect(seen?.headers).toMatchObject({
      host: address,
      'content-type': 'application/timestamp-query',
      'content-length': '7',
      accept: 'application/timestamp-reply',
      authorization: `Basic ${Buffer.from('us er:p:ss').toString('base64')}`,
      'x-key': 'k',
    });
  });

  test('requests share connections', async () => {
    let connections = 0;
    const { server, address } = await serve((_, response) => void response.writeHead(200, replyType).end('an answer'));
    server.on('connection', () => (connections += 1));
    const client = clientOf(`http://${address}/`);
    for (let asked = 0; asked < 20; asked += 1) await ask(client);
    // undici reuses a connection only a moment after its answer, so there may be a second one.
    expect(connections).toBeLessThanOrEqual(2);
  });

  const answers = {
    'without a length, which ends when its connection closes': (_, response) => {
      response.writeHead(200, { ...replyType, connection: 'close' });
      response.useChunkedEncodingByDefault = false;
      response.write('an ');
      response.end('answer');
    },
    'after interim answers': (_, response) => {
      response.writeProcessing();
      response.writeEarlyHints({ link: '</a>; rel=preload' }, () => response.writeHead(200, replyType).end('an answer'));
    },
    'with a repeated header, of which the first counts': (_, response) =>
      void response.writeHead(200, ['content-type', 'application/timestamp-reply', 'content-type', 'text/html']).end('an answer'),
    // sigstore and other TSAs answer so.
    'with status 201': (_, response) => void response.writeHead(201, replyType).end('an answer'),
    'as a response': (_, response) =>
      void response.writeHead(200, { 'content-type': 'Application/Timestamp-Response; charset=binary' }).end('an answer'),
  } satisfies Record<string, RequestListener>;
  test.for(Object.entries<RequestListener>(answers))('takes an answer %s', async ([, answer]) => {
    const { address } = await serve(answer);
    expect((await ask(clientOf(`http://${address}/`))).toString()).toBe('an answer');
  });

  test('an answer of 64 KiB is read', async () => {
    const { address } = await serve((_, response) => void response.writeHead(200, replyType).end(Buffer.alloc(64 * 1024)));
    expect((await ask(clientOf(`http://${address}/`))).length).toBe(64 * 1024);
  });

  test('of a repeated Retry-After the first counts', async () => {
    const { address } = await serve((_, response) => void response.writeHead(503, ['retry-after', '3', 'retry-after', '5']).end());
    expect((await faultOf(clientOf(`http://${address}/`))).retryAfterMs).toBe(3_000);
  });

  test('a client certificate is sent; without it there is no answer', async () => {
    const [server, client] = [createTlsIdentity('127.0.0.1'), createTlsIdentity('127.0.0.1')];
    const before = getCACertificates('default');
    setDefaultCACertificates([...before, server.cert]);
    onTestFinished(() => setDefaultCACertificates(before));
    const tsa = createTlsServer({ key: server.key, cert: server.cert, ca: client.cert, requestCert: true }, (request, response) => {
      response.writeHead(200, replyType).end((request.socket as TLSSocket).getPeerCertificate().fingerprint256);
    });
    const url = `https://${await listen(tsa)}/`;
    const shown = await ask(clientOf(url, { credentials: { headers: {}, clientCertificate: { cert: client.cert, key: client.key } } }));
    expect(shown.toString()).toMatch(/^[0-9A-F:]{95}$/);
    const refused = Promise.withResolvers<void>();
    tsa.once('tlsClientError', () => refused.resolve());
    expect(await faultOf(clientOf(url))).toMatchObject({ fault: 'unreachable', isRetryable: true });
    await refused.promise;
  });

  test('through the proxy of HTTP_PROXY', async () => {
    const { address } = await serve((request, response) => void response.writeHead(200, replyType).end(request.headers.authorization));
    const proxy = await startProxy();
    vi.stubEnv('HTTP_PROXY', proxy.url);
    onTestFinished(() => void vi.unstubAllEnvs());
    const place = address.replace('127.0.0.1', 'tsa.example');
    expect((await ask(clientOf(`http://me:secret@${place}/tsa`))).toString()).toMatch(/^Basic /);
    expect(proxy.seen).toEqual([`POST ${place}`]);
    // This machine is never asked through a proxy.
    await ask(clientOf(`http://me:secret@${address}/tsa`));
    expect(proxy.seen).toHaveLength(1);
  });

  test('through the proxy of HTTPS_PROXY, which sees only the host, also with a client certificate', async () => {
    const [server, client] = [createTlsIdentity('127.0.0.2'), createTlsIdentity('127.0.0.2')];
    const before = getCACertificates('default');
    setDefaultCACertificates([...before, server.cert]);
    onTestFinished(() => setDefaultCACertificates(before));
    const tsa = createTlsServer(
      { key: server.key, cert: server.cert, ca: client.cert, requestCert: true, rejectUnauthorized: false },
      (request, response) => {
        response.writeHead(200, replyType).end((request.socket as TLSSocket).getPeerCertificate().fingerprint256 ?? 'none');
      },
    );
    const place = (await listen(tsa)).replace('127.0.0.1', '127.0.0.2');
    const proxy = await startProxy();
    vi.stubEnv('HTTPS_PROXY', proxy.url);
    onTestFinished(() => void vi.unstubAllEnvs());
    expect((await ask(clientOf(`https://${place}/`))).toString()).toBe('none');
    const credentials = { headers: {}, clientCertificate: { cert: client.cert, key: client.key } };
    expect((await ask(clientOf(`https://${place}/`, { credentials }))).toString()).toMatch(/^[0-9A-F:]{95}$/);
    expect(proxy.seen).toEqual([`CONNECT ${place}`, `CONNECT ${place}`]);
    vi.stubEnv('HTTPS_PROXY', 'http://127.0.0.1:9');
    expect(await faultOf(clientOf(`https://${place}/`))).toMatchObject({ fault: 'unreachable', isRetryable: true });
    vi.stubEnv('HTTPS_PROXY', 'proxy.example:3128');
    expect(() => clientOf(`https://${place}/`)).toThrow('HTTPS_PROXY and HTTP_PROXY: they must be addresses');
  });
});

describe('a TSA that fails', () => {
  const reply =
    (status: number, headers: OutgoingHttpHeaders = {}, body = ''): RequestListener =>
    (_, response) =>
      void response.writeHead(status, headers).end(body);
  const tooLong: RequestListener = (_, response) => void response.writeHead(200, replyType).write(Buffer.alloc(64 * 1024 + 1));
  const cutOff: RequestListener = (_, response) =>
    void response.writeHead(200, { ...replyType, 'content-length': '9' }).write('an', () => response.destroy());
  test.for<[name: string, fault: string, isRetryable: boolean, answer: RequestListener]>([
    ['a 503 may be asked again', 'http_status', true, reply(503)],
    ['a 400 is not asked again', 'http_status', false, reply(400)],
    ['a 202 has no time-stamp yet', 'http_status', false, reply(202, replyType)],
    ['a redirect is not followed', 'http_status', false, reply(302, { location: '/' })],
    ['a page is no answer', 'content_type', false, reply(200, { 'content-type': 'text/html' }, '<p>')],
    ['a page with status 201 is no answer', 'content_type', false, reply(201, { 'content-type': 'text/html' }, '<p>')],
    ['an answer beyond 64 KiB is not read to its end', 'oversized', false, tooLong],
    ['an answer that breaks off is asked for again', 'cut_off', true, cutOff],
    ['a connection that ends is asked again', 'unreachable', true, (request) => void request.socket.destroy()],
    ['what is no HTTP is no answer', 'unreachable', true, (request) => void request.socket.end('hello\r\n\r\n')],
  ])('%s', async ([, fault, isRetryable, answer]) => {
    const { address } = await serve(answer);
    expect(await faultOf(clientOf(`http://${address}/`))).toMatchObject({ fault, isRetryable });
  });

  test.for([
    ['says nothing', (_, response) => void response.on('close', () => undefined)],
    ['says half of it', (_, response) => void response.writeHead(200, replyType).write('an')],
  ] satisfies [string, RequestListener][])('one that %s is cut off after the time limit', async ([, answer]) => {
    const closed = Promise.withResolvers<void>();
    const { server, address } = await serve(answer);
    server.on('connection', (socket) => socket.once('close', () => closed.resolve()));
    expect(await faultOf(clientOf(`http://${address}/`, { timeoutMs: 200 }))).toMatchObject({ fault: 'timeout', isRetryable: false });
    await closed.promise;
  });

  test('a caller that gives up before its turn uses no connection', async () => {
    let connections = 0;
    const release = Promise.withResolvers<void>();
    const { server, address } = await serve(
      (_, response) => void release.promise.then(() => response.writeHead(200, replyType).end('an answer')),
    );
    server.on('connection', () => (connections += 1));
    const client = clientOf(`http://${address}/`, { maxConcurrent: 1 });
    const underWay = ask(client);
    const leaving = new AbortController();
    const left = Promise.all([1, 2, 3].map(() => faultOf(client, leaving.signal)));
    leaving.abort();
    expect((await left).map(({ fault }) => fault)).toEqual(['timeout', 'timeout', 'timeout']);
    const last = ask(client);
    release.resolve();
    expect([await underWay, await last].join()).toBe('an answer,an answer');
    expect(connections).toBe(1);
  });

  test('closing a client ends its running requests', async () => {
    const { server, address } = await serve(() => undefined);
    const client = clientOf(`http://${address}/`);
    const asking = faultOf(client);
    await once(server, 'request');
    client.close();
    for (const ended of [asking, faultOf(client)]) expect(await ended).toMatchObject({ fault: 'unreachable' });
  });

  test('a caller may stop waiting', async () => {
    const { address } = await serve(() => undefined);
    const leaving = faultOf(clientOf(`http://${address}/`), AbortSignal.timeout(100));
    expect(await leaving).toMatchObject({ fault: 'timeout', isRetryable: false });
  });
});

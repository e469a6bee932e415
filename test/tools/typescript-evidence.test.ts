import { setTimeout as wait } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { sendJson, startStub } from '../support/cli.ts';
import { installedClient } from '../support/client-package.ts';

const client = await (await installedClient()).load();

async function joined(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all).toString();
}

test('a token is fetched unchanged; if stamps share a token, the evidence record of the stamp', async () => {
  const stub = await startStub((response, { line }) => {
    if (line === 'GET /api/v1/verify/v1/token/alone/token') response.writeHead(200).end('token');
    else if (line === 'GET /api/v1/verify/v1/token/one%20of%20many/token') response.writeHead(200, { 'qstamp-batch': 'x' }).end('root');
    else if (line.endsWith('/evidence')) response.writeHead(200).end('record');
    else sendJson(response, 404, { detail: 'None.', code: 'not_found', request_id: 'r' });
  });
  const qstamp = new client.Qstamp({ url: `${stub.url}/` });
  const text = (bytes: Uint8Array) => Buffer.from(bytes).toString();
  expect(qstamp.url).toBe(stub.url);
  expect(text(await qstamp.fetchToken('alone'))).toBe('token');
  expect(text(await qstamp.fetchToken('one of many'))).toBe('record');
  expect(text(await qstamp.fetchEvidenceRecord('alone'))).toBe('record');
  await expect(qstamp.fetchToken('mock')).rejects.toThrow(client.NotFound);
});

test('the bytes of a token are verified like its base64', async () => {
  const stub = await startStub((response) => sendJson(response, 200, { valid: true, reason: null }));
  const qstamp = new client.Qstamp({ url: stub.url });
  for (const token of [Uint8Array.of(0, 255), 'AP8=']) expect(await qstamp.verifyToken(token)).toMatchObject({ valid: true });
  expect(stub.seen.map(({ body }) => JSON.parse(body))).toEqual([{ token: 'AP8=' }, { token: 'AP8=' }]);
});

test('content is sent unchanged to renew the evidence, not as JSON', async () => {
  const answer = { token_id: 'id', imprint: { algorithm: 'sha512', digest: 'ab' }, is_renewed: false };
  const stub = await startStub((response) => sendJson(response, 200, answer));
  const qstamp = new client.Qstamp({ url: stub.url, serviceToken: 'secret' });
  expect(await qstamp.renewEvidence('id', new Blob(['content']))).toEqual(answer);
  const headers = { 'content-type': 'application/octet-stream', 'x-service-token': 'secret' };
  expect(stub.seen).toMatchObject([{ line: 'POST /api/v1/verify/v1/token/id/evidence', body: 'content', headers }]);
});

test('a bundle may take longer than a try; a missing one is requested again', async () => {
  const stub = await startStub(async (response, _request, attempt) => {
    if (attempt === 1) return sendJson(response, 503, { detail: 'Busy.', code: 'overloaded' }, { 'retry-after': '0' });
    response.writeHead(200).flushHeaders();
    for (const piece of ['a', 'b', 'c']) {
      await wait(200);
      response.write(piece);
    }
    response.end();
  });
  const qstamp = new client.Qstamp({ url: stub.url, timeout: 300 });
  expect(await joined(qstamp.fetchBundle('id'))).toBe('abc');
  expect(stub.seen.map(({ line }) => line)).toEqual(['GET /workflow/id/evidence.zip', 'GET /workflow/id/evidence.zip']);
});

test('a broken-off bundle is an error, and an aborted one ends', async () => {
  const broken = await startStub((response) => {
    response.writeHead(200, { 'content-length': '100' }).write('a', () => response.destroy());
  });
  await expect(joined(new client.Qstamp({ url: broken.url }).fetchBundle('id'))).rejects.toThrow(client.ServiceUnreachable);

  const { promise: end, resolve: ended } = Promise.withResolvers<void>();
  const endless = await startStub((response) => void response.on('close', ended).writeHead(200).write('a'));
  for await (const piece of new client.Qstamp({ url: endless.url }).fetchBundle('id')) {
    expect(Buffer.from(piece).toString()).toBe('a');
    break;
  }
  await end;
});

test('a silent service gives an error with the time limit', async () => {
  const stub = await startStub(() => undefined);
  const qstamp = new client.Qstamp({ url: stub.url, timeout: 100, maxRetries: 1 });
  await expect(qstamp.stampText('a')).rejects.toThrow(`${stub.url} cannot be reached: no answer within 0.1 s`);
  expect(stub.seen).toHaveLength(2);
});

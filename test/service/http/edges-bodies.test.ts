import { once } from 'node:events';
import { expect, test } from 'vitest';
import { rawPath as raw, serveBodies as serve, startBodies as start } from '../../support/body-app.ts';
import { answerOn, postHead } from '../../support/raw-http.ts';

const token = JSON.stringify({ token: 'x' });
const postOf = (body: string) => postHead(raw, { 'content-length': Buffer.byteLength(body) }) + body;

test('E8: a body is JSON if its content type is absent, application/json or ends in +json; any other type is 422', async () => {
  const app = await start();
  const post = async (type: string | undefined, payload: string | Buffer = token) => {
    const answer = await app.inject({ method: 'POST', url: raw, payload, headers: type === undefined ? {} : { 'content-type': type } });
    return answer.statusCode === 422 ? answer.json() : answer.statusCode;
  };
  const json = [
    undefined,
    'application/json',
    'Application/JSON; charset=utf-8',
    'application/vnd.api+json',
    'application/problem+JSON;v=1',
  ];
  for (const type of json) expect(await post(type), type).toBe(200);
  const msg = 'Input should be a valid dictionary or object to extract fields from. Send Content-Type: application/json.';
  const refused = { detail: [{ type: 'model_attributes_type', loc: ['body'], msg, input: token }] };
  const others = ['text/plain', 'text/json', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'application/jsonp'];
  for (const type of [...others, 'application/json+xml', 'json', '']) expect(await post(type), type).toEqual(refused);
  expect(await post('text/plain', '')).toMatchObject({ detail: [{ type: 'missing', loc: ['body'] }] });
  expect(await post('text/plain', '€'.repeat(100_000))).toMatchObject({ detail: [{ input: '€'.repeat(1024) }] });
  expect(await post('text/plain', Buffer.of(0x61, 0xff))).toMatchObject({ detail: [{ input: 'a\ufffd' }] });
});

test.each([
  ['gzip', 415],
  ['Identity', 200],
])('E8: a body with the content coding %s is %i', async (coding, status) => {
  const answer = await (await start()).inject({ method: 'POST', url: raw, payload: token, headers: { 'content-encoding': coding } });
  expect(answer.statusCode).toBe(status);
});

test('E1, E8: a body at the limit is read, one byte more is 413 by its declared length, and the connection outlives refusals', async () => {
  const socket = await (await serve({}, 1000)).open();
  for (const [body, status] of Object.entries({
    [token.padEnd(1000)]: 200,
    [token.padEnd(1001)]: 413,
    '{': 422,
    '[]': 422,
    [token]: 200,
  })) {
    socket.write(postOf(body));
    const answer = await answerOn(socket);
    expect([answer.status, /connection: close/i.test(answer.head)]).toEqual([status, false]);
    if (status === 413) expect(JSON.parse(answer.body).detail).toBe('The body may have at most 1000 bytes.');
  }
  socket.destroy();
});

test('E8: chunks are counted, and a client that is still sending can read its 413', async () => {
  const socket = await (await serve({}, 100_000)).open();
  socket.write(postHead(raw, { 'transfer-encoding': 'chunked' }));
  const chunk = `4000\r\n${'x'.repeat(0x4000)}\r\n`;
  for (let sent = 0; sent < 400; sent += 1) socket.write(chunk);
  socket.write('0\r\n\r\n');
  const { status, head } = await answerOn(socket);
  expect([status, /connection: close/i.test(head)]).toEqual([413, false]);
  socket.destroy();
});

test.each(['application/json', 'text/plain'])(
  'E8: %s far above the limit, sent in full before it reads, is 413 and no reset',
  async (type) => {
    const { port } = await serve({}, 1000);
    const init = { method: 'POST', headers: { 'content-type': type }, body: Buffer.alloc(20 * 1024 * 1024, 'x') };
    expect((await fetch(`http://127.0.0.1:${port}${raw}`, init)).status).toBe(413);
  },
);

test('E8: the unread rest of a body may take no longer than the shortest body', async () => {
  const { open } = await serve({ shortestMs: 100 });
  for (const [path, status] of [
    [raw, 415],
    ['/nowhere', 404],
  ] as const) {
    const socket = await open();
    const closed = once(socket, 'close');
    socket.write(`${postHead(path, { 'content-encoding': 'gzip', 'content-length': 1000 })}xxx`);
    expect((await answerOn(socket)).status).toBe(status);
    await closed;
  }
});

test('a body in pieces, cut inside its characters, is read correctly', async () => {
  const socket = await (await serve()).open();
  for (const octet of Buffer.from(postOf('{"token":"é😀"}'))) {
    socket.write(Buffer.of(octet));
    await new Promise(setImmediate);
  }
  expect(JSON.parse((await answerOn(socket)).body)).toEqual({ body: { token: 'é😀' } });
  socket.destroy();
});

import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { isPrivateAddress } from '../../../src/shared/runtime/private-address.ts';
import { createWebhookSender } from '../../../src/workers/webhooks/sender.ts';
import { patience } from '../../support/pace.ts';

type SenderOptions = Parameters<typeof createWebhookSender>[0];
/** Sends a webhook to that address. */
const sendTo = (url: string, options: Pick<SenderOptions, 'isOpen'> & Partial<SenderOptions>) =>
  createWebhookSender({ secrets: [Buffer.alloc(24)], clock: Date.now, userAgent: 'test', ...options })({
    ...{ url, id: 'stamp_1', event: 'stamp.made', body: '{}' },
  });
const failed = (isFinal: boolean) => ({ name: 'WebhookError', isFinal });

/** A local receiver and its number of connections; `answer`: its reply to each. */
async function startListener(answer: string | ((socket: Socket) => void) = '') {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    const respond = typeof answer === 'string' ? () => void socket.write(answer) : answer;
    socket.on('error', () => undefined).once('data', () => respond(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  return { port: typeof address === 'object' ? address?.port : 0, count: () => connections };
}

test.each(['localhost', '127.0.0.1', '[::1]', '[::ffff:127.0.0.1]', '2130706433'])(
  'N2: in production %s gets no connection, by name or address, and no retry; plain HTTP is never used',
  async (host) => {
    const { port, count } = await startListener();
    await expect(sendTo(`https://${host}:${port}/`, { isOpen: false })).rejects.toMatchObject(failed(true));
    expect(count()).toBe(0);
    await expect(sendTo('http://192.0.2.1/', { isOpen: false })).rejects.toMatchObject(failed(true));
  },
);

test.each([
  ['a redirection', 'HTTP/1.1 307 Go\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n', false],
  ['410', 'HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n', true],
  ['something that is no HTTP', 'SSH-2.0-x\r\n', false],
])('N3: %s is not a success', async (_what, answer, isFinal) => {
  const { port } = await startListener(answer);
  await expect(sendTo(`http://127.0.0.1:${port}/`, { isOpen: true })).rejects.toMatchObject(failed(isFinal));
});

/** Repeats the same data as fast as it is read, and counts it. */
function createBabbler(first: string, again: string) {
  let octets = 0;
  const babble = (socket: Socket) => {
    if (socket.destroyed) return;
    octets += again.length;
    if (socket.write(again)) setImmediate(babble, socket);
    else socket.once('drain', () => babble(socket));
  };
  const answer = (socket: Socket) => {
    socket.write(first);
    babble(socket);
  };
  return { answer, octets: () => octets };
}

test.each([
  ['header fields without an end', 'HTTP/1.1 200 OK\r\n', `x: ${'y'.repeat(1_000)}\r\n`],
  ['an endless line', 'HTTP/1.1 200 ', 'y'.repeat(1_000)],
  ['interim answers without an end', '', 'HTTP/1.1 100 Continue\r\n\r\n'],
  ['nothing', '', ''],
])('N3: a receiver that sends %s is cut off after its time, in bounded memory', async (_what, first, again) => {
  const { port } = await startListener(again === '' ? () => undefined : createBabbler(first, again).answer);
  const before = process.memoryUsage().rss;
  await expect(sendTo(`http://127.0.0.1:${port}/`, { isOpen: true, answerWithinMs: 1_000 })).rejects.toMatchObject(failed(false));
  expect(process.memoryUsage().rss - before).toBeLessThan(150 * 1024 * 1024);
});

test('N3: only the status is read if a receiver gives a wrong length or never ends', async () => {
  const { answer, octets } = createBabbler('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n', `3e8\r\n${'y'.repeat(1_000)}\r\n`);
  for (const each of [answer, 'HTTP/1.1 204 OK\r\nContent-Length: 9999999999\r\n\r\nffff']) {
    const { port } = await startListener(each);
    await sendTo(`http://127.0.0.1:${port}/`, { isOpen: true });
  }
  expect(octets()).toBeLessThan(16 * 1024 * 1024);
});

const typeA = 1;
const typeAaaa = 28;

/** A name server (RFC 1035) that answers each query of a type with the next of these addresses, then repeats the last one. */
async function startNameServer(records: Readonly<Record<number, (readonly string[])[]>>) {
  const asked: number[] = [];
  const socket = createSocket('udp4');
  socket.on('message', (query, { port, address }) => {
    const end = query.indexOf(0, 12) + 5;
    const type = query.readUInt16BE(end - 4);
    asked.push(type);
    const answers = records[type] ?? [];
    const addresses = (answers.length > 1 ? answers.shift() : answers[0]) ?? [];
    const header = Buffer.from(query.subarray(0, 12));
    header.writeUInt16BE(0x8180, 2);
    header.writeUInt16BE(addresses.length, 6);
    header.writeUInt32BE(0, 8);
    const told = addresses.map((each) => {
      const octets = type === typeA ? Buffer.from(each.split('.').map(Number)) : Buffer.from(each.replaceAll(':', ''), 'hex');
      const record = Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 0, 0, octets.length]);
      return Buffer.concat([record, octets]);
    });
    socket.send(Buffer.concat([header, query.subarray(12, end), ...told]), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  onTestFinished(() => void socket.close());
  const nameServer = () => {
    const resolver = new Resolver({ timeout: patience(1_000), tries: 1 });
    resolver.setServers([`127.0.0.1:${(socket.address() as AddressInfo).port}`]);
    return resolver;
  };
  return { nameServer, asked };
}

const loopbackOfIpv6 = `${'0000:'.repeat(7)}0001`;
/** Public Internet addresses where this port does not answer. */
const somewhere = '1.2.3.4';

test('N2: a name that is first public and then 127.0.0.1 is resolved once; the next try finds it private', async () => {
  const { port, count } = await startListener();
  const { nameServer, asked } = await startNameServer({ [typeA]: [[somewhere], ['127.0.0.1']] });
  const send = () => sendTo(`https://rebinding.example:${port}/`, { isOpen: false, nameServer, answerWithinMs: 500 });
  await expect(send()).rejects.toMatchObject(failed(false));
  expect(asked.toSorted()).toEqual([typeA, typeAaaa]);
  await expect(send()).rejects.toMatchObject({ ...failed(true), message: expect.stringContaining('private') });
  expect(count()).toBe(0);
});

test.each([
  ['one private address among public ones', { [typeA]: [[somewhere, '10.0.0.1']] }, true],
  ['a public address and the loopback of IPv6', { [typeA]: [[somewhere]], [typeAaaa]: [[loopbackOfIpv6]] }, true],
  ['no address', {}, false],
])('N2: a name with %s gets no connection', async (_what, records, isFinal) => {
  const { port, count } = await startListener();
  const { nameServer } = await startNameServer(records);
  await expect(sendTo(`https://mixed.example:${port}/`, { isOpen: false, nameServer })).rejects.toMatchObject(failed(isFinal));
  expect(count()).toBe(0);
});

test('N2: private addresses', () => {
  const ofThese = (addresses: string) => addresses.split(' ').map(isPrivateAddress);
  const bad =
    '0.0.0.0 10.0.0.1 100.64.0.1 127.0.0.1 169.254.169.254 172.31.255.255 192.168.1.1 198.18.0.1 224.0.0.1 255.255.255.255 :: ::1 fe80::1 fd12::1 ff02::1 ::ffff:10.0.0.1 ::ffff:8.8.8.8 64:ff9b::a00:1 2002:a00:1:: 2001:db8::1 2001::1 ::127.0.0.1 fec0::1 4000::1 example';
  expect(ofThese(bad)).not.toContain(false);
  expect(ofThese('8.8.8.8 1.1.1.1 172.32.0.1 192.167.0.1 2606:4700::1111 2a00:1450::1')).not.toContain(true);
});

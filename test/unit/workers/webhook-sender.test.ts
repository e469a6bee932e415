import { createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { isPrivateAddress } from '../../../src/shared/runtime/private-address.ts';
import { createWebhookSender } from '../../../src/workers/webhooks/sender.ts';

const webhook = (url: string) => ({ url, id: 'stamp_1', event: 'stamp.made', body: '{}' });
const senderOf = (isOpen: boolean) => createWebhookSender({ secrets: [Buffer.alloc(24)], isOpen, clock: Date.now, userAgent: 'test' });

/** What listens here and how many connections it got; `answer`: what it says to each. */
async function startListener(answer = '') {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.on('error', () => undefined).on('data', () => socket.write(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  return { port: typeof address === 'object' ? address?.port : 0, count: () => connections };
}

test.each(['localhost', '127.0.0.1', '[::1]', '[::ffff:127.0.0.1]', '2130706433'])(
  'N2: in production no connection is made to %s, by its name or its address, and it is not tried again',
  async (host) => {
    const { port, count } = await startListener();
    await expect(senderOf(false)(webhook(`https://${host}:${port}/`))).rejects.toMatchObject({ name: 'WebhookError', isFinal: true });
    expect(count()).toBe(0);
  },
);

test('N2: in production plain HTTP is not sent', async () => {
  await expect(senderOf(false)(webhook('http://192.0.2.1/'))).rejects.toMatchObject({ isFinal: true });
});

test.each([
  ['a redirection', 'HTTP/1.1 307 Go\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n', false],
  ['410', 'HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n', true],
  ['something that is no HTTP', 'SSH-2.0-x\r\n', false],
])('N3: %s is no success', async (_what, answer, isFinal) => {
  const { port } = await startListener(answer);
  await expect(senderOf(true)(webhook(`http://127.0.0.1:${port}/`))).rejects.toMatchObject({ name: 'WebhookError', isFinal });
});

test('N3: of a receiver that lies about its length, or never ends, only the status is read', async () => {
  for (const lie of ['Content-Length: 9999999999', 'Transfer-Encoding: chunked']) {
    const { port } = await startListener(`HTTP/1.1 204 OK\r\n${lie}\r\n\r\nffff`);
    await senderOf(true)(webhook(`http://127.0.0.1:${port}/`));
  }
});

test('N2: what is private', () => {
  const ofThese = (addresses: string) => addresses.split(' ').map(isPrivateAddress);
  const bad =
    '0.0.0.0 10.0.0.1 100.64.0.1 127.0.0.1 169.254.169.254 172.31.255.255 192.168.1.1 198.18.0.1 224.0.0.1 255.255.255.255 :: ::1 fe80::1 fd12::1 ff02::1 ::ffff:10.0.0.1 ::ffff:8.8.8.8 64:ff9b::a00:1 2002:a00:1:: 2001:db8::1 2001::1 example';
  expect(ofThese(bad)).not.toContain(false);
  expect(ofThese('8.8.8.8 1.1.1.1 172.32.0.1 192.167.0.1 2606:4700::1111 2a00:1450::1')).not.toContain(true);
});

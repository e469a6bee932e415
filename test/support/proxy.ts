import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { onTestFinished } from 'vitest';

/** Starts an HTTP proxy that finds every host on this machine, so names that nobody can resolve lead somewhere. `seen`: what it was asked for. */
export async function startProxy(): Promise<{ readonly url: string; readonly seen: string[] }> {
  const seen: string[] = [];
  const server = createServer((incoming, response) => {
    const { method = '', headers, url = '' } = incoming;
    const { host, port, pathname, search } = new URL(url);
    seen.push(`${method} ${host}`);
    const onward = request({ host: '127.0.0.1', port, path: `${pathname}${search}`, method, headers });
    onward.on('response', (answer) => answer.pipe(response.writeHead(answer.statusCode ?? 502, answer.headers)));
    incoming.pipe(onward.on('error', () => response.destroy()));
  });
  server.on('connect', ({ url = '' }, socket, head) => {
    seen.push(`CONNECT ${url}`);
    const onward = connect(Number(url.split(':').at(-1)), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      onward.write(head);
      onward.pipe(socket).pipe(onward);
    });
    for (const [one, other] of [
      [socket, onward],
      [onward, socket],
    ] as const)
      one.on('error', () => undefined).on('close', () => other.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

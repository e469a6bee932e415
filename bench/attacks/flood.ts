import { connect } from 'node:net';
import { serviceToken } from './service-under-attack.ts';

// flood.ts <url> <connections>: each connection requests stamps without a pause, even if the answers are errors.
const [url = '', connections] = process.argv.slice(2);
const { hostname, port } = new URL(url);
const body = JSON.stringify({ hash: 'a'.repeat(64) });
const request = `POST /api/v1/internal/v1/stamp HTTP/1.1\r\nhost: ${hostname}\r\ncontent-type: application/json\r\nx-service-token: ${serviceToken}\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
const answerHead = /^HTTP\/1\.1 \d{3}[\s\S]*?content-length: (\d+)/i;
const buffer = Buffer.alloc(64 * 1024);
const counts = { answers: 0 };

function attack(): void {
  let received = '';
  const take = (length: number): boolean => {
    received += buffer.toString('latin1', 0, length);
    const bodyAt = received.indexOf('\r\n\r\n') + 4;
    const parsed = bodyAt > 3 ? answerHead.exec(received) : null;
    if (!parsed || received.length < bodyAt + Number(parsed[1])) return true;
    counts.answers += 1;
    received = '';
    socket.write(request, 'latin1');
    return true;
  };
  const socket = connect({ port: Number(port), host: hostname, noDelay: true, onread: { buffer, callback: take } }, () =>
    socket.write(request, 'latin1'),
  );
  socket.on('error', () => undefined);
  socket.on('close', () => setImmediate(attack));
}

for (let index = 0; index < Number(connections); index += 1) attack();
process.send?.({});
process.on('SIGTERM', () => process.send?.({ answers: counts.answers }, () => process.exit()));

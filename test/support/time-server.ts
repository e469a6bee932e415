import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';

/** The answer of a time server; `undefined`: none. */
export interface TimeAnswer {
  /** How much its clock is ahead of ours. */
  readonly offsetMs?: number;
  /** Changes an answer before it leaves. */
  readonly bend?: (answer: Buffer) => Buffer;
}

export interface RunningTimeServer {
  /** For `ntp` of a clock. */
  readonly name: string;
  readonly port: number;
  readonly received: Buffer[];
  answer: TimeAnswer | undefined;
}

/** NTP timestamp (RFC 5905 §6) of a time in milliseconds since 1970. */
export function writeNtpTime(packet: Buffer, offset: number, timeMs: number): void {
  const seconds = Math.floor(timeMs / 1_000) + 2_208_988_800;
  packet.writeUInt32BE(seconds % 2 ** 32, offset);
  packet.writeUInt32BE(Math.floor(((timeMs / 1_000) % 1) * 2 ** 32), offset + 4);
}

/** A time server on UDP with given answers; it ends with the test. */
export async function startTimeServer(answer: TimeAnswer | undefined = {}): Promise<RunningTimeServer> {
  const socket = createSocket('udp4');
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const { port } = socket.address();
  const server: RunningTimeServer = { name: `127.0.0.1:${port}`, port, received: [], answer };
  socket.on('message', (request, from) => {
    server.received.push(request);
    if (server.answer === undefined) return;
    const { offsetMs = 0, bend = (one: Buffer) => one } = server.answer;
    const packet = Buffer.alloc(48);
    packet[0] = (4 << 3) | 4;
    packet[1] = 2; // stratum
    request.copy(packet, 24, 40, 48);
    writeNtpTime(packet, 32, Date.now() + offsetMs);
    writeNtpTime(packet, 40, Date.now() + offsetMs);
    socket.send(bend(packet), from.port, from.address);
  });
  onTestFinished(() => void socket.close());
  return server;
}

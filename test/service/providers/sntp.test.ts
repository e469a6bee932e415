import { expect, test } from 'vitest';
import { askTimeServer, systemTime } from '../../../src/workers/providers/key/clock-watch.ts';
import { startTimeServer, writeNtpTime } from '../../support/time-server.ts';

const ask = (port: number, host = '127.0.0.1', timeoutMs = 2_000) => askTimeServer({ name: 'it', host, port }, systemTime, timeoutMs);

test.each([0, 1_234, -90_000, 40 * 365 * 86_400_000])(
  'RFC 4330 §5: a time server that is %d ms ahead is measured correctly',
  async (offsetMs) => {
    const { port } = await startTimeServer({ offsetMs });
    const { offsetMs: found, delayMs } = await ask(port);
    // RFC 4330 §5: the error is at most half of the round trip; clocks here have whole milliseconds.
    expect(Math.abs(found - offsetMs)).toBeLessThanOrEqual(delayMs / 2 + 2);
  },
);

test('RFC 4330 §5: the request is version 4 from a client, and does not reveal our clock', async () => {
  const { port, received } = await startTimeServer();
  await ask(port);
  await ask(port);
  for (const request of received) {
    expect(request).toHaveLength(48);
    expect(request[0]).toBe(0x23);
    expect(request.subarray(1, 40).equals(Buffer.alloc(39))).toBe(true);
  }
  expect(received[0]!.subarray(40).equals(received[1]!.subarray(40))).toBe(false);
});

const bent = (change: (answer: Buffer) => void) => (answer: Buffer) => {
  change(answer);
  return answer;
};
test.each<[string, (answer: Buffer) => Buffer, RegExp]>([
  ['of another mode', bent((answer) => (answer[0] = (4 << 3) | 3)), /does not answer as a time server/],
  ['of version 0', bent((answer) => (answer[0] = 4)), /does not answer as a time server/],
  ['that says its clock is not synchronized', bent((answer) => (answer[0] = (3 << 6) | (4 << 3) | 4)), /not synchronized/],
  ['of stratum 16', bent((answer) => (answer[1] = 16)), /not synchronized/],
  ['of a kiss of death', bent((answer) => answer.fill(0, 1, 2).write('DENY', 12)), /asks clients to stop \(DENY\)/],
  ['far from its own source', bent((answer) => answer.writeUInt32BE(0x10000, 8)), /more than a second from its own source/],
  ['without a time', bent((answer) => answer.fill(0, 40, 48)), /no time/],
])('RFC 4330 §5, §8: an answer %s is refused', async (_, bend, expected) => {
  const { port } = await startTimeServer({ bend });
  await expect(ask(port)).rejects.toThrow(expected);
});

test.each<[string, (answer: Buffer) => Buffer]>([
  ['to another request', bent((answer) => answer.writeUInt8(answer[31]! ^ 1, 31))],
  ['cut short', (answer) => answer.subarray(0, 47)],
])('RFC 4330 §5: an answer %s is ignored', async (_, bend) => {
  const { port } = await startTimeServer({ bend });
  await expect(ask(port, '127.0.0.1', 200)).rejects.toThrow('it does not answer');
});

test('a server that is silent, absent or without an address gives an error in time', async () => {
  const silent = await startTimeServer();
  silent.answer = undefined;
  await expect(ask(silent.port, '127.0.0.1', 100)).rejects.toThrow('it does not answer');
  await expect(ask(1)).rejects.toThrow(/it cannot be reached|it does not answer/);
  await expect(ask(123, 'nobody.invalid')).rejects.toThrow('it cannot be reached');
});

test('RFC 4330 §3: a time after 2036, when the seconds start again, is read correctly', async () => {
  const { port } = await startTimeServer({
    bend: bent((answer) => {
      writeNtpTime(answer, 32, Date.UTC(2036, 1, 8));
      writeNtpTime(answer, 40, Date.UTC(2036, 1, 8));
    }),
  });
  const before = Date.now();
  const { offsetMs } = await ask(port);
  expect(Date.UTC(2036, 1, 8) - offsetMs).toBeGreaterThanOrEqual(before - 2);
  expect(Date.UTC(2036, 1, 8) - offsetMs).toBeLessThanOrEqual(Date.now() + 2);
});

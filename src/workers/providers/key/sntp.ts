import { randomBytes } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import type { TimeServer } from '../../../shared/trust/key-entry.ts';
import type { LocalTime } from './local-time.ts';

/** The answer of a time server: how far its clock is ahead of ours, and the round-trip delay. */
export interface TimeReading {
  readonly offsetMs: number;
  readonly delayMs: number;
}

/** A time server does not answer, or its answer has no valid time. */
export class TimeServerError extends Error {
  override readonly name = 'TimeServerError';
  /** The server asks clients to stop (kiss-o'-death, RFC 4330 §8). */
  readonly isUnwelcome: boolean;

  constructor(detail: string, options: ErrorOptions & { isUnwelcome?: boolean } = {}) {
    super(detail, options);
    this.isUnwelcome = options.isUnwelcome ?? false;
  }
}

const packetBytes = 48;
/** From 1900, when NTP's time begins, to 1970. */
const epochDifferenceMs = 2_208_988_800_000;
const eraMs = 2 ** 32 * 1_000;

/** Reads a 64-bit NTP timestamp, in the era closest to our clock (RFC 4330 §3). Returns milliseconds since 1970. */
function timestampAt(packet: Buffer, offset: number, nearMs: number): number {
  const inEra = packet.readUInt32BE(offset) * 1_000 + (packet.readUInt32BE(offset + 4) / 2 ** 32) * 1_000 - epochDifferenceMs;
  return inEra + Math.round((nearMs - inEra) / eraMs) * eraMs;
}

/** @throws TimeServerError if an answer has no valid time (RFC 4330 §5) */
function checkAnswer(answer: Buffer): void {
  const refuse = (detail: string, isUnwelcome = false): never => {
    throw new TimeServerError(detail, { isUnwelcome });
  };
  const [first = 0, stratum = 0] = answer;
  const version = (first >> 3) & 7;
  if ((first & 7) !== 4 || version < 1 || version > 4) refuse('it does not answer as a time server');
  if (stratum === 0) refuse(`it asks clients to stop (${answer.toString('latin1', 12, 16).replace(/[^A-Z]/g, '')})`, true);
  if (first >> 6 === 3 || stratum > 15) refuse('it is not synchronized');
  if (answer.readUInt32BE(4) >= 0x10000 || answer.readUInt32BE(8) >= 0x10000) refuse('it is more than a second from its own source');
  if (answer.readBigUInt64BE(40) === 0n) refuse('its answer has no time');
}

async function connected(socket: Socket, address: string, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject);
    socket.connect(port, address, () => {
      socket.off('error', reject);
      resolve();
    });
  });
}

/**
 * Asks a time server once (SNTP version 4, RFC 4330 §5). The request does not reveal our clock: instead of the time it contains a random number. Only
 * the server that received the request can repeat it. No npm package did both this and the checks of the answer.
 *
 * @throws TimeServerError
 */
export async function askTimeServer({ host, port }: TimeServer, time: LocalTime, timeoutMs: number): Promise<TimeReading> {
  const { promise, resolve, reject } = Promise.withResolvers<TimeReading>();
  const timer = setTimeout(() => reject(new TimeServerError('it does not answer')), timeoutMs);
  let isOver = false;
  let socket: Socket | undefined;
  const ask = async () => {
    const { address, family } = await lookup(host);
    if (isOver) return;
    socket = createSocket(family === 6 ? 'udp6' : 'udp4');
    await connected(socket, address, port);
    const request = Buffer.alloc(packetBytes);
    request[0] = (4 << 3) | 3; // version 4, client
    const cookie = randomBytes(8);
    cookie.copy(request, 40);
    const sentAt = time.steady();
    socket.on('error', reject);
    socket.on('message', (answer) => {
      const tookMs = time.steady() - sentAt;
      const nowMs = time.wall();
      if (answer.length < packetBytes || !answer.subarray(24, 32).equals(cookie)) return; // Not from the server that we asked.
      try {
        checkAnswer(answer);
      } catch (error) {
        return reject(error);
      }
      const [receivedMs, transmittedMs] = [timestampAt(answer, 32, nowMs), timestampAt(answer, 40, nowMs)];
      // The time of sending (T1) is computed with the steady clock, so that a change of the wall clock does not count as delay.
      const offsetMs = (receivedMs - (nowMs - tookMs) + (transmittedMs - nowMs)) / 2;
      resolve({ offsetMs, delayMs: tookMs - (transmittedMs - receivedMs) });
    });
    socket.send(request);
  };
  ask().catch(reject);
  try {
    return await promise;
  } catch (error) {
    if (error instanceof TimeServerError) throw error;
    throw new TimeServerError('it cannot be reached', { cause: error });
  } finally {
    isOver = true;
    clearTimeout(timer);
    socket?.close();
  }
}

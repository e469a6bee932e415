import { randomBytes } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { on, once } from 'node:events';
import type { ClockState } from '../../../shared/domain/service-state.ts';
import type { Logger } from '../../../shared/runtime/log.ts';
import { type Clock, TooLateError, within } from '../../../shared/runtime/timers.ts';
import type { TimeServer } from '../../../shared/trust/providers-file.ts';
import { TimeUnavailableError } from '../provider.ts';

/**
 * Time servers are asked at this interval, and at the shorter one below if a server did not answer or the clock is not confirmed (RFC 4330 §10: never
 * below 15 s).
 */
const askEveryMs = 64_000;
const askAgainMs = 16_000;
const answerWithinMs = 2_000;
/** How long a measurement of the clock is valid. Between measurements the steady clock is used; it drifts less than 0.4 s in this time. */
const opinionLivesMs = 3_600_000;
/** How long a time server is not asked after it sent a kiss-o'-death packet. */
const unwelcomeMs = 3_600_000;

/** The time in the verified answer of a TSA; all in milliseconds. */
export interface TsaTime {
  readonly name: string;
  readonly genTimeMs: number;
  readonly uncertaintyMs: number;
  readonly sentAtMs: number;
  readonly receivedAtMs: number;
}

/** Shows whether the clock of this machine is reliable. */
export interface ClockWatch {
  /**
   * Waits for the first answers of the time servers, if there are none yet.
   *
   * @throws TimeUnavailableError if the clock is not confirmed
   */
  confirm(): Promise<void>;
  noteTsaTime(answer: TsaTime): void;
  /** `driftMs`: how far our clock is ahead of the others; null if none of them gives a usable time. */
  read(): { readonly state: ClockState; readonly driftMs: number | null };
  close(): void;
}

export const uncheckedClock: ClockWatch = {
  confirm: async () => undefined,
  noteTsaTime: () => undefined,
  read: () => ({ state: 'unchecked', driftMs: null }),
  close: () => undefined,
};

interface Opinion {
  /** The time of the source minus our steady clock. It stays the same if the machine's clock is changed. */
  readonly trueMinusSteadyMs: number;
  readonly uncertaintyMs: number;
  readonly steadyAtMs: number;
}

function medianOf(values: readonly number[]): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted.length === 0 ? null : (sorted[(sorted.length - 1) >> 1]! + sorted[sorted.length >> 1]!) / 2;
}

/**
 * Compares the clock of this machine with time servers and other TSAs. Each of these sources has one vote: the drift is within `maxDriftMs` or beyond
 * it. A source does not vote if its uncertainty makes both possible. The clock is confirmed while more votes say within than beyond; without votes it
 * is not confirmed.
 */
export function watchClock(options: {
  provider: string;
  servers: readonly TimeServer[];
  maxDriftMs: number;
  time: LocalTime;
  askServer: (server: TimeServer, timeoutMs: number) => Promise<TimeReading>;
  log: Logger;
}): ClockWatch {
  const { provider, servers, maxDriftMs, time, askServer, log } = options;
  const opinions = new Map<string, Opinion>();
  const unwelcomeUntilMs = new Map<string, number>();
  let loggedState: ClockState | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  const note = (name: string, offsetMs: number, uncertaintyMs: number) => {
    const steadyAtMs = time.steady();
    opinions.set(name, { trueMinusSteadyMs: time.wall() + offsetMs - steadyAtMs, uncertaintyMs, steadyAtMs });
  };

  const read: ClockWatch['read'] = () => {
    const [steadyMs, wallMs] = [time.steady(), time.wall()];
    const fresh = [...opinions.values()].filter(({ steadyAtMs }) => steadyMs - steadyAtMs < opinionLivesMs);
    const said = fresh.flatMap(({ trueMinusSteadyMs, uncertaintyMs }) => {
      const driftMs = wallMs - steadyMs - trueMinusSteadyMs;
      const isBeyond = Math.abs(driftMs) > maxDriftMs + uncertaintyMs;
      const isWithin = Math.abs(driftMs) + uncertaintyMs <= maxDriftMs;
      return isBeyond || isWithin ? [{ driftMs, isBeyond }] : [];
    });
    const within = said.filter(({ isBeyond }) => !isBeyond).length;
    const state = said.length === 0 ? 'unknown' : 2 * within > said.length ? 'ok' : 'off';
    return { state, driftMs: medianOf(said.map(({ driftMs }) => driftMs)) };
  };

  const logChange = () => {
    const { state, driftMs } = read();
    if (state === loggedState) return;
    loggedState = state;
    const logFields = { provider, clock: state, driftMs, maxDriftMs };
    if (state === 'ok') log.info(logFields, 'the clock is confirmed');
    else
      log.error({ ...logFields, outcome: 'failed', code: 'time_not_available' }, 'the clock is not confirmed: no time-stamps are issued');
  };

  const askOne = async (server: TimeServer): Promise<boolean> => {
    if (time.steady() < (unwelcomeUntilMs.get(server.name) ?? Number.NEGATIVE_INFINITY)) return true;
    try {
      const { offsetMs, delayMs } = await askServer(server, answerWithinMs);
      if (delayMs > 2 * maxDriftMs) throw new TimeServerError(`its answer took ${Math.round(delayMs)} ms, which is too imprecise`);
      // Half the delay is the uncertainty: perhaps only one of the two directions was slow (RFC 5905 §8).
      note(server.name, offsetMs, Math.max(0, delayMs) / 2);
      return true;
    } catch (error) {
      if (!(error instanceof TimeServerError)) throw error;
      log.warn({ provider, server: server.name, err: error }, `time server ${server.name}: ${error.message}`);
      if (error.isUnwelcome) unwelcomeUntilMs.set(server.name, time.steady() + unwelcomeMs);
      return false;
    }
  };

  const askAll = async (): Promise<void> => {
    const haveAnswered = await Promise.all(servers.map(askOne));
    if (isClosed) return;
    logChange();
    const isWell = loggedState === 'ok' && haveAnswered.every(Boolean);
    timer = setTimeout(() => void askAll(), isWell ? askEveryMs : askAgainMs).unref();
  };
  let firstAnswers: Promise<void> | undefined = askAll().finally(() => {
    firstAnswers = undefined;
  });

  return {
    confirm: async () => {
      if (firstAnswers) await firstAnswers;
      const { state, driftMs } = read();
      if (state === 'ok') return;
      logChange();
      const why = state === 'unknown' ? 'no source has confirmed the clock' : `the clock is off by ${Math.round(driftMs ?? 0)} ms`;
      throw new TimeUnavailableError(`${why}; ${maxDriftMs} ms are allowed`);
    },
    noteTsaTime: ({ name, genTimeMs, uncertaintyMs, sentAtMs, receivedAtMs }) => {
      note(name, genTimeMs - (sentAtMs + receivedAtMs) / 2, uncertaintyMs + (receivedAtMs - sentAtMs) / 2);
      logChange();
    },
    read,
    close: () => {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}

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

  constructor(detail: string, { isUnwelcome = false, ...options }: ErrorOptions & { isUnwelcome?: boolean } = {}) {
    super(detail, options);
    this.isUnwelcome = isUnwelcome;
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

/**
 * Asks a time server once (SNTP version 4, RFC 4330 §5). The request does not reveal our clock: instead of the time it contains a random number. Only
 * the server that received the request can repeat it. No npm package did both this and the checks of the answer.
 *
 * @throws TimeServerError
 */
export async function askTimeServer(server: TimeServer, time: LocalTime, timeoutMs: number): Promise<TimeReading> {
  const ending = new AbortController();
  try {
    return await within(timeoutMs, () => exchange(server, time, ending.signal));
  } catch (cause) {
    if (cause instanceof TimeServerError) throw cause;
    throw new TimeServerError(cause instanceof TooLateError ? 'it does not answer' : 'it cannot be reached', { cause });
  } finally {
    ending.abort();
  }
}

async function exchange({ host, port }: TimeServer, time: LocalTime, signal: AbortSignal): Promise<TimeReading> {
  const { address, family } = await lookup(host);
  signal.throwIfAborted();
  const socket = createSocket({ type: family === 6 ? 'udp6' : 'udp4', signal });
  socket.connect(port, address);
  await once(socket, 'connect', { signal });
  const cookie = randomBytes(8);
  // Version 4, client; the random number is in the place of the time.
  const request = Buffer.concat([Buffer.from([(4 << 3) | 3]), Buffer.alloc(packetBytes - 9), cookie]);
  const sentAt = time.steady();
  socket.send(request);
  for await (const [answer] of on(socket, 'message', { signal }) as AsyncIterable<[Buffer]>) {
    const tookMs = time.steady() - sentAt;
    const nowMs = time.wall();
    // Otherwise it is not from the server that we asked.
    if (answer.length < packetBytes || !answer.subarray(24, 32).equals(cookie)) continue;
    checkAnswer(answer);
    const [receivedMs, transmittedMs] = [timestampAt(answer, 32, nowMs), timestampAt(answer, 40, nowMs)];
    // The time of sending (T1) is computed with the steady clock, so that a change of the wall clock does not count as delay.
    const offsetMs = (receivedMs - (nowMs - tookMs) + (transmittedMs - nowMs)) / 2;
    return { offsetMs, delayMs: tookMs - (transmittedMs - receivedMs) };
  }
  throw new TimeServerError('it does not answer');
}

/** Two clocks of this machine, both in milliseconds, with fractions. */
export interface LocalTime {
  /** Time since 1970. Someone can set this clock. */
  readonly wall: Clock;
  /** Time since an unspecified moment. Nobody can set this clock. */
  readonly steady: Clock;
}

export const systemTime: LocalTime = { wall: Date.now, steady: () => performance.now() };

import type { ClockState } from '../../../shared/domain/service-state.ts';
import type { Logger } from '../../../shared/runtime/log.ts';
import type { TimeServer } from '../../../shared/trust/key-entry.ts';
import { TimeUnavailableError } from '../provider.ts';
import type { LocalTime } from './local-time.ts';
import { type TimeReading, TimeServerError } from './sntp.ts';

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
export interface SecondOpinion {
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
  heard(opinion: SecondOpinion): void;
  /** `driftMs`: how far our clock is ahead of the others; null if none of them gives a usable time. */
  read(): { readonly state: ClockState; readonly driftMs: number | null };
  close(): void;
}

export const uncheckedClock: ClockWatch = {
  confirm: async () => undefined,
  heard: () => undefined,
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
  let told: ClockState | undefined;
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

  const tell = () => {
    const { state, driftMs } = read();
    if (state === told) return;
    told = state;
    const said = { provider, clock: state, driftMs, maxDriftMs };
    if (state === 'ok') log.info(said, 'the clock is confirmed');
    else log.error({ ...said, outcome: 'failed', code: 'time_not_available' }, 'the clock is not confirmed: no time-stamps are issued');
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
    tell();
    const isWell = told === 'ok' && haveAnswered.every(Boolean);
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
      tell();
      const why = state === 'unknown' ? 'no source has confirmed the clock' : `the clock is off by ${Math.round(driftMs ?? 0)} ms`;
      throw new TimeUnavailableError(`${why}; ${maxDriftMs} ms are allowed`);
    },
    heard: ({ name, genTimeMs, uncertaintyMs, sentAtMs, receivedAtMs }) => {
      note(name, genTimeMs - (sentAtMs + receivedAtMs) / 2, uncertaintyMs + (receivedAtMs - sentAtMs) / 2);
      tell();
    },
    read,
    close: () => {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TsaProfile } from '../../src/shared/rfc3161/index.ts';
import { issueResponse } from '../../src/shared/rfc3161/index.ts';
import { randomSerial } from '../../src/shared/runtime/random-octets.ts';
import type { Clock } from '../../src/shared/runtime/timers.ts';
import type { Pki } from '../../src/tsa/pki.ts';
import { createTsaServer, profileOf, REPLY_TYPE, send, type TsaServer } from '../../src/tsa/server.ts';
import type { Fault } from './tsa-answers.ts';
import { issueResponseWith } from './tsa-seams.ts';

/** A received request, for tests that check a client. */
export interface ReceivedQuery {
  method: string;
  url: string;
  headers: IncomingMessage['headers'];
  body: Buffer;
}

export interface FaultyTsaServer extends TsaServer {
  /** Each of the next requests gets one of these faults, in this order. */
  failNext(...faults: readonly Fault[]): void;
  /** Every request gets this fault. Undefined ends this. */
  failAlways(fault: Fault | undefined): void;
  /** The received requests, oldest first. */
  readonly received: readonly ReceivedQuery[];
}

interface FaultyTsaOptions {
  pki: Pki;
  clock: Clock;
  /** Replaces parts of the development TSA's usual profile. */
  profile?: Partial<TsaProfile>;
}

/** The development TSA with faults on demand. */
export function createFaultyTsaServer(options: FaultyTsaOptions): FaultyTsaServer {
  const profile = { ...profileOf(options.pki), ...options.profile };
  const queue: Fault[] = [];
  let always: Fault | undefined;
  const received: ReceivedQuery[] = [];

  const tsa = createTsaServer((query, response, request) => {
    const { method = '', url = '/', headers } = request;
    received.push({ method, url, headers, body: query });
    const fault = queue.shift() ?? always;
    const nowMs = options.clock();
    const signing = { ...profile, identity: fault?.identity?.(options.pki, nowMs) ?? profile.identity };
    const moment = { timeMs: nowMs + (fault?.shiftMs ?? 0), serial: randomSerial() };
    const issued = fault?.seams ? issueResponseWith(fault.seams, signing, query, moment) : issueResponse(signing, query, moment);
    const der = fault?.bend?.(issued) ?? issued;
    const sendAnswer = () => send(response, 200, REPLY_TYPE, der);
    if (fault?.send === undefined) sendAnswer();
    else fault.send({ response, answer: der, sendAnswer, later: (delayMs, step) => later(response, delayMs, step) });
  });

  return {
    ...tsa,
    failNext: (...faults) => void queue.push(...faults),
    failAlways: (fault) => {
      always = fault;
    },
    received,
  };
}

function later(response: ServerResponse, delayMs: number, step: () => void): void {
  const timer = setTimeout(() => {
    response.off('close', cancel);
    step();
  }, delayMs);
  const cancel = () => clearTimeout(timer);
  response.once('close', cancel);
}

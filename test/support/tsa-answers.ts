import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { der, PKI_STATUS, type SigningIdentity } from '../../src/shared/rfc3161/index.ts';
import { PKI_FAILURE } from '../../src/shared/rfc3161/tsp/response.ts';
import { REPLY_TYPE } from '../../src/tsa/server.ts';
import { issueSigner, type Pki } from './certificates.ts';
import type { Seams } from './tsa-seams.ts';

/** A fault in one answer of a TSA: in the token, in the bytes, or in the transmission. */
export interface Fault {
  /** Changes the token while it is made. */
  seams?: Seams;
  /** Signs with another identity. */
  identity?: (pki: Pki, nowMs: number) => SigningIdentity;
  /** Added to the time of the clock. */
  shiftMs?: number;
  /** Changes the finished DER. */
  bend?: (answer: Buffer) => Buffer;
  /** Sends the answer, or something instead of it. */
  send?: (exchange: Exchange) => void;
}

export interface Exchange {
  response: ServerResponse;
  /** DER of the TimeStampResp. */
  answer: Buffer;
  /** Sends the answer as a working TSA does. */
  sendAnswer(): void;
  /** Runs `step` later, unless the client has closed the connection before. */
  later(delayMs: number, step: () => void): void;
}

const DAY_MS = 24 * 3600 * 1000;
const OVERSIZE_OCTETS = 1024 * 1024;
const HTML = '<!doctype html><title>Welcome</title><h1>It works!</h1>\n';

type MakeFault = (argument: string | undefined) => Fault;

/** Reads `argument` as a whole number, for example 500 in `slow:500`. */
function wholeNumber(argument: string | undefined, fallback: number): number {
  if (argument === undefined) return fallback;
  if (!/^\d{1,9}$/.test(argument)) throw new RangeError(`takes a whole number, got "${argument}"`);
  return Number(argument);
}

function instead(status: number, headers: Record<string, string>, body: string): Fault {
  return { send: ({ response }) => void response.writeHead(status, headers).end(body) };
}

const makers = {
  // Faults in the transmission.
  slow: (delayMs) => {
    const wait = wholeNumber(delayMs, 1000);
    return { send: ({ later, sendAnswer }) => later(wait, sendAnswer) };
  },
  hang: () => ({ send: () => undefined }),
  /** Sends the head at once, then one byte every `argument` ms, so that a timeout for each single read never ends it. */
  drip: (intervalMs) => {
    const interval = wholeNumber(intervalMs, 50);
    return {
      send: ({ response, answer, later }) => {
        response.writeHead(200, { 'content-type': REPLY_TYPE, 'content-length': answer.length });
        const drop = (offset: number): void => {
          if (offset === answer.length) return void response.end();
          response.write(answer.subarray(offset, offset + 1));
          later(interval, () => drop(offset + 1));
        };
        drop(0);
      },
    };
  },
  /** Announces the length of the answer, sends half of it, and closes the connection. */
  cut: () => ({
    send: ({ response, answer }) => {
      response.writeHead(200, { 'content-type': REPLY_TYPE, 'content-length': answer.length });
      response.write(answer.subarray(0, answer.length >> 1), () => response.socket?.destroy());
    },
  }),
  reset: () => ({ send: ({ response }) => void response.socket?.resetAndDestroy() }),
  status: (code) => instead(wholeNumber(code, 500), { 'content-type': 'text/plain' }, 'Something went wrong.\n'),
  retry_after: (seconds) =>
    instead(429, { 'content-type': 'text/plain', 'retry-after': String(wholeNumber(seconds, 1)) }, 'Too many requests.\n'),
  redirect: () => instead(302, { location: '/' }, ''),
  html: () => instead(200, { 'content-type': 'text/html' }, HTML),
  content_type: (type) => ({
    send: ({ response, answer }) => void response.writeHead(200, { 'content-type': type ?? 'application/octet-stream' }).end(answer),
  }),
  empty: () => instead(200, { 'content-type': REPLY_TYPE }, ''),
  /** Never stops sending. */
  endless: () => ({
    send: ({ response }) => {
      response.writeHead(200, { 'content-type': REPLY_TYPE });
      const chunk = Buffer.alloc(16 * 1024);
      const pour = () => {
        while (!response.destroyed && response.write(chunk));
      };
      response.on('drain', pour);
      pour();
    },
  }),

  // Faults in the bytes of the answer.
  truncated: () => ({ bend: (answer) => answer.subarray(0, answer.length - 10) }),
  trailing: () => ({ bend: (answer) => Buffer.concat([answer, Buffer.from([0x05, 0x00])]) }),

  // Faults in the TimeStampResp.
  granted_with_mods: () => ({ seams: { response: (parts) => ({ ...parts, status: PKI_STATUS.grantedWithMods }) } }),
  rejected: () => ({
    seams: { response: () => ({ status: PKI_STATUS.rejection, statusText: 'Not today.', failInfo: [PKI_FAILURE.systemFailure] }) },
  }),
  /** Refuses the request. `argument` is the name of a PKIFailureInfo bit. */
  refused: (failure = 'badAlg') => {
    const bit = Object.entries(PKI_FAILURE).find(([name]) => name === failure)?.[1];
    if (bit === undefined) throw new RangeError(`takes a name of PKIFailureInfo, got "${failure}"`);
    return { seams: { response: () => ({ status: PKI_STATUS.rejection, failInfo: [bit] }) } };
  },
  rejected_with_token: () => ({ seams: { response: (parts) => ({ ...parts, status: PKI_STATUS.rejection }) } }),
  granted_without_token: () => ({ seams: { response: () => ({ status: PKI_STATUS.granted }) } }),

  // Faults in a token that is otherwise valid and signed.
  /** The token is correct except for its size: an unsigned attribute has one megabyte. */
  oversized: () => ({
    seams: {
      signer: (signer) => ({
        ...signer,
        unsignedAttributes: [{ type: '2.999.3161.9', values: [der.octetString(Buffer.alloc(OVERSIZE_OCTETS))] }],
      }),
    },
  }),
  stale_nonce: () => ({ seams: { fields: (fields) => ({ ...fields, nonce: (fields.nonce ?? 0n) + 1n }) } }),
  no_nonce: () => ({ seams: { fields: (fields) => ({ ...fields, nonce: undefined }) } }),
  other_imprint: () => ({
    seams: {
      fields: (fields) => ({
        ...fields,
        imprint: {
          ...fields.imprint,
          digest: createHash('sha512').update(fields.imprint.digest).digest().subarray(0, fields.imprint.digest.length),
        },
      }),
    },
  }),
  /** The token's genTime is `argument` seconds in the past. */
  past: (seconds) => ({ shiftMs: wholeNumber(seconds, 3600) * -1000 }),
  future: (seconds) => ({ shiftMs: wholeNumber(seconds, 3600) * 1000 }),
  /** The signer's certificate expired yesterday. */
  expired: () => ({
    identity: (pki, nowMs) => issueSigner(pki.intermediate, { nowMs, notBeforeMs: nowMs - 30 * DAY_MS, notAfterMs: nowMs - DAY_MS }),
  }),
  bad_signature: () => ({ seams: { signer: (signer) => ({ ...signer, signature: flipLastBit(signer.signature) }) } }),
} satisfies Record<string, MakeFault>;

export type FaultName = keyof typeof makers;

/**
 * Creates a fault by name, with an optional argument after a colon: `hang`, `slow:500`, `status:503`, `retry_after:2`.
 *
 * @throws RangeError for an unknown name or argument
 */
export function createFault(text: FaultName | `${FaultName}:${string}` | (string & {})): Fault {
  const colon = text.indexOf(':');
  const name = colon === -1 ? text : text.slice(0, colon);
  const make: MakeFault | undefined = Object.hasOwn(makers, name) ? makers[name as FaultName] : undefined;
  if (make === undefined) throw new RangeError(`no fault is named "${name}"; there are ${Object.keys(makers).join(', ')}`);
  return make(colon === -1 ? undefined : text.slice(colon + 1));
}

function flipLastBit(bytes: Buffer): Buffer {
  const out = Buffer.from(bytes);
  out[out.length - 1]! ^= 1;
  return out;
}

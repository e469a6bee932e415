import { createHash, randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import { parseDer } from '../../src/shared/rfc3161/asn1/der.ts';
import { namedBitsOf, smallIntegerOf } from '../../src/shared/rfc3161/asn1/der-values.ts';
import { failureName, PKI_STATUS, statusName } from '../../src/shared/rfc3161/tsp/response.ts';
import { eventually } from './requests.ts';
import type { RunningService } from './service.ts';

export const randomDigest = (hash: 'sha256' | 'sha384' | 'sha512'): Buffer => createHash(hash).update(randomBytes(16)).digest();

/** The PEM from the door; a worker reports the certificates within two seconds of its first answer. */
export async function certificateChain(service: RunningService, path: string): Promise<string> {
  await eventually(async () => (await service.fetch(path)).status === 200);
  const response = await service.fetch(path);
  expect(response.headers.get('content-type')).toBe('application/pem-certificate-chain');
  return response.text();
}

export interface DoorReply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Buffer;
}

/** POSTs to the RFC 3161 door like a time-stamp client. */
export async function postToDoor(
  service: RunningService,
  body: Uint8Array | string,
  options: { path?: string; headers?: Record<string, string> } = {},
): Promise<DoorReply> {
  const response = await service.fetch(options.path ?? '/api/v1/tsa', {
    method: 'POST',
    headers: { 'content-type': 'application/timestamp-query', ...options.headers },
    body: typeof body === 'string' ? body : Buffer.from(body),
  });
  return { status: response.status, headers: response.headers, body: Buffer.from(await response.arrayBuffer()) };
}

/** The PKIStatus of a TimeStampResp, and its PKIFailureInfo if present. */
export function statusOf(reply: DoorReply): string {
  if (reply.headers.get('content-type') !== 'application/timestamp-reply') return `no TimeStampResp, but ${reply.status} ${reply.body}`;
  const [info, token] = parseDer(reply.body).children;
  const [status, ...others] = info!.children;
  const failures = others.filter(({ tag }) => tag === 0x03).flatMap((bits) => [...namedBitsOf(bits, 'failInfo')].map(failureName));
  const number = smallIntegerOf(status!);
  const isContradictory = (token !== undefined) !== (number === PKI_STATUS.granted);
  return [statusName(number), ...failures, ...(isContradictory ? ['with a token that should not be there, or without one'] : [])].join(' ');
}

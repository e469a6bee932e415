import { parseDer } from '../../src/shared/rfc3161/asn1/der.ts';
import { namedBitsOf, smallIntegerOf } from '../../src/shared/rfc3161/asn1/der-values.ts';
import { failureName, PKI_STATUS, statusName } from '../../src/shared/rfc3161/tsp/pki-status.ts';
import type { Service } from './service.ts';

export interface DoorReply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Buffer;
}

/** POSTs to the RFC 3161 door, as a client of its own kind would. */
export async function postToDoor(
  service: Service,
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

/** What a TimeStampResp says of itself: its PKIStatus, and its PKIFailureInfo where it has one. */
export function statusOf(reply: DoorReply): string {
  if (reply.headers.get('content-type') !== 'application/timestamp-reply') return `no TimeStampResp, but ${reply.status} ${reply.body}`;
  const [info, token] = parseDer(reply.body).children;
  const [status, ...others] = info!.children;
  const failures = others.filter(({ tag }) => tag === 0x03).flatMap((bits) => [...namedBitsOf(bits, 'failInfo')].map(failureName));
  const number = smallIntegerOf(status!);
  const isContradictory = (token !== undefined) !== (number === PKI_STATUS.granted);
  return [statusName(number), ...failures, ...(isContradictory ? ['with a token that should not be there, or without one'] : [])].join(' ');
}

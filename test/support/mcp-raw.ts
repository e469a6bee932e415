import { once } from 'node:events';
import { connect } from 'node:net';
import { expect } from 'vitest';
import { rpc } from './mcp.ts';
import { answerOn, postHead, type RawAnswer } from './raw-http.ts';
import { randomHash } from './requests.ts';
import { serviceToken } from './service.ts';

export const jsonType = { 'content-type': 'application/json' };
export const withToken = { ...jsonType, 'x-service-token': serviceToken };

/** These octets on a socket of their own to the service at `url`, and the answer to them. */
export async function exchange(url: string, request: string | Buffer): Promise<RawAnswer> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  try {
    await once(socket, 'connect');
    socket.write(request);
    return await answerOn(socket);
  } finally {
    socket.destroy();
  }
}

/** Sends a body to `/mcp` of the service at `url`: octets and text as they are, anything else as JSON. */
export function postMcp(url: string, body: unknown, headers: Record<string, string> = jsonType): Promise<RawAnswer> {
  const octets = Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  return exchange(url, Buffer.concat([Buffer.from(postHead('/mcp', { ...headers, 'content-length': octets.length })), octets]));
}

/** The JSON-RPC error of an answer, with the id it is for and the HTTP status. */
export const faultOf = ({ status, body }: RawAnswer): unknown => {
  const { jsonrpc, id, error } = JSON.parse(body) as { jsonrpc: string; id: unknown; error: { code: number; message: string } };
  expect(jsonrpc).toBe('2.0');
  expect(error.message).toMatch(/^\S.{3,}/);
  return { status, id, code: error.code };
};

export const stampCall = (id: unknown = 1) =>
  rpc('tools/call', { name: 'service_stamp_hash', arguments: { sha256_hex: randomHash() } }, id);

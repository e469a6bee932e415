import type { Fault } from '../server/outcome.ts';

/**
 * The error codes of JSON-RPC 2.0 §5.1; our own code for a missing token (M7); and the codes of the Model Context Protocol of 2026-07-28.
 */
export const rpcErrors = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  unauthorized: -32000,
  headerMismatch: -32020,
  unsupportedVersion: -32022,
} as const;

export type RpcErrorCode = (typeof rpcErrors)[keyof typeof rpcErrors];
export type RpcId = string | number | null;

/** A fault that is answered with a JSON-RPC error. The client sees `message`: one sentence without internal details. */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly code: RpcErrorCode;
  readonly data: Readonly<Record<string, unknown>> | undefined;

  constructor(code: RpcErrorCode, message: string, data?: Readonly<Record<string, unknown>>) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** Turns an RpcError into a fault for the log and the metrics. Its code is `data.code` if there is one, otherwise the name in `rpcErrors`. */
export function rpcFault({ code, data }: RpcError): Fault {
  const name = Object.entries(rpcErrors).find(([, known]) => known === code)?.[0] ?? 'rpc_error';
  const said = data?.code;
  return { outcome: 'refused', code: typeof said === 'string' ? said : name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) };
}

export type RpcResponse =
  | { readonly jsonrpc: '2.0'; readonly id: RpcId; readonly result: object }
  | {
      readonly jsonrpc: '2.0';
      readonly id: RpcId;
      readonly error: { readonly code: number; readonly message: string; readonly data?: object };
    };

/** One message from a client. A notification has no id and gets no response (JSON-RPC 2.0 §4.1). */
export interface RpcMessage {
  readonly id: RpcId | undefined;
  readonly method: string;
  readonly params: unknown;
}

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Whether a value can be an id. A number above 2^53 − 1 is not exact, so the answer would have a different id. */
const isId = (value: unknown): value is RpcId =>
  value === null || typeof value === 'string' || (typeof value === 'number' && Math.abs(value) <= Number.MAX_SAFE_INTEGER);

/** The id of the answer to a message; null if the message has no valid id (JSON-RPC 2.0 §5). */
export const idOf = (message: unknown): RpcId => (isObject(message) && isId(message.id) ? message.id : null);

/**
 * Reads a value as a request or notification (JSON-RPC 2.0 §4).
 *
 * @throws RpcError −32600 if it is neither.
 */
export function readMessage(value: unknown): RpcMessage {
  const refuse = (why: string) => new RpcError(rpcErrors.invalidRequest, `Invalid Request: ${why}`);
  if (!isObject(value)) throw refuse('a message must be an object');
  const { jsonrpc, id, method, params } = value;
  if (jsonrpc !== '2.0') throw refuse('jsonrpc must be "2.0"');
  if (id !== undefined && !isId(id)) throw refuse('id must be a string, a number within ±(2^53 − 1) or null');
  if (typeof method !== 'string') throw refuse('method must be a string');
  if (params !== undefined && (typeof params !== 'object' || params === null)) throw refuse('params must be an object or an array');
  return { id, method, params };
}

export const resultResponse = (id: RpcId, result: object): RpcResponse => ({ jsonrpc: '2.0', id, result });

export function errorResponse(id: RpcId, { code, message, data }: RpcError): RpcResponse {
  return { jsonrpc: '2.0', id, error: { code, message, ...(data && { data }) } };
}

/** Shortens a text from the client to 100 characters before an answer repeats it. */
export const clip = (text: string): string => (text.length > 100 ? `${text.slice(0, 100)}…` : text);

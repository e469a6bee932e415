import type { ServiceError } from '../../shared/domain/service-error.ts';
import type { Fault } from '../http/errors.ts';

/**
 * The error codes of JSON-RPC 2.0 §5.1; our own codes for a missing token and for a rate limit (M7); and the codes of the Model Context Protocol of
 * 2026-07-28.
 */
export const rpcErrors = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  unauthorized: -32000,
  rateLimited: -32029,
  headerMismatch: -32020,
  unsupportedVersion: -32022,
} as const;

type RpcErrorCode = (typeof rpcErrors)[keyof typeof rpcErrors];
type RpcId = string | number | null;

/** A fault that is answered with a JSON-RPC error. The client sees `message`: one sentence without internal details. */
export class RpcError extends Error {
  override readonly name: string = 'RpcError';
  readonly code: RpcErrorCode;
  readonly data: Readonly<Record<string, unknown>> | undefined;

  constructor(code: RpcErrorCode, message: string, data?: Readonly<Record<string, unknown>>) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** The error for a request beyond a rate limit. */
export const rateLimitError = ({ code, message, retryAfterSeconds }: ServiceError, requestId: string) =>
  new RpcError(rpcErrors.rateLimited, message, { code, request_id: requestId, retry_after_seconds: Math.ceil(retryAfterSeconds ?? 1) });

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
      readonly error: { readonly code: number; readonly message: string; readonly data?: Readonly<Record<string, unknown>> };
    };

/** One message from a client. A notification has no id and gets no response (JSON-RPC 2.0 §4.1). `params` is undefined for `null` and `[]` too (M7). */
export interface RpcMessage {
  readonly id: RpcId | undefined;
  readonly method: string;
  readonly params: unknown;
}

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isId = (value: unknown): value is RpcId => value === null || typeof value === 'string' || typeof value === 'number';

/** The id of the answer to a message; null if the message has no valid id (JSON-RPC 2.0 §5). */
const idOf = (message: unknown): RpcId => (isObject(message) && isId(message.id) ? message.id : null);

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
  if (id !== undefined && !isId(id)) throw refuse('id must be a string, a number or null');
  if (typeof method !== 'string') throw refuse('method must be a string');
  if (params === undefined || params === null || (Array.isArray(params) && params.length === 0)) return { id, method, params: undefined };
  if (typeof params !== 'object') throw refuse('params must be an object or an array');
  return { id, method, params };
}

/** The answer to a request to `/mcp`, by one revision of the protocol. */
export interface McpAnswer {
  readonly status: number;
  /** Undefined if the request had only notifications. */
  readonly body?: RpcResponse | readonly RpcResponse[];
}

export const resultResponse = (id: RpcId, result: object): RpcResponse => ({ jsonrpc: '2.0', id, result });

export function rpcErrorResponse(id: RpcId, { code, message, data }: RpcError): RpcResponse {
  return { jsonrpc: '2.0', id, error: { code, message, ...(data && { data }) } };
}

/** The answer to a message that failed, for the log too. An error of ours is not shown. */
export function answerFailure(message: unknown, error: unknown, request: { requestId: string; note: (fault: Fault) => void }): RpcResponse {
  const { requestId, note } = request;
  if (error instanceof RpcError) {
    note(rpcFault(error));
    return rpcErrorResponse(idOf(message), error);
  }
  note({ outcome: 'failed', code: 'internal_error', err: error });
  const data = { code: 'internal_error', request_id: requestId };
  return rpcErrorResponse(idOf(message), new RpcError(rpcErrors.internalError, 'Internal error', data));
}

/** The seconds to wait before all requests of these answers may be sent again. */
export const retryAfterOf = (answers: RpcResponse | readonly RpcResponse[]): number =>
  Math.max(1, ...[answers].flat().map((answer) => ('error' in answer ? Number(answer.error.data?.retry_after_seconds ?? 1) : 1)));

/** Shortens a text from the client to 100 characters before an answer repeats it. */
export const clip = (text: string): string => (text.length > 100 ? `${text.slice(0, 100)}…` : text);

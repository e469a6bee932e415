import type { Fault } from '../../http/errors.ts';
import type { RpcResponse } from '../json-rpc.ts';
import type { CallGuards } from '../tools/tool.ts';

/** Data about the HTTP request that contained a message. */
export interface RpcContext {
  /** The product of the service token; undefined without a valid token. */
  readonly product: string | undefined;
  readonly requestId: string;
  /** The header `Idempotency-Key`. */
  readonly headerKey: string | undefined;
  readonly guards: CallGuards;
  /** Called if the answer is the repeated answer of an earlier call with the same idempotency key. */
  readonly onReplayed: () => void;
  /** Records why a message was refused or failed, for the log and the metrics. */
  readonly note: (fault: Fault) => void;
}

/** The headers of a request. Their names are in lower case. */
export type McpHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** A request to `/mcp`. `body` is the parsed JSON; undefined if the request has no body. */
export interface McpRequest {
  readonly body: unknown;
  readonly headers: McpHeaders;
}

export interface McpAnswer {
  readonly status: number;
  /** Undefined if the request had only notifications. */
  readonly body?: RpcResponse | readonly RpcResponse[];
}

/** One revision of the Model Context Protocol on the wire. The tools are the same in all revisions. */
export interface Revision {
  /** Never rejects: faults of the protocol and our own errors become answers too. */
  answer(request: McpRequest, context: RpcContext): Promise<McpAnswer>;
}

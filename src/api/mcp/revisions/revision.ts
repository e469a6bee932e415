import type { Fault } from '../../server/outcome.ts';
import type { CallGuards } from '../call-guards.ts';
import type { RpcResponse } from '../json-rpc.ts';

/** The HTTP request around a message. */
export interface RpcContext {
  /** The product of the request's service token, if that is valid. */
  readonly product: string | undefined;
  /** The request has a service token that is not valid. */
  readonly hasWrongToken: boolean;
  /** The name of a caller without a service token. */
  readonly agent: string;
  readonly requestId: string;
  /** The header `Idempotency-Key`. */
  readonly headerKey: string | undefined;
  readonly guards: CallGuards;
  /** Called if an earlier call with the same idempotency key was answered already. */
  readonly onReplayed: () => void;
  /** Records why a message was refused or failed, for the log and the metrics. */
  readonly note: (fault: Fault) => void;
}

/** Names are in lower case. */
export type McpHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** A request to the endpoint. `body` is parsed JSON; undefined if there is none. */
export interface McpRequest {
  readonly body: unknown;
  readonly headers: McpHeaders;
}

export interface McpAnswer {
  readonly status: number;
  readonly body?: RpcResponse | readonly RpcResponse[];
}

/** One revision of the Model Context Protocol on the wire. The tools are the same in all revisions. */
export interface Revision {
  /** Never rejects: faults of the protocol and our own defects become answers too. */
  answer(request: McpRequest, context: RpcContext): Promise<McpAnswer>;
}

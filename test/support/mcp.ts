import { internalHeaders, type JsonObject, randomHash } from './requests.ts';
import type { RunningService } from './service.ts';

export interface McpAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The text as JSON; undefined if it is not JSON. */
  readonly body: unknown;
}

/** A request of JSON-RPC 2.0. */
export const rpc = (method: string, params?: unknown, id: unknown = 1): JsonObject => ({ jsonrpc: '2.0', id, method, params });

/** The `Accept` of clients that also take a stream. */
export const streaming = { accept: 'application/json, text/event-stream' };

/** Posts octets and text unchanged, anything else as JSON. */
export async function postMcp(service: RunningService, body: unknown, headers: Record<string, string> = {}): Promise<McpAnswer> {
  const answer = await service.fetch('/mcp', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
  });
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, text, body: text === '' ? undefined : JSON.parse(text) };
}

/** The JSON-RPC error of an answer, with the id it is for and the HTTP status. */
export function faultOf({ status, body }: Pick<McpAnswer, 'status' | 'body'>): unknown {
  const { jsonrpc, id, error } = body as { jsonrpc: string; id: unknown; error: { code: number; message: string } };
  if (jsonrpc !== '2.0' || !/^\S.{3,}/.test(error.message)) throw new Error(`no error of JSON-RPC 2.0, but ${JSON.stringify(body)}`);
  return { status, id, code: error.code };
}

/** The result of a request that must succeed. */
export async function mcpResult(service: RunningService, request: unknown, headers: Record<string, string> = {}): Promise<unknown> {
  const { status, body } = await postMcp(service, request, headers);
  if (status !== 200 || typeof body !== 'object' || body === null || !('result' in body)) {
    throw new Error(`no result, but ${status} ${JSON.stringify(body)}`);
  }
  return body.result;
}

export interface ToolResult {
  readonly content: readonly { readonly type: string; readonly text: string }[];
  /** Absent if the call failed. */
  readonly structuredContent: JsonObject;
  readonly isError: boolean;
}

/** The reason of a failed call. It is only text (M5). */
export function failureOf(result: ToolResult): JsonObject {
  const { isError, structuredContent, content } = result;
  if (!isError || structuredContent !== undefined) throw new Error(`no failure as text alone, but ${JSON.stringify(result)}`);
  return JSON.parse(content[0]?.text ?? '') as JsonObject;
}

/** Calls a tool as the product `test`. */
export async function callTool(service: RunningService, name: string, given: unknown, meta?: JsonObject): Promise<ToolResult> {
  const params = { name, arguments: given, ...(meta && { _meta: meta }) };
  return (await mcpResult(service, rpc('tools/call', params), internalHeaders)) as ToolResult;
}

/** A request of the revision of 2026-07-28. */
export const modernRequest = (method: string, params: JsonObject = {}, meta: JsonObject = {}, id: unknown = 1): JsonObject => ({
  jsonrpc: '2.0',
  id,
  method,
  params: {
    ...params,
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1.0' },
      'io.modelcontextprotocol/clientCapabilities': {},
      ...meta,
    },
  },
});

export const modernCall = (name: string, given: unknown): JsonObject => modernRequest('tools/call', { name, arguments: given });

/** Posts it with its matching headers; `null` omits one. */
export function postModern(service: RunningService, message: JsonObject, changed: Record<string, string | null> = {}): Promise<McpAnswer> {
  const { method, params } = message as { method?: string; params?: { name?: string } };
  const named = {
    'mcp-protocol-version': '2026-07-28',
    ...(method && { 'mcp-method': method }),
    ...(params?.name && { 'mcp-name': params.name }),
  };
  const headers = Object.entries({ ...named, ...changed }).filter((header): header is [string, string] => header[1] !== null);
  return postMcp(service, message, Object.fromEntries(headers));
}

export const stampCall = (id: unknown = 1): JsonObject =>
  rpc('tools/call', { name: 'service_stamp_hash', arguments: { sha256_hex: randomHash() } }, id);

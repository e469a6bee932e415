import { version } from '../../../shared/contract/version.ts';
import { type CallTool, productOf } from '../call-tool.ts';
import {
  idOf,
  isObject,
  RpcError,
  type RpcMessage,
  readMessage,
  resultResponse,
  rpcErrorResponse,
  rpcErrors,
  rpcFault,
} from '../json-rpc.ts';
import type { Tool } from '../tools/tool.ts';
import type { McpAnswer, McpHeaders, McpRequest, Revision, RpcContext } from './revision.ts';

const protocolVersion = '2026-07-28';
const metaOf = (params: unknown): unknown => (isObject(params) ? params._meta : undefined);
const versionKey = 'io.modelcontextprotocol/protocolVersion';
const capabilitiesKey = 'io.modelcontextprotocol/clientCapabilities';
const serverInfo = { name: 'qstamp', title: 'qstamp time-stamps', version };

const headerOf = (headers: McpHeaders, name: string): string | undefined => {
  const given = headers[name];
  return typeof given === 'string' ? given.trim() : undefined;
};

const namesVersion = (message: unknown): boolean => {
  const meta = isObject(message) ? metaOf(message.params) : undefined;
  return isObject(meta) && Object.hasOwn(meta, versionKey);
};

/**
 * Whether a request belongs to this revision or a later one (M11). It does if `_meta` names a version. It also does if the header names this version,
 * unless the method is `initialize`, which only clients of earlier revisions send.
 */
export function isModern({ body, headers }: McpRequest): boolean {
  if (Array.isArray(body)) return body.some(namesVersion);
  if (namesVersion(body)) return true;
  const isOpening = isObject(body) && body.method === 'initialize';
  return headerOf(headers, 'mcp-protocol-version') === protocolVersion && !isOpening;
}

/** A fault of the request itself, with an HTTP error status. Other faults of a method are answered with status 200. */
class ModernRefusal extends Error {
  readonly status: number;
  readonly fault: RpcError;
  constructor(status: number, fault: RpcError) {
    super(fault.message);
    this.status = status;
    this.fault = fault;
  }
}

const refusal = (status: number, code: RpcError['code'], message: string, data?: Readonly<Record<string, unknown>>) =>
  new ModernRefusal(status, new RpcError(code, message, data));
const mismatch = (why: string) => refusal(400, rpcErrors.headerMismatch, `Bad Request: ${why}`);

/** Returns the value of a header; the form `=?base64?…?=` is decoded. Undefined if its content is not UTF-8 in base64. */
function decodedHeader(value: string): string | undefined {
  const encoded = /^=\?base64\?(.*)\?=$/.exec(value)?.[1];
  if (encoded === undefined) return value;
  const bytes = Buffer.from(encoded, 'base64');
  if (bytes.toString('base64') !== encoded) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/**
 * @throws ModernRefusal 400 if `_meta` lacks a required member or names a version that we do not support, or if the header MCP-Protocol-Version is
 *   missing or names another version
 */
function checkEnvelope({ params }: RpcMessage, headers: McpHeaders): void {
  const meta = metaOf(params);
  const given = isObject(meta) ? meta : {};
  const isMissing = (wanted: string) => refusal(400, rpcErrors.invalidParams, `Invalid params: _meta must have ${wanted}`);
  const { [versionKey]: claimed, [capabilitiesKey]: capabilities } = given;
  if (typeof claimed !== 'string') throw isMissing(`"${versionKey}", a string`);
  if (!isObject(capabilities)) throw isMissing(`"${capabilitiesKey}", an object`);
  const inHeader = headerOf(headers, 'mcp-protocol-version');
  if (inHeader !== undefined && inHeader !== claimed) throw mismatch(`the header MCP-Protocol-Version is not ${versionKey} of _meta`);
  if (claimed !== protocolVersion) {
    const data = { supported: [protocolVersion], requested: claimed };
    throw refusal(400, rpcErrors.unsupportedVersion, `Unsupported protocol version: this is ${protocolVersion}`, data);
  }
  if (inHeader === undefined) throw mismatch('the header MCP-Protocol-Version is missing');
}

/** Proxies may decide by the headers, so the headers must match the body. @throws ModernRefusal 400 if they do not match */
function checkHeaders({ method, params }: RpcMessage, headers: McpHeaders): void {
  if (headerOf(headers, 'mcp-method') !== method) throw mismatch('the header Mcp-Method must be the method of the body');
  const name = method === 'tools/call' && isObject(params) ? params.name : undefined;
  if (typeof name !== 'string') return;
  const given = headerOf(headers, 'mcp-name');
  if (given === undefined || decodedHeader(given) !== name) throw mismatch('the header Mcp-Name must be params.name of the body');
}

/** The HTTP status of faults of a method. All others are answered with 200. */
const statusOfCode = new Map<number, number>([
  [rpcErrors.unauthorized, 401],
  [rpcErrors.rateLimited, 429],
]);

/** How long a client may cache the list of tools: it changes only with a release. */
const listTtlMs = 3_600_000;
const cached = { ttlMs: listTtlMs, cacheScope: 'public' } as const;

const instructions =
  'Time-stamps prove that a file existed at a time. Compute the SHA-256 of a file yourself and send only that. Use stamp_file_hashes for files that stand alone. ' +
  'For a piece of work with a client use a workflow: workflow_start once, workflow_stamp_output for each result in order, workflow_complete at the end, and give the ' +
  'client the page and the bundle. verify_file_hash checks a file later.';

/** The revision of 2026-07-28 (M12): each request is complete in itself, and no state is kept between requests. */
export function createModernRevision(tools: readonly Tool[], callTool: CallTool): Revision {
  const definitions = tools.map(({ modernDefinition }) => modernDefinition);
  type Method = (params: unknown, context: RpcContext) => object | Promise<object>;
  const methods = new Map<string, Method>([
    ['server/discover', () => ({ supportedVersions: [protocolVersion], capabilities: { tools: {} }, instructions, ...cached })],
    ['tools/list', () => ({ tools: definitions, ...cached })],
    [
      'tools/call',
      async (params, context) => {
        const { result, links } = await callTool(params, context);
        return { ...result, content: [...result.content, ...links.map((link) => ({ type: 'resource_link', ...link }))] };
      },
    ],
  ]);

  async function answerRequest(
    message: RpcMessage & { id: NonNullable<RpcMessage['id']> | null },
    request: McpRequest,
    context: RpcContext,
  ) {
    checkEnvelope(message, request.headers);
    checkHeaders(message, request.headers);
    const run = methods.get(message.method);
    if (!run) throw refusal(404, rpcErrors.methodNotFound, 'Method not found');
    const result = await run(message.params, context);
    const _meta = { 'io.modelcontextprotocol/serverInfo': serverInfo };
    return { status: 200, body: resultResponse(message.id, { resultType: 'complete', ...result, _meta }) };
  }

  function refuse(id: unknown, error: unknown, context: RpcContext): McpAnswer {
    if (error instanceof ModernRefusal || error instanceof RpcError) {
      const fault = error instanceof ModernRefusal ? error.fault : error;
      const status = error instanceof ModernRefusal ? error.status : (statusOfCode.get(fault.code) ?? 200);
      context.note(rpcFault(fault));
      return { status, body: rpcErrorResponse(idOf({ id }), fault) };
    }
    context.note({ outcome: 'failed', code: 'internal_error', err: error });
    const data = { code: 'internal_error', request_id: context.requestId };
    return { status: 200, body: rpcErrorResponse(idOf({ id }), new RpcError(rpcErrors.internalError, 'Internal error', data)) };
  }

  return {
    answer: async (request, context) => {
      const { body } = request;
      try {
        if (Array.isArray(body)) throw refusal(400, rpcErrors.invalidRequest, 'Invalid Request: this revision has no batches');
        const message = readMessage(body);
        const { id, method } = message;
        if (id !== undefined) return await answerRequest({ ...message, id }, request, context);
        if (method === 'tools/call') productOf(context);
        return { status: 202 };
      } catch (error) {
        const isShapeless = error instanceof RpcError && error.code === rpcErrors.invalidRequest;
        return refuse(isObject(body) ? body.id : null, isShapeless ? new ModernRefusal(400, error) : error, context);
      }
    },
  };
}

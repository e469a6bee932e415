import { isUtf8 } from 'node:buffer';
import { version } from '../../../shared/contract/version.ts';
import { callTool, type McpRequest, productOf } from '../call-tool.ts';
import { answerFailure, isObject, type McpAnswer, RpcError, type RpcMessage, readMessage, resultResponse, rpcErrors } from '../json-rpc.ts';

const protocolVersion = '2026-07-28';
const metaOf = (params: unknown): unknown => (isObject(params) ? params._meta : undefined);
const versionKey = 'io.modelcontextprotocol/protocolVersion';
const capabilitiesKey = 'io.modelcontextprotocol/clientCapabilities';
const serverInfo = { name: 'qstamp', title: 'qstamp time-stamps', version };

const headerOf = (headers: McpRequest['headers'], name: string): string | undefined => {
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

/**
 * The revision of 2026-07-28 (M12): each request is complete in itself, and no state is kept between requests. It never rejects: faults of the protocol
 * and our own errors become answers too.
 */
export async function answerModern(request: McpRequest): Promise<McpAnswer> {
  const { body } = request;
  try {
    if (Array.isArray(body)) throw new Refusal(400, rpcErrors.invalidRequest, 'Invalid Request: this revision has no batches');
    const message = readMessage(body);
    const { id, method, params } = message;
    if (id === undefined) {
      if (method === 'tools/call') productOf(request);
      return { status: 202 };
    }
    checkEnvelope(message, request);
    checkHeaders(message, request);
    const run = methods.get(method);
    if (!run) throw new Refusal(404, rpcErrors.methodNotFound, 'Method not found');
    const result = await run(params, request);
    const _meta = { 'io.modelcontextprotocol/serverInfo': serverInfo };
    return { status: 200, body: resultResponse(id, { resultType: 'complete', ...result, _meta }) };
  } catch (error) {
    return { status: statusOfFailure(error), body: answerFailure(body, error, request) };
  }
}

function statusOfFailure(error: unknown): number {
  if (error instanceof Refusal) return error.status;
  return (error instanceof RpcError && statusOfCode.get(error.code)) || 200;
}

/** A fault of the request itself, with an HTTP error status. Other faults of a method are answered with status 200. */
class Refusal extends RpcError {
  override readonly name = 'Refusal';
  readonly status: number;
  constructor(status: number, ...fault: ConstructorParameters<typeof RpcError>) {
    super(...fault);
    this.status = status;
  }
}

const mismatch = (why: string) => new Refusal(400, rpcErrors.headerMismatch, `Bad Request: ${why}`);

/** Returns the value of a header; the form `=?base64?…?=` is decoded. Undefined if its content is not UTF-8 in base64. */
function decodedHeader(value: string): string | undefined {
  const encoded = /^=\?base64\?(.*)\?=$/.exec(value)?.[1];
  if (encoded === undefined) return value;
  const bytes = Buffer.from(encoded, 'base64');
  return bytes.toString('base64') === encoded && isUtf8(bytes) ? bytes.toString() : undefined;
}

/**
 * @throws Refusal 400 if `_meta` lacks a required member or names a version that we do not support, or if the header MCP-Protocol-Version is
 *   missing or names another version
 */
function checkEnvelope({ params }: RpcMessage, { headers }: McpRequest): void {
  const meta = metaOf(params);
  const given = isObject(meta) ? meta : {};
  const isMissing = (wanted: string) => new Refusal(400, rpcErrors.invalidParams, `Invalid params: _meta must have ${wanted}`);
  const { [versionKey]: claimed, [capabilitiesKey]: capabilities } = given;
  if (typeof claimed !== 'string') throw isMissing(`"${versionKey}", a string`);
  if (!isObject(capabilities)) throw isMissing(`"${capabilitiesKey}", an object`);
  const inHeader = headerOf(headers, 'mcp-protocol-version');
  if (inHeader !== undefined && inHeader !== claimed) throw mismatch(`the header MCP-Protocol-Version is not ${versionKey} of _meta`);
  if (claimed !== protocolVersion) {
    const data = { supported: [protocolVersion], requested: claimed };
    throw new Refusal(400, rpcErrors.unsupportedVersion, `Unsupported protocol version: this is ${protocolVersion}`, data);
  }
  if (inHeader === undefined) throw mismatch('the header MCP-Protocol-Version is missing');
}

/** Proxies may decide by the headers, so the headers must match the body. @throws Refusal 400 if they do not match */
function checkHeaders({ method, params }: RpcMessage, { headers }: McpRequest): void {
  if (headerOf(headers, 'mcp-method') !== method) throw mismatch('the header Mcp-Method must be the method of the body');
  const name = method === 'tools/call' && isObject(params) ? params.name : undefined;
  if (typeof name !== 'string') return;
  const given = headerOf(headers, 'mcp-name');
  if (given === undefined || decodedHeader(given) !== name) throw mismatch('the header Mcp-Name must be params.name of the body');
}

/** The HTTP status of faults of a method. All others are answered with 200. */
const statusOfCode = new Map<number, number>([
  [rpcErrors.invalidRequest, 400],
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

const methods = new Map<string, (params: unknown, request: McpRequest) => object | Promise<object>>([
  ['server/discover', () => ({ supportedVersions: [protocolVersion], capabilities: { tools: {} }, instructions, ...cached })],
  ['tools/list', (_params, { offered }) => ({ tools: offered.map(({ modernDefinition }) => modernDefinition), ...cached })],
  [
    'tools/call',
    async (params, request) => {
      const { result, links } = await callTool(params, request);
      return { ...result, content: [...result.content, ...links.map((link) => ({ type: 'resource_link', ...link }))] };
    },
  ],
]);

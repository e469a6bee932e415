import { examples } from './examples.ts';

/** An HTTP request as a person sends it with curl. `$NAME` in an address or a header is a shell variable. */
interface CurlRequest {
  readonly method?: string;
  /** Absolute. */
  readonly address: string;
  readonly options?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
  /** JSON. */
  readonly json?: unknown;
  /** Replaces `json`: an argument of curl that gives another body. */
  readonly data?: string;
}

const inQuotes = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
/** The shell replaces variables only in double quotes. */
const word = (text: string): string => (/^[\w./:=@%-]+$/.test(text) ? text : text.includes('$') ? `"${text}"` : inQuotes(text));

/** The command for a request, with one argument on each line. */
export function curlOf({ method = 'GET', address, options = [], headers = {}, json, data }: CurlRequest): string {
  const body = data ?? (json === undefined ? undefined : `-d ${inQuotes(JSON.stringify(json))}`);
  const isPlain = method === (body === undefined ? 'GET' : 'POST');
  const types = json === undefined ? {} : { 'Content-Type': 'application/json' };
  const lines = [
    ['curl', ...options, ...(isPlain ? [] : ['-X', method]), word(address)].join(' '),
    ...Object.entries({ ...headers, ...types }).map(([name, value]) => `-H ${word(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : [body]),
  ];
  return lines.join(' \\\n  ');
}

/** The values that a reader must know, or an example that works. */
const placeholders: Readonly<Record<string, string>> = {
  SERVICE_TOKEN: 'put your service token here',
  WORKFLOW_TOKEN: 'put the workflow_token of your workflow here',
  WORKFLOW_ID: 'put the workflow_id of your workflow here',
  TOKEN_ID: 'put the token_id of a stamp here',
  SECRET: 'put the end of the sealed_storage_url here',
  CHALLENGE: 'put the challenge of a mailed link here',
  TOKEN: 'put the end of a stop link here',
  OUTPUT_HASH: 'put the SHA-256 of an output here',
  SHA256: 'put the sha256 of a trusted list in /api/v1/status here',
  NUMBER: '1',
};

/** Puts the lines that set the variables of a command above it. */
export function withVariables(command: string): string {
  const names = [...new Set([...command.matchAll(/\$([A-Z0-9_]+)/g)].map(([, name = '']) => name))];
  return [...names.map((name) => `${name}=${word(placeholders[name] ?? `put ${name.toLowerCase()} here`)}`), command].join('\n');
}

/** The parts of an operation in the OpenAPI document that its command needs. */
export interface CommandParts {
  readonly method: string;
  readonly path: string;
  /** The header for the caller's token; null if it works without. */
  readonly requiredToken: 'X-Service-Token' | 'Authorization' | null;
  /** The names of query parameters that the operation needs. */
  readonly query: readonly string[];
  readonly body: { readonly type: string; readonly example: unknown } | null;
  /** Media types of the answer. */
  readonly answers: readonly string[];
}

const headerOf = {
  'X-Service-Token': { 'X-Service-Token': '$SERVICE_TOKEN' },
  Authorization: { Authorization: 'Workflow $WORKFLOW_TOKEN' },
} as const;

const isText = (type: string): boolean => /json|text|pem/.test(type);

/** The command that calls an operation, made from its parameters and the example of its body. */
export function commandOf({ method, path, requiredToken, query, body, answers }: CommandParts, baseUrl: string): string {
  const variable = (name: string) => `$${name.toUpperCase()}`;
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => variable(name));
  const address = `${baseUrl}${filled}${query.length > 0 ? '?' : ''}${query.map((name) => `${name}=${variable(name)}`).join('&')}`;
  const isFile = answers.length > 0 && !answers.some(isText);
  const { prepared = '', ...given } = bodyOf(body, address);
  const headers = requiredToken ? headerOf[requiredToken] : {};
  const command = curlOf({ method, address, ...(isFile && { options: ['-OJ'] }), ...given, headers: { ...headers, ...given.headers } });
  return withVariables(`${prepared}${command}`);
}

type Body = Pick<CurlRequest, 'json' | 'data' | 'headers'> & { readonly prepared?: string };

/** The body of a request. `prepared`: a command that makes it first. */
function bodyOf(body: CommandParts['body'], address: string): Body {
  if (!body) return {};
  const { type, example } = body;
  const headers = { 'Content-Type': type };
  if (type === 'application/json') return { json: example };
  if (type === 'application/timestamp-query') {
    const prepared = `openssl ts -query -digest ${examples.hash} -sha256 -cert -out request.tsq\n`;
    return { headers, prepared, data: '--data-binary @request.tsq' };
  }
  if (type === 'application/octet-stream') {
    return { headers, prepared: `${curlOf({ address, options: ['-o', 'evidence.ers'] })}\n`, data: '--data-binary @evidence.ers' };
  }
  return { data: `--data-urlencode ${inQuotes(`token=${examples.token}`)}` };
}

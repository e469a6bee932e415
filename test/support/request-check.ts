import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

type Members = Readonly<Record<string, unknown>>;
interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly security?: readonly Readonly<Record<string, unknown>>[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: object }>> };
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Members>>;
    readonly securitySchemes: Readonly<Record<string, { name: string }>>;
  };
}

/** A request sent by a client. */
export interface SentRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Headers that every client sends and no operation describes. */
const usual = [
  'accept',
  'accept-encoding',
  'accept-language',
  'connection',
  'content-length',
  'content-type',
  'host',
  'sec-fetch-mode',
  'transfer-encoding',
  'user-agent',
];

const pointerOf = (...parts: readonly string[]) => parts.map((part) => part.replaceAll('~', '~0').replaceAll('/', '~1')).join('/');

/**
 * Checks a client's request against the OpenAPI document of the service: an unknown address, header or member is a fault, and so is
 * a body that does not match the document. Returns the fault, or undefined.
 */
export function createRequestCheck(document: Document): (request: SentRequest) => string | undefined {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addSchema(document, 'openapi.json');
  const templates = Object.keys(document.paths)
    .map((template) => ({ template, pattern: new RegExp(`^${template.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`) }))
    .sort((a, b) => a.template.split('{').length - b.template.split('{').length);

  const strangerIn = (value: unknown, schema: Members | undefined): string | undefined => {
    if (Array.isArray(value)) return value.map((item) => strangerIn(item, schema?.items as Members)).find((found) => found !== undefined);
    const named = typeof schema?.$ref === 'string' ? document.components.schemas[schema.$ref.split('/').at(-1) ?? ''] : schema;
    const known = Object.keys((named?.properties as object | undefined) ?? {});
    return Object.keys(value as object).find((name) => !known.includes(name));
  };

  return ({ method, path, headers, body }) => {
    const [bare = ''] = path.split('?', 1);
    const where = `${method} ${bare}`;
    const template = templates.find(({ pattern }) => pattern.test(bare))?.template ?? '';
    const operation = document.paths[template]?.[method.toLowerCase()];
    if (!operation) return `${where}: not in the document`;
    const secrets = (operation.security ?? [])
      .flatMap((schemes) => Object.keys(schemes))
      .map((name) => document.components.securitySchemes[name]?.name);
    const known = [...usual, ...(operation.parameters ?? []).filter((each) => each.in === 'header').map(({ name }) => name), ...secrets];
    const header = Object.keys(headers).find((name) => !known.some((other) => other?.toLowerCase() === name));
    if (header !== undefined) return `${where}: the header ${header} is not in the document`;
    if (body === '') return operation.requestBody ? `${where}: the body is missing` : undefined;
    const [type = ''] = (headers['content-type'] ?? '').split(';', 1);
    const schema = operation.requestBody?.content[type]?.schema;
    if (!schema) return `${where}: a body of ${type} is not in the document`;
    if (type !== 'application/json') return undefined;
    const validate = ajv.getSchema(
      `openapi.json#/${pointerOf('paths', template, method.toLowerCase(), 'requestBody', 'content', type, 'schema')}`,
    );
    const parsed: unknown = JSON.parse(body);
    if (!validate?.(parsed)) return `${where}: ${ajv.errorsText(validate?.errors)}`;
    const stranger = strangerIn(parsed, schema as Members);
    return stranger === undefined ? undefined : `${where}: the member ${stranger} is not in the document`;
  };
}

import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

interface OpenApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly responses: Readonly<Record<string, AnswerDescription>> }>>>>;
}
interface AnswerDescription {
  readonly content?: Readonly<Record<string, { readonly schema: object }>>;
}

/** An answer that a test received. */
export interface Answer {
  readonly method: string;
  /** The requested address with its query. */
  readonly path: string;
  readonly status: number;
  readonly contentType: string | null;
  readonly body: string;
}

/** Statuses that any address may return, so an operation need not list them (E3). */
const unnamed = [400, 408, 431, 500];

const escapePointer = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');

/** Checks answers against the OpenAPI document of the service; returns the fault of one, or undefined. */
export function createContractCheck(document: OpenApiDocument): (answer: Answer) => string | undefined {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addSchema(document, 'openapi.json');
  const templates = Object.keys(document.paths)
    .map((template) => ({ template, pattern: new RegExp(`^${template.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`) }))
    .sort((a, b) => a.template.split('{').length - b.template.split('{').length);

  return ({ method, path, status, contentType, body }) => {
    const where = `${method} ${path} → ${status}`;
    const found = templates.find(({ pattern }) => pattern.test(path.split('?', 1)[0] ?? ''));
    const operation = found && document.paths[found.template]?.[method.toLowerCase()];
    if (!found || !operation) return status === 404 || status === 405 || status === 307 ? undefined : `${where}: not in the document`;
    const name = status in operation.responses ? String(status) : unnamed.includes(status) ? 'default' : undefined;
    if (name === undefined) return `${where}: the document does not know this status`;
    const content = operation.responses[name]?.content;
    if (!content) return body === '' ? undefined : `${where}: has a body that the document does not know`;
    const type = contentType?.split(';', 1)[0] ?? '';
    if (!(type in content)) return `${where}: ${type} is not a media type of this answer`;
    if (type !== 'application/json') return undefined;
    const pointer = ['paths', found.template, method.toLowerCase(), 'responses', name, 'content', type, 'schema']
      .map(escapePointer)
      .join('/');
    const validate = ajv.getSchema(`openapi.json#/${pointer}`);
    if (!validate) return `${where}: its schema cannot be read`;
    return validate(JSON.parse(body)) ? undefined : `${where}: ${ajv.errorsText(validate.errors)}\n${body.slice(0, 2_000)}`;
  };
}

let check: Promise<(answer: Answer) => string | undefined> | undefined;

/**
 * Checks an answer against the document of the service at `baseUrl`; all services of one test file have the same build.
 *
 * @throws Error that names the part missing from the document.
 */
export async function checkByContract(baseUrl: string, answer: Answer): Promise<void> {
  check ??= fetch(`${baseUrl}/openapi.json`)
    .then((response) => response.json())
    .then((document) => createContractCheck(document as OpenApiDocument));
  const fault = await (await check)(answer);
  if (fault !== undefined) throw new Error(`broken contract: ${fault}`);
}

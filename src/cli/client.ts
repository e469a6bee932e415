import http from 'node:http';
import type { z } from 'zod';
import {
  NotFound,
  type OutputOptions,
  Qstamp,
  ServiceError,
  ServiceUnreachable,
  type StampOptions,
  type StartOptions,
  UnexpectedAnswer,
  type WorkflowAccess,
} from '../../clients/typescript/src/index.ts';
import { stampToken } from '../shared/contract/stamp.ts';
import { evidenceRenewal, verificationResult } from '../shared/contract/verify.ts';
import {
  workflowCompleteResponse,
  workflowRedactResponse,
  workflowResendResponse,
  workflowStampResponse,
  workflowStartResponse,
  workflowStateResponse,
} from '../shared/contract/workflow.ts';
import { isOnThisMachine } from '../shared/domain/addresses.ts';
import { CommandFailure, exitCodes, misuse } from './failure.ts';

/** The maximum time of one try, in ms. It is long because large content may be sent over a slow connection. */
const timeout = 120_000;

/** The base URL of the service, from `QSTAMP_URL`. @throws CommandFailure */
export function serviceUrl(setting: string | undefined): string {
  const given = setting?.trim() || 'http://127.0.0.1:8080';
  if (isServiceUrl(given)) return given;
  throw misuse('QSTAMP_URL must be an address such as https://qstamp.example, without a user, spaces, "?" and "#"');
}

/** Whether a text is the base URL of a service. It may have a path, but nothing behind it. */
export function isServiceUrl(given: string): boolean {
  const url = URL.parse(given);
  return url !== null && /^https?:$/.test(url.protocol) && url.username + url.password === '' && !/[\s?#]/.test(given);
}

export type Client = ReturnType<typeof createClient>;

/**
 * Calls the service for the commands through the TypeScript client, which retries and gives each request an idempotency key (S9). The answers are
 * checked here, because they are printed and saved. Every failure becomes a CommandFailure with one sentence and an exit code.
 *
 * @param service the base URL of the service of a workflow; by default, that of QSTAMP_URL. QSTAMP_TOKEN is sent only to the service of QSTAMP_URL
 * @param onUpload undefined: nobody watches uploads
 * @throws CommandFailure if QSTAMP_URL is not an HTTP URL, or if QSTAMP_TOKEN cannot be sent
 */
export function createClient(
  environment: Readonly<Record<string, string | undefined>>,
  { service, onUpload }: { readonly service?: string | undefined; readonly onUpload?: OnUpload | undefined } = {},
) {
  // QSTAMP_SERVICE_TOKEN is the old name.
  const { QSTAMP_URL, QSTAMP_SERVICE_TOKEN, QSTAMP_TOKEN = QSTAMP_SERVICE_TOKEN } = environment;
  const usual = serviceUrl(QSTAMP_URL);
  const url = service ?? usual;
  if (!isOnThisMachine(new URL(url))) useProxies(environment);
  // With a service token, stamps are made for its product; without a token, as an agent.
  const serviceToken = QSTAMP_TOKEN?.trim() ?? '';
  if (/[^\x20-\x7e]/.test(serviceToken)) throw misuse('QSTAMP_TOKEN has a character that no service token has');
  const qstamp = new Qstamp({
    url,
    serviceToken: isSameService(url, usual) ? serviceToken : '',
    timeout,
    ...(onUpload && { fetch: watchedFetch(onUpload) }),
  });

  async function parsed<Schema extends z.ZodType>(schema: Schema, answer: Promise<unknown>): Promise<z.output<Schema>> {
    const result = schema.safeParse(await orFailure(answer));
    if (result.success) return result.data;
    throw new CommandFailure(exitCodes.unavailable, `the server at ${qstamp.url} is not this service`);
  }

  return {
    baseUrl: qstamp.url,
    addressOf: (path: string) => qstamp.addressOf(path),
    stampHash: (hash: string, options: StampOptions) => parsed(stampToken, qstamp.stampHash(hash, options)),
    sealContent: (content: Uint8Array, options: StampOptions) =>
      parsed(stampToken, qstamp.stampBytes(content, { ...options, sendContent: true })),
    /**
     * Fetches a stamp's time-stamp token or evidence record in DER. Returns undefined if there is none, for example for a stamp of the mock provider.
     */
    async fetchToken(tokenId: string): Promise<Buffer | undefined> {
      try {
        return Buffer.from(await qstamp.fetchToken(tokenId));
      } catch (error) {
        if (error instanceof NotFound) return undefined;
        throw failureOf(error);
      }
    },
    fetchRecord: (tokenId: string) => orFailure(qstamp.fetchEvidenceRecord(tokenId)),
    renewEvidence: (tokenId: string, content: Blob) => parsed(evidenceRenewal, qstamp.renewEvidence(tokenId, content)),
    verifyById: (tokenId: string) => parsed(verificationResult, qstamp.verify(tokenId)),
    /** `hash`: the file's hash in the algorithm of the token's imprint, in hex. */
    verifyToken: (token: string, hash?: string) =>
      parsed(verificationResult, qstamp.verifyToken(token, hash === undefined ? {} : { hash })),
    startWorkflow: (options: StartOptions) =>
      parsed(
        workflowStartResponse,
        qstamp.startWorkflow(options).then(({ started }) => started),
      ),
    addOutput: (workflow: WorkflowAccess, hash: string, options: OutputOptions) =>
      parsed(workflowStampResponse, qstamp.openWorkflow(workflow).stampHash(hash, options)),
    completeWorkflow: (workflow: WorkflowAccess) => parsed(workflowCompleteResponse, qstamp.openWorkflow(workflow).complete()),
    readWorkflow: (workflow: WorkflowAccess) => parsed(workflowStateResponse, qstamp.openWorkflow(workflow).state()),
    resendLink: (workflow: WorkflowAccess) => parsed(workflowResendResponse, qstamp.openWorkflow(workflow).resendLink()),
    redactWorkflow: (workflow: WorkflowAccess) => parsed(workflowRedactResponse, qstamp.openWorkflow(workflow).redact()),
    async *fetchBundle(workflowId: string): AsyncGenerator<Uint8Array> {
      try {
        yield* qstamp.fetchBundle(workflowId);
      } catch (error) {
        throw failureOf(error);
      }
    },
  };
}

/** Whether two base URLs are the same, however they are written. */
export function isSameService(one: string, other: string): boolean {
  const usual = (url: string) => new URL(url).href.replace(/\/+$/, '');
  return usual(one) === usual(other);
}

/**
 * Requests to the service use the proxies of HTTPS_PROXY and HTTP_PROXY. A Node older than 24.14 needs the variable NODE_USE_ENV_PROXY for this.
 *
 * @throws CommandFailure if the address of a proxy is not one
 */
function useProxies(environment: Readonly<Record<string, string | undefined>>): void {
  try {
    http.setGlobalProxyFromEnv?.(environment);
  } catch {
    throw misuse('HTTPS_PROXY and HTTP_PROXY must be addresses such as http://proxy.example:3128');
  }
}

const orFailure = <Answer>(answer: Promise<Answer>): Promise<Answer> => answer.catch((error) => Promise.reject(failureOf(error)));

/** Turns an error of the TypeScript client into a CommandFailure. Any other error is unexpected and is returned unchanged. */
function failureOf(error: unknown): unknown {
  if (error instanceof ServiceError) {
    const { status, code, requestId: request_id, message } = error;
    const exitCode = status >= 500 || status === 429 ? exitCodes.unavailable : exitCodes.refused;
    // The user of the command knows the header only by its variable.
    const answer = message.replace('X-Service-Token', '$& (QSTAMP_TOKEN)');
    return new CommandFailure(exitCode, `the service answered ${answer}`, { status, code, request_id });
  }
  if (error instanceof ServiceUnreachable) {
    return new CommandFailure(
      exitCodes.unavailable,
      `${error.message}; is the service running, and is its address right (QSTAMP_URL, or in the workflow file)?`,
    );
  }
  return error instanceof UnexpectedAnswer ? new CommandFailure(exitCodes.unavailable, error.message) : error;
}

/** Called when a large body is sent. The returned function is called with the bytes of each part, and the size of the body. */
type OnUpload = () => (count: number, total: number) => void;

/** Smaller bodies are sent before anybody could read how far they are. */
const leastWatchedBytes = 1024 * 1024;
const partBytes = 64 * 1024;

/**
 * A `fetch` for the client that reports how much of a large body is sent. A blob has a known size. It is read only as fast as the connection takes it.
 */
const watchedFetch =
  (onUpload: OnUpload): typeof globalThis.fetch =>
  (input, init) => {
    const body = typeof init?.body === 'string' ? new Blob([init.body]) : init?.body;
    if (!(body instanceof Blob) || body.size < leastWatchedBytes) return fetch(input, init);
    // A copy, which does not copy the bytes: the client sends the same blob again after a failure.
    const watched = body.slice();
    watched.stream = () => ReadableStream.from(partsOf(body, onUpload()));
    return fetch(input, { ...init, body: watched });
  };

async function* partsOf(blob: Blob, onBytes: ReturnType<OnUpload>): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  for await (const chunk of blob.stream()) {
    for (let at = 0; at < chunk.length; at += partBytes) {
      const part = chunk.subarray(at, at + partBytes);
      yield part;
      onBytes(part.length, blob.size);
    }
  }
}

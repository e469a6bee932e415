import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import { type StampRequest, type StampToken, stampToken } from '../shared/contract/stamp.ts';
import { type VerificationResult, verificationResult } from '../shared/contract/verify.ts';
import {
  type WorkflowCompleteResponse,
  type WorkflowStampRequest,
  type WorkflowStampResponse,
  type WorkflowStartRequest,
  type WorkflowStartResponse,
  workflowCompleteResponse,
  workflowStampResponse,
  workflowStartResponse,
} from '../shared/contract/workflow.ts';
import { CommandFailure, exitCodes } from './failure.ts';
import { parseJson } from './json-file.ts';

export interface ClientOptions {
  /** Where the service is; a path in front of its own paths is allowed. */
  readonly baseUrl: string;
  /** With it stamps are made by the internal endpoints for its product, without it by those for agents. */
  readonly serviceToken?: string | undefined;
}

/** The public interface of the service, typed. Every POST carries the caller's idempotency key, so that trying again is safe (S9). */
export interface Client {
  readonly baseUrl: string;
  /** An address of an answer as an absolute one (W13). */
  addressOf(path: string): string;
  stamp(request: StampRequest & { tier: string }, key: string): Promise<StampToken>;
  verifyById(tokenId: string): Promise<VerificationResult>;
  verifyToken(token: string, hash?: string): Promise<VerificationResult>;
  startWorkflow(request: WorkflowStartRequest, key: string): Promise<WorkflowStartResponse>;
  addOutput(workflow: WorkflowAccess, request: WorkflowStampRequest, key: string): Promise<WorkflowStampResponse>;
  completeWorkflow(workflow: WorkflowAccess, key: string): Promise<WorkflowCompleteResponse>;
}

export interface WorkflowAccess {
  readonly workflow_id: string;
  readonly workflow_token: string;
}

interface Call<Schema extends z.ZodType> {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly answer: Schema;
}

interface Answer {
  readonly ok: boolean;
  readonly status: number;
  /** Undefined where it is no JSON. */
  readonly body: unknown;
  readonly retryAfterMs: number | undefined;
}

/** Statuses after which the same request may succeed: too many requests, not available now, accepted but not finished (E7, E10, E11). */
const passing = [429, 503, 504];
const mostAttempts = 5;
const mostWaitMs = 60_000;
const timeoutMs = 120_000;

const errorBody = z.object({ detail: z.unknown(), code: z.string().optional(), request_id: z.string().optional() });
const items = z.array(z.object({ loc: z.array(z.union([z.string(), z.number()])), msg: z.string() }));

export function createClient({ baseUrl, serviceToken }: ClientOptions): Client {
  const base = baseUrl.replace(/\/+$/, '');
  const addressOf = (path: string) => (URL.canParse(path) ? path : `${base}${path}`);

  async function attempt({ method, path, body, headers }: Call<z.ZodType>): Promise<Answer> {
    try {
      const response = await fetch(addressOf(path), {
        method,
        headers: { accept: 'application/json', ...(body && { 'content-type': 'application/json' }), ...headers },
        ...(body && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(timeoutMs),
      });
      const { ok, status } = response;
      return { ok, status, body: parseJson(await response.text()), retryAfterMs: retryAfterMs(response) };
    } catch (error) {
      throw unreachable(base, error);
    }
  }

  async function call<Schema extends z.ZodType>(request: Call<Schema>): Promise<z.output<Schema>> {
    for (let attempts = 1; ; attempts += 1) {
      const response = await attempt(request);
      if (response.ok) return readAnswer(request, response.body);
      const waitMs = response.retryAfterMs ?? 250 * 2 ** attempts;
      if (!passing.includes(response.status) || attempts === mostAttempts || waitMs > mostWaitMs) throw failureOf(response);
      await wait(waitMs);
    }
  }

  const keyed = (key: string) => ({ 'idempotency-key': key });
  const workflowHeaders = ({ workflow_token }: WorkflowAccess, key: string) => ({
    ...keyed(key),
    authorization: `Workflow ${workflow_token}`,
  });

  return {
    baseUrl: base,
    addressOf,
    stamp: (body, key) =>
      call({
        method: 'POST',
        path: serviceToken === undefined ? `/api/v1/agent/v1/stamp/${body.tier}` : '/api/v1/internal/v1/stamp',
        body,
        headers: { ...keyed(key), ...(serviceToken !== undefined && { 'x-service-token': serviceToken }) },
        answer: stampToken,
      }),
    verifyById: (tokenId) =>
      call({ method: 'GET', path: `/api/v1/verify/v1/token/${encodeURIComponent(tokenId)}`, answer: verificationResult }),
    verifyToken: (token, hash) =>
      call({ method: 'POST', path: '/api/v1/verify/v1/raw', body: { token, ...(hash && { hash }) }, answer: verificationResult }),
    startWorkflow: (body, key) =>
      call({ method: 'POST', path: '/api/v1/workflow/start', body, headers: keyed(key), answer: workflowStartResponse }),
    addOutput: (workflow, body, key) =>
      call({
        method: 'POST',
        path: `/api/v1/workflow/${encodeURIComponent(workflow.workflow_id)}/stamp`,
        body,
        headers: workflowHeaders(workflow, key),
        answer: workflowStampResponse,
      }),
    completeWorkflow: (workflow, key) =>
      call({
        method: 'POST',
        path: `/api/v1/workflow/${encodeURIComponent(workflow.workflow_id)}/complete`,
        headers: workflowHeaders(workflow, key),
        answer: workflowCompleteResponse,
      }),
  };
}

function readAnswer<Schema extends z.ZodType>({ path, answer }: Call<Schema>, body: unknown): z.output<Schema> {
  const parsed = answer.safeParse(body);
  if (parsed.success) return parsed.data;
  throw new CommandFailure(exitCodes.unavailable, `what answers at ${path} is not this service`);
}

function retryAfterMs(response: Response): number | undefined {
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined;
}

/** The service's own sentence; of a 422 each field with what is wrong about it. */
function failureOf({ status, body }: Answer): CommandFailure {
  const { detail, code, request_id } = errorBody.safeParse(body).data ?? { detail: undefined };
  const faults = items.safeParse(detail).data?.map(({ loc, msg }) => `${loc.slice(1).join('.')}: ${msg}`.replace(/^: /, ''));
  const sentence = typeof detail === 'string' ? detail : (faults?.join('; ') ?? 'it gave no reason');
  const exitCode = status >= 500 || status === 429 ? exitCodes.unavailable : exitCodes.refused;
  return new CommandFailure(exitCode, `the service answered ${status}: ${sentence}`, { status, code, request_id });
}

function unreachable(base: string, error: unknown): CommandFailure {
  if (error instanceof Error && error.name === 'TimeoutError') {
    return new CommandFailure(exitCodes.unavailable, `${base} did not answer within ${timeoutMs / 1000} s`);
  }
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const why = cause instanceof Error ? ('code' in cause && String(cause.code)) || cause.message : String(cause);
  return new CommandFailure(exitCodes.unavailable, `${base} cannot be reached (${why}): is the service running, and QSTAMP_URL right?`);
}

import type { z } from 'zod';
import type { StampRequest } from '../shared/contract/stamp.ts';
import { type EvidenceRenewal, evidenceRenewal } from '../shared/contract/verify.ts';
import {
  type WorkflowCompleteResponse,
  type WorkflowResendResponse,
  type WorkflowStampRequest,
  type WorkflowStampResponse,
  type WorkflowStartRequest,
  type WorkflowStartResponse,
  type WorkflowStateResponse,
  workflowCompleteResponse,
  workflowRedactResponse,
  workflowResendResponse,
  workflowStampResponse,
  workflowStartResponse,
  workflowStateResponse,
} from '../shared/contract/workflow.ts';
import { evidencePath, verifyPath, workflowStatePath } from '../shared/domain/addresses.ts';
import { type StampAnswer, stampAnswer, type VerifyAnswer, verifyAnswer } from './answers.ts';
import { CommandFailure } from './failure.ts';
import { createServiceCalls } from './service-call.ts';

export interface ClientOptions {
  /** Where the service is; a path in front of its own paths is allowed. */
  readonly baseUrl: string;
  /** With it stamps are made by the internal endpoints for its product, without it by those for agents. */
  readonly serviceToken?: string | undefined;
}

/** The public interface of the service, typed. Every POST that makes something carries the caller's key, so that trying again is safe (S9). */
export interface Client {
  readonly baseUrl: string;
  /** An address of an answer as an absolute one (W13). */
  addressOf(path: string): string;
  stamp(request: StampRequest & { tier: string }, key: string): Promise<StampAnswer>;
  /** DER of a stamp's time-stamp token; undefined where it has none, as stamps of the mock provider. */
  fetchToken(tokenId: string): Promise<Buffer | undefined>;
  /** DER of a stamp's evidence record. */
  fetchRecord(tokenId: string): Promise<Buffer>;
  /** Has the evidence record cover the content's hash of a new algorithm (S17). */
  renewEvidence(tokenId: string, content: Blob): Promise<EvidenceRenewal>;
  verifyById(tokenId: string): Promise<VerifyAnswer>;
  /** `digest`: hex, of the algorithm of the token's own imprint (V7). */
  verifyToken(token: string, digest?: string): Promise<VerifyAnswer>;
  startWorkflow(request: WorkflowStartRequest, key: string): Promise<WorkflowStartResponse>;
  addOutput(workflow: WorkflowAccess, request: WorkflowStampRequest, key: string): Promise<WorkflowStampResponse>;
  completeWorkflow(workflow: WorkflowAccess, key: string): Promise<WorkflowCompleteResponse>;
  readWorkflow(workflow: WorkflowAccess): Promise<WorkflowStateResponse>;
  resendLink(workflow: WorkflowAccess, key: string): Promise<WorkflowResendResponse>;
  /** The evidence bundle of a completed workflow (W22), which anybody may fetch. */
  fetchEvidence(workflowId: string): AsyncIterable<Uint8Array>;
  redactWorkflow(workflow: WorkflowAccess, key: string): Promise<z.output<typeof workflowRedactResponse>>;
}

export interface WorkflowAccess {
  readonly workflow_id: string;
  readonly workflow_token: string;
}

export function createClient({ baseUrl, serviceToken }: ClientOptions): Client {
  const base = baseUrl.replace(/\/+$/, '');
  const { addressOf, json, bytes, chunks } = createServiceCalls(base);
  const keyed = (key: string) => ({ 'idempotency-key': key });
  const stampPath = (tokenId: string) => verifyPath(encodeURIComponent(tokenId));
  const statePath = ({ workflow_id }: WorkflowAccess) => workflowStatePath(encodeURIComponent(workflow_id));
  const authorized = ({ workflow_token }: WorkflowAccess) => ({ authorization: `Workflow ${workflow_token}` });
  const postTo = (workflow: WorkflowAccess, operation: string, key: string, body?: object) =>
    ({
      method: 'POST',
      path: `${statePath(workflow)}/${operation}`,
      headers: { ...keyed(key), ...authorized(workflow) },
      ...(body && { body }),
    }) as const;

  const download = (tokenId: string, part: 'token' | 'evidence') =>
    bytes({ method: 'GET', path: `${stampPath(tokenId)}/${part}`, headers: { accept: '*/*' } });

  return {
    baseUrl: base,
    addressOf,
    stamp: (body, key) => {
      const path = serviceToken === undefined ? `/api/v1/agent/v1/stamp/${body.tier}` : '/api/v1/internal/v1/stamp';
      const headers = { ...keyed(key), ...(serviceToken !== undefined && { 'x-service-token': serviceToken }) };
      return json({ method: 'POST', path, body, headers }, stampAnswer);
    },
    fetchToken: async (tokenId) => {
      try {
        const { body, headers } = await download(tokenId, 'token');
        // That token is for the root of a batch: the way from this stamp's hash to it is in the record.
        return headers.has('qstamp-batch') ? (await download(tokenId, 'evidence')).body : body;
      } catch (error) {
        if (error instanceof CommandFailure && error.details.status === 404) return undefined;
        throw error;
      }
    },
    fetchRecord: async (tokenId) => (await download(tokenId, 'evidence')).body,
    renewEvidence: (tokenId, content) => {
      const headers = serviceToken === undefined ? {} : { 'x-service-token': serviceToken };
      return json({ method: 'POST', path: `${stampPath(tokenId)}/evidence`, body: content, headers }, evidenceRenewal);
    },
    verifyById: (tokenId) => json({ method: 'GET', path: stampPath(tokenId) }, verifyAnswer),
    verifyToken: (token, hash) =>
      json({ method: 'POST', path: '/api/v1/verify/v1/raw', body: { token, ...(hash && { hash }) } }, verifyAnswer),
    startWorkflow: (body, key) =>
      json({ method: 'POST', path: '/api/v1/workflow/start', body, headers: keyed(key) }, workflowStartResponse),
    addOutput: (workflow, body, key) => json(postTo(workflow, 'stamp', key, body), workflowStampResponse),
    completeWorkflow: (workflow, key) => json(postTo(workflow, 'complete', key), workflowCompleteResponse),
    readWorkflow: (workflow) => json({ method: 'GET', path: statePath(workflow), headers: authorized(workflow) }, workflowStateResponse),
    resendLink: (workflow, key) => json(postTo(workflow, 'resend', key), workflowResendResponse),
    fetchEvidence: (workflowId) => chunks({ method: 'GET', path: evidencePath(encodeURIComponent(workflowId), 'zip') }),
    redactWorkflow: (workflow, key) => json(postTo(workflow, 'redact-pii', key), workflowRedactResponse),
  };
}

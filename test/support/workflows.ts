import { eventually, type JsonAnswer, type JsonObject, postJson, randomHash } from './requests.ts';
import type { RunningService } from './service.ts';

export interface StartedWorkflow {
  readonly id: string;
  readonly token: string;
  readonly briefingHash: string;
  readonly headers: { readonly authorization: string };
  readonly answer: JsonAnswer;
}

export const startRequest = (overrides: JsonObject = {}): JsonObject => ({
  user_email: 'client@example.com',
  agent_id: 'agent-7',
  briefing_hash: randomHash(),
  ...overrides,
});

export const startWorkflowRaw = (service: RunningService, body: unknown, headers: Record<string, string> = {}): Promise<JsonAnswer> =>
  postJson(service, '/api/v1/workflow/start', body, headers);

/** Starts a workflow and fails unless the answer is 201. */
export async function startWorkflow(
  service: RunningService,
  overrides: JsonObject = {},
  headers: Record<string, string> = {},
): Promise<StartedWorkflow> {
  const request = startRequest(overrides);
  const answer = await startWorkflowRaw(service, request, headers);
  if (answer.status !== 201) throw new Error(`start answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  const token = String(answer.body.workflow_token);
  return {
    id: String(answer.body.workflow_id),
    token,
    briefingHash: String(request.briefing_hash),
    headers: { authorization: `Workflow ${token}` },
    answer,
  };
}

export const stampOutput = (
  service: RunningService,
  workflow: StartedWorkflow,
  overrides: JsonObject = {},
  headers: Record<string, string> = {},
): Promise<JsonAnswer> =>
  postJson(
    service,
    `/api/v1/workflow/${workflow.id}/stamp`,
    { output_hash: randomHash(), output_type: 'text', ...overrides },
    { ...workflow.headers, ...headers },
  );

export const postEmpty = async (service: RunningService, path: string, headers: Record<string, string>): Promise<JsonAnswer> => {
  const response = await service.fetch(path, { method: 'POST', headers });
  return { status: response.status, headers: response.headers, body: (await response.json()) as JsonObject };
};

export const completeWorkflow = (
  service: RunningService,
  { id, headers }: StartedWorkflow,
  more: Record<string, string> = {},
): Promise<JsonAnswer> => postEmpty(service, `/api/v1/workflow/${id}/complete`, { ...headers, ...more });

export const redactWorkflow = (service: RunningService, { id, headers }: StartedWorkflow): Promise<JsonAnswer> =>
  postEmpty(service, `/api/v1/workflow/${id}/redact-pii`, headers);

/** Answers a challenge like a program; `link` is the mailed one. */
export async function openLink(link: string, headers: Record<string, string> = { accept: 'application/json' }): Promise<JsonAnswer> {
  const response = await fetch(link, { headers });
  return { status: response.status, headers: response.headers, body: (await response.json()) as JsonObject };
}

/** The page of a workflow once its chain is recomputed: on a busy machine that takes longer than a page request waits. */
export const readPage = (service: RunningService, path: string, init: RequestInit = {}): Promise<string> =>
  eventually(async () => {
    const html = await (await service.fetch(path, init)).text();
    return !html.includes('Still being checked') && html;
  });

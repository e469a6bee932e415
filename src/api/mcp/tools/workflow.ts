import {
  workflowBundleAnswer,
  workflowBundleArguments,
  workflowCompleteAnswer,
  workflowCompleteArguments,
  workflowOutputAnswer,
  workflowOutputArguments,
  workflowStartAnswer,
  workflowStartArguments,
  workflowStatusAnswer,
  workflowStatusArguments,
} from '../../../shared/contract/mcp.ts';
import { evidencePath, workflowPath } from '../../../shared/domain/addresses.ts';
import { ServiceError } from '../../../shared/domain/service-error.ts';
import { madeOf } from '../../stamps/index.ts';
import {
  bindAnswer,
  findWorkflow,
  openWorkflow,
  readWorkflowState,
  requestCompletion,
  stampOutputs,
  starterIdOf,
  startWorkflow,
} from '../../workflows/index.ts';
import { stampingAnnotations } from './stamp.ts';
import { createTool, type Tool } from './tool.ts';
import type { ToolServices } from './tool-services.ts';

export function createWorkflowStartTool({ tools, links, baseUrl }: ToolServices): Tool {
  return createTool({
    name: 'workflow_start',
    description:
      'Start a workflow: a piece of work for a client. Its results are time-stamped one after the other and closed under one root. Call it once, before the first result. ' +
      'It mails the client a link that confirms the address, so give only an address that your user named (user_email). briefing_hash is the SHA-256 of the task as given; agent_id names you. ' +
      'Leave tier at standard unless your user asks for another: in the tiers verified and qualified nothing can be stamped until the client has confirmed the e-mail address. Returns workflow_id and workflow_token: keep both until workflow_complete; ' +
      'the token is a secret and is shown only once.',
    annotations: { title: 'Start a workflow', readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
    arguments: workflowStartArguments,
    answer: workflowStartAnswer,
    run: async (request, { product, requestId, idempotencyKey, guards, onReplayed }) => {
      const { answer, isReplayed } = await startWorkflow(tools, {
        request,
        callerId: starterIdOf(product),
        requestId,
        idempotencyKey,
        passLimit: () => guards.start(request.user_email),
        baseUrl: baseUrl(),
      });
      if (isReplayed) onReplayed();
      return { ...answer, page_url: links.absolute(workflowPath(answer.workflow_id)) };
    },
    links: ({ workflow_id }) => [links.workflowPage(workflow_id)],
  });
}

export function createWorkflowStatusTool({ tools, links }: ToolServices): Tool {
  return createTool({
    name: 'workflow_status',
    description:
      'Read the state of a workflow: status (`pending` until the client has confirmed the e-mail address, then `active`, `completed` or `expired`), output_count, merkle_root and times. With workflow_token also whether the mail was ' +
      'sent. It only reads the record and verifies nothing.',
    annotations: {
      title: 'Read the state of a workflow',
      readOnlyHint: true,
      destructiveHint: false,
      idempotentHint: true,
      openWorldHint: false,
    },
    arguments: workflowStatusArguments,
    answer: workflowStatusAnswer,
    run: async ({ workflow_id: id, workflow_token: token }, { guards }) => {
      const isHolder = typeof token === 'string';
      const workflow = await guards.lookUp(() => (isHolder ? openWorkflow(tools, id, token) : findWorkflow(tools, id)));
      return { ...(await readWorkflowState(tools, workflow, isHolder)), page_url: links.absolute(workflowPath(id)) };
    },
    links: ({ workflow_id, status }) => [links.workflowPage(workflow_id), ...(status === 'completed' ? [links.bundle(workflow_id)] : [])],
  });
}

export function createWorkflowOutputTool({ tools, links }: ToolServices): Tool {
  return createTool({
    name: 'workflow_stamp_output',
    description:
      'Time-stamp one result of a workflow and add it to its chain. Call it for each result when it is finished, one call after the other: the order of the calls is the order in the record (sequence_number 1, 2, 3 …). ' +
      'Give the SHA-256 of the result as output_hash and its kind as output_type, for example text, image, code, audio, video or layout; never send the result itself. This cannot be undone.',
    annotations: { ...stampingAnnotations, title: 'Stamp a result of a workflow' },
    arguments: workflowOutputArguments,
    answer: workflowOutputAnswer,
    run: async ({ workflow_id, workflow_token, ...request }, { product, requestId, idempotencyKey, guards, onReplayed }) => {
      const workflow = await guards.lookUp(() => openWorkflow(tools, workflow_id, workflow_token));
      const callerId = `product:${product}`;
      const passLimit = () => guards.outputs(workflow._id, 1);
      const entries = [{ index: 0, request }];
      const command = { workflow, entries, operation: 'workflow_stamp', callerId, requestId, idempotencyKey, passLimit } as const;
      const { answers, isReplayed } = await stampOutputs(tools, command);
      const answer = madeOf(await answers[0]!);
      if (isReplayed) onReplayed();
      const { verify_url, workflow_anchor_url } = answer;
      return { ...answer, verify_url: links.absolute(verify_url), workflow_anchor_url: links.absolute(workflow_anchor_url) };
    },
    links: ({ sequence_number, verify_url, stamp_token_id }) => [
      { uri: verify_url, name: `Output ${sequence_number}`, mimeType: 'text/html' },
      ...links.stamp(stamp_token_id, null),
    ],
  });
}

export function createWorkflowCompleteTool({ tools, links, baseUrl }: ToolServices): Tool {
  return createTool({
    name: 'workflow_complete',
    description:
      'Close a workflow under one time-stamped Merkle root. Call it once, after the last workflow_stamp_output has answered: nothing can be added afterwards, and it cannot be undone. Calling it again gives the same ' +
      'answer. Returns output_count, completed_at, page_url and bundle_url: give your user both addresses.',
    annotations: { title: 'Complete a workflow', readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true },
    arguments: workflowCompleteArguments,
    answer: workflowCompleteAnswer,
    run: async ({ workflow_id: id, workflow_token }, { requestId, idempotencyKey, guards, onReplayed }) => {
      const workflow = await guards.lookUp(() => openWorkflow(tools, id, workflow_token));
      const answer = await requestCompletion(tools, workflow, { requestId, baseUrl: baseUrl() });
      if (await bindAnswer(tools, workflow, 'complete', idempotencyKey)) onReplayed();
      const urls = { page_url: links.absolute(workflowPath(id)), bundle_url: links.absolute(evidencePath(id, 'zip')) };
      return { ...answer, verify_url: links.absolute(answer.verify_url), ...urls };
    },
    links: ({ workflow_id }) => [links.workflowPage(workflow_id), links.bundle(workflow_id)],
  });
}

export function createWorkflowBundleTool({ tools, links }: ToolServices): Tool {
  return createTool({
    name: 'workflow_bundle',
    description:
      'Get the address of the evidence of a completed workflow: one zip with chain, proofs, time-stamps, certificates and a script that checks it without this service. Give bundle_url to everybody who has to keep the ' +
      'proof. Fails with conflict while the workflow is open: call workflow_complete first.',
    annotations: {
      title: 'Get the evidence of a workflow',
      readOnlyHint: true,
      destructiveHint: false,
      idempotentHint: true,
      openWorldHint: false,
    },
    arguments: workflowBundleArguments,
    answer: workflowBundleAnswer,
    run: async ({ workflow_id: id }, { guards }) => {
      const state = await readWorkflowState(tools, await guards.lookUp(() => findWorkflow(tools, id)), false);
      const { status, output_count, merkle_root, completed_at } = state;
      if (status !== 'completed' || merkle_root === null || completed_at === null) {
        throw new ServiceError('conflict', 'The workflow is not completed, so it has no evidence yet. Complete it first.', {
          members: { reason: 'workflow_open' },
        });
      }
      return {
        workflow_id: id,
        output_count,
        merkle_root,
        completed_at,
        bundle_url: links.absolute(evidencePath(id, 'zip')),
        evidence_url: links.absolute(evidencePath(id, 'json')),
        page_url: links.absolute(workflowPath(id)),
      };
    },
    links: ({ workflow_id }) => [links.bundle(workflow_id), links.workflowPage(workflow_id)],
  });
}

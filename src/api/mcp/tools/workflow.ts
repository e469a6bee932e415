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
import { findWorkflow, openWorkflow, readWorkflowState, requestCompletion, stampOutputs, startWorkflow } from '../../workflows/index.ts';
import { adding, reading, toolOf } from './tool.ts';

const workflowStartTool = toolOf({
  name: 'workflow_start',
  description:
    'Start a workflow: a piece of work for a client. Its results are time-stamped one after the other and closed under one root. Call it once, before the first result. ' +
    'It mails the client a link that confirms the address, so give only an address that your user named (user_email). briefing_hash is the SHA-256 of the task as given; agent_id names you. ' +
    'Leave tier at standard unless your user asks for another: in the tiers verified and qualified nothing can be stamped until the client has confirmed the e-mail address. Returns workflow_id and workflow_token: keep both until workflow_complete; ' +
    'the token is a secret and is shown only once.',
  annotations: { ...adding, title: 'Start a workflow' },
  arguments: workflowStartArguments,
  answer: workflowStartAnswer,
  run: async (request, { tools, callerId, requestId, idempotencyKey, guards, links, baseUrl }) => {
    const passLimit = () => guards.start(request.user_email);
    const command = { request, callerId, requestId, idempotencyKey, passLimit, baseUrl };
    const { answer, isReplayed } = await startWorkflow(tools, command);
    return { answer: { ...answer, page_url: links.absolute(workflowPath(answer.workflow_id)) }, isReplayed };
  },
  linksOf: ({ workflow_id }, links) => [links.workflowPage(workflow_id)],
});

const workflowStatusTool = toolOf({
  name: 'workflow_status',
  description:
    'Read the state of a workflow: status (`pending` until the client has confirmed the e-mail address, then `active`, `completed` or `expired`), output_count, merkle_root and times. With workflow_token also whether the mail was ' +
    'sent. It only reads the record and verifies nothing.',
  annotations: { ...reading, title: 'Read the state of a workflow' },
  arguments: workflowStatusArguments,
  answer: workflowStatusAnswer,
  run: async ({ workflow_id: id, workflow_token: token }, { tools, guards, links }) => {
    const isHolder = typeof token === 'string';
    const workflow = await guards.lookUp(() => (isHolder ? openWorkflow(tools, id, token) : findWorkflow(tools, id)));
    return { answer: { ...(await readWorkflowState(tools, workflow, isHolder)), page_url: links.absolute(workflowPath(id)) } };
  },
  linksOf: ({ workflow_id: id, status }, links) => [links.workflowPage(id), ...(status === 'completed' ? [links.bundle(id)] : [])],
});

const workflowOutputTool = toolOf({
  name: 'workflow_stamp_output',
  description:
    'Time-stamp one result of a workflow and add it to its chain. Call it for each result when it is finished, one call after the other: the order of the calls is the order in the record (sequence_number 1, 2, 3 …). ' +
    'Give the SHA-256 of the result as output_hash and its kind as output_type, for example text, image, code, audio, video or layout; never send the result itself. This cannot be undone.',
  annotations: { ...adding, title: 'Stamp a result of a workflow' },
  arguments: workflowOutputArguments,
  answer: workflowOutputAnswer,
  run: async ({ workflow_id, workflow_token, ...order }, { tools, callerId, requestId, idempotencyKey, guards, links }) => {
    const workflow = await guards.lookUp(() => openWorkflow(tools, workflow_id, workflow_token));
    const passLimit = () => guards.outputs(workflow._id, 1);
    const command = { workflow, entries: [{ index: 0, order }], callerId, requestId, idempotencyKey, passLimit };
    const { answers, isReplayed } = await stampOutputs(tools, command);
    const { verify_url, workflow_anchor_url, ...made } = madeOf(await answers[0]!);
    const urls = { verify_url: links.absolute(verify_url), workflow_anchor_url: links.absolute(workflow_anchor_url) };
    return { answer: { ...made, ...urls }, isReplayed };
  },
  linksOf: ({ sequence_number, verify_url, stamp_token_id }, links) => [
    links.page(verify_url, `Output ${sequence_number}`),
    ...links.stamp(stamp_token_id, null),
  ],
});

const workflowCompleteTool = toolOf({
  name: 'workflow_complete',
  description:
    'Close a workflow under one time-stamped Merkle root. Call it once, after the last workflow_stamp_output has answered: nothing can be added afterwards, and it cannot be undone. Calling it again gives the same ' +
    'answer. Returns output_count, completed_at, page_url and bundle_url: give your user both addresses.',
  annotations: { ...adding, idempotentHint: true, title: 'Complete a workflow' },
  arguments: workflowCompleteArguments,
  answer: workflowCompleteAnswer,
  run: async ({ workflow_id: id, workflow_token }, { tools, requestId, idempotencyKey, guards, links, baseUrl }) => {
    const workflow = await guards.lookUp(() => openWorkflow(tools, id, workflow_token));
    const { answer, isReplayed } = await requestCompletion(tools, workflow, { requestId, idempotencyKey, baseUrl });
    const urls = { page_url: links.absolute(workflowPath(id)), bundle_url: links.absolute(evidencePath(id, 'zip')) };
    return { answer: { ...answer, verify_url: links.absolute(answer.verify_url), ...urls }, isReplayed };
  },
  linksOf: ({ workflow_id: id }, links) => [links.workflowPage(id), links.bundle(id)],
});

const workflowBundleTool = toolOf({
  name: 'workflow_bundle',
  description:
    'Get the address of the evidence of a completed workflow: one zip with chain, proofs, time-stamps, certificates and a script that checks it without this service. Give bundle_url to everybody who has to keep the ' +
    'proof. Fails with conflict while the workflow is open: call workflow_complete first.',
  annotations: { ...reading, title: 'Get the evidence of a workflow' },
  arguments: workflowBundleArguments,
  answer: workflowBundleAnswer,
  run: async ({ workflow_id: id }, { tools, guards, links: { absolute } }) => {
    const state = await readWorkflowState(tools, await guards.lookUp(() => findWorkflow(tools, id)), false);
    const { status, output_count, merkle_root, completed_at } = state;
    if (status !== 'completed' || merkle_root === null || completed_at === null) {
      throw new ServiceError('conflict', 'The workflow is not completed, so it has no evidence yet. Complete it first.', {
        members: { reason: 'workflow_open' },
      });
    }
    return {
      answer: {
        workflow_id: id,
        output_count,
        merkle_root,
        completed_at,
        bundle_url: absolute(evidencePath(id, 'zip')),
        evidence_url: absolute(evidencePath(id, 'json')),
        page_url: absolute(workflowPath(id)),
      },
    };
  },
  linksOf: ({ workflow_id: id }, links) => [links.bundle(id), links.workflowPage(id)],
});

/** In the order in which an assistant needs them. */
export const workflowTools = [workflowStartTool, workflowStatusTool, workflowOutputTool, workflowCompleteTool, workflowBundleTool];

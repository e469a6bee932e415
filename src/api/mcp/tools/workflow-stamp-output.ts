import { workflowOutputAnswer, workflowOutputArguments } from '../../../shared/contract/mcp.ts';
import type { Workflows } from '../../services/workflows/workflows.ts';
import type { Links } from './links.ts';
import { stampingAnnotations } from './stamp.ts';
import { createTool, type Tool } from './tool.ts';

export function createWorkflowOutputTool(deps: {
  readonly workflows: Pick<Workflows, 'open' | 'stampOutput'>;
  readonly links: Links;
}): Tool {
  const { workflows, links } = deps;
  return createTool({
    name: 'workflow_stamp_output',
    description:
      'Time-stamp one result of a workflow and add it to its chain. Call it for each result when it is finished, one call after the other: the order of the calls is the order in the record (sequence_number 1, 2, 3 …). ' +
      'Give the SHA-256 of the result as output_hash and what it is as output_type, for example text, image, code, audio, video or layout; never send the result itself. It cannot be taken back.',
    annotations: { ...stampingAnnotations, title: 'Stamp a result of a workflow' },
    arguments: workflowOutputArguments,
    answer: workflowOutputAnswer,
    needsToken: false,
    run: async ({ workflow_id, workflow_token, ...request }, { requestId, idempotencyKey, guards, onReplayed }) => {
      const workflow = await guards.lookUp(() => workflows.open(workflow_id, workflow_token));
      const passLimit = () => guards.outputs(workflow._id, 1);
      const { answer, isReplayed } = await workflows.stampOutput({ workflow, request, requestId, idempotencyKey, passLimit });
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

import { workflowCompleteAnswer, workflowCompleteArguments } from '../../../shared/contract/mcp.ts';
import { evidencePath, workflowPath } from '../../../shared/domain/addresses.ts';
import type { Workflows } from '../../services/workflows/workflows.ts';
import type { Links } from './links.ts';
import { createTool, type Tool } from './tool.ts';

export function createWorkflowCompleteTool(deps: {
  readonly workflows: Pick<Workflows, 'open' | 'complete' | 'bindAnswer'>;
  readonly links: Links;
}): Tool {
  const { workflows, links } = deps;
  return createTool({
    name: 'workflow_complete',
    description:
      'Close a workflow under one time-stamped Merkle root. Call it once, after the last workflow_stamp_output has answered: nothing can be added afterwards, and it cannot be undone. Calling it again gives the same ' +
      'answer. Returns output_count, completed_at, page_url and bundle_url: give your user both addresses.',
    annotations: { title: 'Complete a workflow', readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true },
    arguments: workflowCompleteArguments,
    answer: workflowCompleteAnswer,
    needsToken: false,
    run: async ({ workflow_id: id, workflow_token }, { requestId, idempotencyKey, guards, onReplayed }) => {
      const workflow = await guards.lookUp(() => workflows.open(id, workflow_token));
      const answer = await workflows.complete(workflow, requestId);
      if (await workflows.bindAnswer(workflow, 'complete', idempotencyKey)) onReplayed();
      const urls = { page_url: links.absolute(workflowPath(id)), bundle_url: links.absolute(evidencePath(id, 'zip')) };
      return { ...answer, verify_url: links.absolute(answer.verify_url), ...urls };
    },
    links: ({ workflow_id }) => [links.workflowPage(workflow_id), links.bundle(workflow_id)],
  });
}

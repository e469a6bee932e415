import { workflowStatusAnswer, workflowStatusArguments } from '../../../shared/contract/mcp.ts';
import { workflowPath } from '../../../shared/domain/addresses.ts';
import type { Workflows } from '../../services/workflows/workflows.ts';
import type { Links } from './links.ts';
import { createTool, type Tool } from './tool.ts';

export function createWorkflowStatusTool(deps: {
  readonly workflows: Pick<Workflows, 'open' | 'find' | 'state'>;
  readonly links: Links;
}): Tool {
  const { workflows, links } = deps;
  return createTool({
    name: 'workflow_status',
    description:
      'Read where a workflow stands: status (`pending` until the client has opened the mailed link, then `active`, `completed` or `expired`), output_count, merkle_root and times. With workflow_token also whether the mail was ' +
      'sent. It tells what is recorded and verifies nothing. Needs no service token.',
    annotations: {
      title: 'Read the state of a workflow',
      readOnlyHint: true,
      destructiveHint: false,
      idempotentHint: true,
      openWorldHint: false,
    },
    arguments: workflowStatusArguments,
    answer: workflowStatusAnswer,
    needsToken: false,
    run: async ({ workflow_id: id, workflow_token: token }, { guards }) => {
      const isHolder = typeof token === 'string';
      const workflow = await guards.lookUp(() => (isHolder ? workflows.open(id, token) : workflows.find(id)));
      return { ...(await workflows.state(workflow, isHolder)), page_url: links.absolute(workflowPath(id)) };
    },
    links: ({ workflow_id, status }) => [links.workflowPage(workflow_id), ...(status === 'completed' ? [links.bundle(workflow_id)] : [])],
  });
}

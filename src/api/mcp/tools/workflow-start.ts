import { workflowStartAnswer, workflowStartArguments } from '../../../shared/contract/mcp.ts';
import { workflowPath } from '../../../shared/domain/addresses.ts';
import type { Workflows } from '../../services/workflows/workflows.ts';
import type { Links } from './links.ts';
import { createTool, type Tool } from './tool.ts';

export function createWorkflowStartTool(deps: {
  readonly workflows: Pick<Workflows, 'start'>;
  readonly links: Links;
  readonly baseUrl: () => string;
}): Tool {
  const { workflows, links, baseUrl } = deps;
  return createTool({
    name: 'workflow_start',
    description:
      'Start a workflow: a piece of work for a client whose results are time-stamped one after the other and closed under one root. Call it once, before the first result. ' +
      'Mails the client a link by which he confirms his address, so give only an address that your user named (user_email). briefing_hash is the SHA-256 of the task as it was given; agent_id names you. ' +
      'Leave tier at standard unless told: in the tiers verified and qualified nothing can be stamped until the client has opened the link. Returns workflow_id and workflow_token: keep both until workflow_complete; ' +
      'the token is told only once and is a secret. Needs no service token.',
    annotations: { title: 'Start a workflow', readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
    arguments: workflowStartArguments,
    answer: workflowStartAnswer,
    needsToken: false,
    run: async (request, { agent, requestId, idempotencyKey, guards, onReplayed }) => {
      const { answer, isReplayed } = await workflows.start({
        request,
        callerId: `workflow-start:${agent.slice('agent:'.length)}`,
        requestId,
        idempotencyKey,
        passLimit: () => guards.start(),
        baseUrl: baseUrl(),
      });
      if (isReplayed) onReplayed();
      return { ...answer, page_url: links.absolute(workflowPath(answer.workflow_id)) };
    },
    links: ({ workflow_id }) => [links.workflowPage(workflow_id)],
  });
}

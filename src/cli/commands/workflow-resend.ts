import { randomUUID } from 'node:crypto';
import type { Command } from '../command.ts';
import { exitCodes } from '../failure.ts';
import { openWorkflow, workflowOption } from '../workflow-file.ts';

export const workflowResend: Command = {
  name: 'workflow resend',
  operands: '',
  summary: 'mail a new link to confirm; the one before ends',
  options: { workflow: workflowOption },
  run: async (_operands, values, { terminal, connect }) => {
    const workflow = await openWorkflow(values);
    const answer = await connect().resendLink(workflow, randomUUID());
    terminal.result(answer, `workflow ${workflow.workflow_id}: a new link is mailed to ${answer.otp_sent_to}; the one before has ended`);
    return exitCodes.ok;
  },
};

import { randomUUID } from 'node:crypto';
import type { Command } from '../command.ts';
import { confirm } from '../confirm.ts';
import { exitCodes } from '../failure.ts';
import { openWorkflow, workflowOption } from '../workflow-file.ts';

export const workflowRedact: Command = {
  name: 'workflow redact',
  operands: '',
  summary: 'have the e-mail address of the workflow erased for good; outputs and proofs stay',
  options: {
    yes: ['', 'do not ask'],
    workflow: workflowOption,
  },
  run: async (_operands, values, { terminal, connect, ask }) => {
    const workflow = await openWorkflow(values);
    const { workflow_id } = workflow;
    await confirm(values, ask, `Erase the e-mail address of workflow ${workflow_id}? This cannot be undone.`);
    const redacted = await connect().redactWorkflow(workflow, randomUUID());
    terminal.result(redacted, `workflow ${workflow_id}: the service erased the e-mail address; outputs and proofs stay`);
    return exitCodes.ok;
  },
};

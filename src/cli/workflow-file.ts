import { stat } from 'node:fs/promises';
import { Option } from '@commander-js/extra-typings';
import { z } from 'zod';
import { CommandFailure, exitCodes } from './failure.ts';
import { parseJson, readText } from './local-files.ts';

/** The file that keeps a workflow token between commands. The service shows the token only once, and only the token gives access to the workflow. */
const workflowFile = z.object({
  qstamp: z.literal(1),
  kind: z.literal('workflow'),
  service: z.string(),
  workflow_id: z.string(),
  workflow_token: z.string(),
  expires_at: z.string(),
});
export type WorkflowFile = z.output<typeof workflowFile>;

/** A workflow file is much smaller. */
const mostBytes = 64 * 1024;

export const workflowFileName = 'qstamp-workflow.json';

/** The option of every command on a workflow. */
export const workflowOption = new Option('--workflow <FILE>', `the file with the workflow token (default ${workflowFileName})`);

/** Whether a file holds a workflow token, whatever its name. */
export async function isWorkflowFile(path: string): Promise<boolean> {
  if (!path.endsWith('.json') || (await stat(path)).size > mostBytes) return false;
  return workflowFile.safeParse(parseJson((await readText(path)) ?? '')).success;
}

/** Reads the workflow that `--workflow` names; by default that of this folder. @throws CommandFailure if there is none */
export async function openWorkflow(path = workflowFileName): Promise<WorkflowFile> {
  const text = await readText(path);
  const parsed = workflowFile.safeParse(parseJson(text ?? ''));
  if (parsed.success) return parsed.data;
  const fault = text === undefined ? `there is no ${path}` : `${path} is damaged, or is not the file of a workflow`;
  throw new CommandFailure(exitCodes.file, `${fault}; "qstamp workflow start" makes one, --workflow names another`);
}

import { open, rm } from 'node:fs/promises';
import type { Command } from '../command.ts';
import { asFailure, CommandFailure, exitCodes, misuse } from '../failure.ts';
import { readableSize } from '../terminal.ts';
import { openWorkflow, workflowOption } from '../workflow-file.ts';

const uuidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export const workflowBundle: Command = {
  name: 'workflow bundle',
  operands: '[ID]',
  summary: 'save what anybody needs to check the completed workflow without the service, as one zip file',
  details: 'Anybody may: of a workflow that is not yours, give its id. "qstamp verify BUNDLE.zip FILE..." judges it and asks nobody.',
  options: {
    out: ['FILE', 'where to (default workflow-ID.zip); a file that is there is left as it is'],
    workflow: workflowOption,
  },
  run: async ([id, ...others], values, { terminal, connect }) => {
    if (others.length > 0 || (id !== undefined && values.workflow !== undefined)) throw misuse('name one workflow');
    if (id !== undefined && !uuidPattern.test(id)) throw misuse(`"${id}" is no id of a workflow`);
    const workflowId = id ?? (await openWorkflow(values)).workflow_id;
    const path = values.out ?? `workflow-${workflowId}.zip`;
    const client = connect();
    const bytes = await save(path, client.fetchEvidence(workflowId), (count) => terminal.progress(`${path}: ${readableSize(count)} saved`));
    terminal.result(
      { workflow_id: workflowId, bundle: path, bytes },
      `workflow ${workflowId}: its evidence is saved as ${path} (${readableSize(bytes)})`,
      [`"qstamp verify ${path} FILE..." judges it`],
    );
    return exitCodes.ok;
  },
};

/** Writes a new file; what cannot be finished is removed. Answers its size, in octets. @throws CommandFailure */
async function save(path: string, chunks: AsyncIterable<Uint8Array>, onBytes: (count: number) => void): Promise<number> {
  const file = await open(path, 'wx').catch((error: unknown) => {
    const failure = asFailure(error);
    throw failure instanceof CommandFailure ? new CommandFailure(exitCodes.file, `${path}: ${failure.message}`) : failure;
  });
  let bytes = 0;
  try {
    for await (const chunk of chunks) {
      await file.write(chunk);
      bytes += chunk.length;
      onBytes(bytes);
    }
    await file.sync();
  } catch (error) {
    await file.close();
    await rm(path, { force: true });
    throw asFailure(error);
  }
  await file.close();
  return bytes;
}

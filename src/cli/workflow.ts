import { randomUUID } from 'node:crypto';
import { basename, extname } from 'node:path';
import { z } from 'zod';
import type { WorkflowTier } from '../shared/domain/tiers.ts';
import type { Client } from './client.ts';
import { CommandFailure, type ExitCode, exitCodes } from './failure.ts';
import { hashFile } from './hash-file.ts';
import { parseJson, readText, saveJson } from './json-file.ts';
import { isRecordPath, readRecord, recordPathOf, type StampRecord } from './stamp-record.ts';
import { readableSize, type Terminal, worstOf } from './terminal.ts';

type Metadata = Readonly<Record<string, string>>;

/** Where a workflow's token is kept between commands: it is shown only once, and is the only access to the workflow. */
const workflowFile = z.object({
  qstamp: z.literal(1),
  kind: z.literal('workflow'),
  service: z.string(),
  workflow_id: z.string(),
  workflow_token: z.string(),
  expires_at: z.string(),
});

async function openWorkflow(path: string): Promise<z.output<typeof workflowFile>> {
  const parsed = workflowFile.safeParse(parseJson((await readText(path)) ?? ''));
  if (parsed.success) return parsed.data;
  throw new CommandFailure(exitCodes.file, `${path} is no workflow: "qstamp workflow start" makes one, --workflow names another`);
}

export interface StartCommand {
  readonly email: string;
  readonly agent: string;
  /** The briefing, or its SHA-256. */
  readonly briefing: { readonly file: string } | { readonly sha256: string };
  readonly metadata: Metadata | undefined;
  readonly tier: WorkflowTier;
  readonly workflow: string;
}

export async function startWorkflow(command: StartCommand, client: Client, terminal: Terminal): Promise<ExitCode> {
  const { email, agent, briefing, metadata, tier, workflow: path } = command;
  if ((await readText(path)) !== undefined) {
    throw new CommandFailure(exitCodes.file, `${path} holds a workflow already; --workflow names another file`);
  }
  const briefing_hash = 'sha256' in briefing ? briefing.sha256 : (await hashFile(briefing.file, () => {})).sha256;
  const request = { user_email: email, agent_id: agent, briefing_hash, tier, ...(metadata && { briefing_metadata: metadata }) };
  const { workflow_token, ...started } = await client.startWorkflow(request, randomUUID());
  const { workflow_id, expires_at } = started;
  const saved = { qstamp: 1, kind: 'workflow', service: client.baseUrl, workflow_id, workflow_token, expires_at };
  await saveJson(path, saved, {
    overwrite: false,
    isSecret: true,
    what: `the workflow ${workflow_id} was started but its token not saved`,
  });
  terminal.result(
    { ...started, briefing_hash, saved: path },
    `workflow ${workflow_id} started, until ${expires_at}\n` +
      `  a link to confirm was mailed to ${started.otp_sent_to}\n` +
      `  its token is in ${path}: keep it, and keep it secret`,
  );
  return exitCodes.ok;
}

/** The documented output types by the extension of a file name (interface.md, WorkflowStampRequest). */
const extensionsOf: Readonly<Record<string, readonly string[]>> = {
  image: ['avif', 'bmp', 'gif', 'heic', 'jpeg', 'jpg', 'png', 'svg', 'tif', 'tiff', 'webp'],
  text: ['csv', 'doc', 'docx', 'html', 'json', 'md', 'odt', 'pdf', 'rtf', 'tex', 'txt', 'xml', 'yaml', 'yml'],
  audio: ['aac', 'flac', 'm4a', 'mp3', 'ogg', 'opus', 'wav'],
  video: ['avi', 'm4v', 'mkv', 'mov', 'mp4', 'webm'],
  code: ['c', 'cpp', 'cs', 'css', 'go', 'h', 'java', 'js', 'kt', 'mjs', 'php', 'py', 'rb', 'rs', 'sh', 'sql', 'swift', 'ts', 'tsx'],
  layout: ['ai', 'fig', 'idml', 'indd', 'psd', 'sketch', 'xd'],
};

function outputTypeOf(path: string): string {
  const extension = extname(path).slice(1).toLowerCase();
  const found = Object.entries(extensionsOf).find(([, extensions]) => extensions.includes(extension))?.[0];
  if (found !== undefined) return found;
  throw new CommandFailure(exitCodes.usage, 'its name does not tell what it is; name the type with --type');
}

export interface AddCommand {
  readonly files: readonly string[];
  /** Undefined: told by the name of each file. */
  readonly type: string | undefined;
  readonly metadata: Metadata | undefined;
  readonly workflow: string;
  readonly force: boolean;
}

/** Stamps outputs one after another: their order is part of what the workflow proves (W8). The first that fails ends it. */
export async function addOutputs(command: AddCommand, client: Client, terminal: Terminal): Promise<ExitCode> {
  const workflow = await openWorkflow(command.workflow);

  async function addOutput(path: string): Promise<void> {
    if (isRecordPath(path)) throw new CommandFailure(exitCodes.file, 'this is a stamp already');
    const recordPath = recordPathOf(path);
    if (!command.force && (await readRecord(recordPath))) {
      throw new CommandFailure(exitCodes.file, `${recordPath} holds a stamp already; --force replaces it`);
    }
    const output_type = command.type ?? outputTypeOf(path);
    let bytesRead = 0;
    const { sha256, bytes } = await hashFile(path, (count) => {
      bytesRead += count;
      terminal.progress(`${path}: ${readableSize(bytesRead)} read`);
    });
    const request = { output_hash: sha256, output_type, ...(command.metadata && { output_metadata: command.metadata }) };
    const output = await client.addOutput(workflow, request, randomUUID());
    const common = { qstamp: 1, file: basename(path), bytes, sha256, service: client.baseUrl } as const;
    const record: StampRecord = { ...common, kind: 'workflow_output', workflow_id: workflow.workflow_id, output };
    await saveJson(recordPath, record, { overwrite: command.force, what: `output ${output.sequence_number} was stamped but not saved` });
    terminal.result(
      { file: path, saved: recordPath, sha256, output_type, ...output },
      `${path}: output ${output.sequence_number} (${output_type}), saved as ${recordPath}`,
    );
  }

  for (const path of command.files) {
    try {
      await addOutput(path);
    } catch (error) {
      return worstOf([terminal.problem(path, error)]);
    }
  }
  return exitCodes.ok;
}

export async function completeWorkflow(path: string, client: Client, terminal: Terminal): Promise<ExitCode> {
  const completed = await client.completeWorkflow(await openWorkflow(path), randomUUID());
  const { workflow_id, output_count, completed_at, verify_url } = completed;
  terminal.result(
    completed,
    `workflow ${workflow_id} completed at ${completed_at} with ${output_count} ${output_count === 1 ? 'output' : 'outputs'}\n` +
      `  anyone may check it at ${client.addressOf(verify_url)}`,
  );
  return exitCodes.ok;
}

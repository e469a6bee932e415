import { basename, extname } from 'node:path';
import type { Client } from '../client.ts';
import type { Command } from '../command.ts';
import { digestFile } from '../digest-input.ts';
import { CommandFailure, exitCodes, misuse } from '../failure.ts';
import { saveJson } from '../json-file.ts';
import { filesOf, folderRule } from '../operand-files.ts';
import { metadataOf } from '../options.ts';
import { describeStampRecord, isStampRecordPath, readStampRecord, type StampRecord, stampRecordPathOf } from '../stamp-record.ts';
import { type FileOutcome, notTried, readableSize, type Terminal } from '../terminal.ts';
import { openWorkflow, type WorkflowFile, workflowOption } from '../workflow-file.ts';

/** The file name extensions of each documented output type. */
const extensionsOf: Readonly<Record<string, readonly string[]>> = {
  image: ['avif', 'bmp', 'gif', 'heic', 'jpeg', 'jpg', 'png', 'svg', 'tif', 'tiff', 'webp'],
  text: ['csv', 'doc', 'docx', 'html', 'json', 'md', 'odt', 'pdf', 'rtf', 'tex', 'txt', 'xml', 'yaml', 'yml'],
  audio: ['aac', 'flac', 'm4a', 'mp3', 'ogg', 'opus', 'wav'],
  video: ['avi', 'm4v', 'mkv', 'mov', 'mp4', 'webm'],
  code: ['c', 'cpp', 'cs', 'css', 'go', 'h', 'java', 'js', 'kt', 'mjs', 'php', 'py', 'rb', 'rs', 'sh', 'sql', 'swift', 'ts', 'tsx'],
  layout: ['ai', 'fig', 'idml', 'indd', 'psd', 'sketch', 'xd'],
};

/** The output type of a file by its name. @throws CommandFailure `usage` if the extension is unknown */
function outputTypeOf(path: string): string {
  const extension = extname(path).slice(1).toLowerCase();
  const found = Object.entries(extensionsOf).find(([, extensions]) => extensions.includes(extension))?.[0];
  if (found !== undefined) return found;
  throw misuse('its file name does not show its type; give it with --type');
}

/** Stamps outputs one after the other, because the workflow also proves their order (W8). It stops at the first failure. */
export const workflowAdd: Command = {
  name: 'workflow add',
  operands: 'FILE|FOLDER...',
  summary: 'stamp outputs, in this order; each is saved as FILE.qstamp.json',
  details:
    'The command stops at the first failure, so that no output takes the place of another. Run it again with the same folder, and ' +
    `it goes on where it stopped: files of a folder that are outputs of this workflow already are left out.\n${folderRule}`,
  options: {
    type: ['TYPE', 'image, text, audio, video, code, layout or another (default: from the file name)'],
    metadata: ['NAME=VALUE', 'stored with the output; may be repeated'],
    'show-name': ['', 'show the name of the file on the public page of the workflow'],
    force: ['', 'replace existing stamps'],
    workflow: workflowOption,
  },
  run: async (operands, values, context) => {
    const { terminal } = context;
    if (operands.length === 0) throw misuse('name at least one file to add');
    const metadata = metadataOf(values);
    const client = context.connect();
    const options = {
      workflow: await openWorkflow(values),
      type: values.type,
      metadata,
      showsName: values['show-name'] ?? false,
      force: values.force ?? false,
    };
    const { files, inFolders, problems } = await filesOf(operands, terminal);
    if (options.force && inFolders.size > 0) throw misuse('--force replaces stamps, so it takes files and not folders');
    if (problems.length > 0) return terminal.summary(problems);
    const outcomes: FileOutcome[] = [];
    for (const path of files) {
      try {
        const word = await addOutput(path, { ...options, skipsOutputs: inFolders.has(path) }, client, terminal);
        outcomes.push({ code: exitCodes.ok, word });
      } catch (error) {
        outcomes.push({ code: terminal.problem(path, error), word: 'failed' });
        break;
      }
    }
    const left = files.slice(outcomes.length).map(() => ({ code: exitCodes.ok, word: notTried }));
    return terminal.summary([...outcomes, ...left]);
  },
};

type SavedOutput = Extract<StampRecord, { kind: 'workflow_output' }>;

interface AddOptions {
  readonly workflow: WorkflowFile;
  /** Undefined: the type follows from the name of each file. */
  readonly type: string | undefined;
  readonly metadata: Readonly<Record<string, string>> | undefined;
  /** Whether the workflow page shows the name of the file. */
  readonly showsName: boolean;
  readonly force: boolean;
  /** True: skips a file that is already an output of this workflow. */
  readonly skipsOutputs: boolean;
}

/** Returns what became of the file, in one or two words. */
async function addOutput(path: string, options: AddOptions, client: Client, terminal: Terminal): Promise<string> {
  const { workflow, showsName, force } = options;
  const metadata = showsName ? { ...options.metadata, name: basename(path), public: true } : options.metadata;
  if (isStampRecordPath(path)) throw new CommandFailure(exitCodes.file, 'this is already a stamp');
  const recordPath = stampRecordPathOf(path);
  const existing = force ? undefined : await readStampRecord(recordPath);
  if (existing?.kind === 'workflow_output' && options.skipsOutputs && (await isOutputOf(workflow, existing, path, terminal))) {
    // An earlier run may have ended before it had the token.
    if (existing.token === null) await addToken(existing, recordPath, client);
    terminal.result(
      { file: path, saved: recordPath, already_stamped: true },
      `${path}: ${describeStampRecord(existing)}, before this`,
      [],
      'valid',
    );
    return 'already stamped';
  }
  if (existing)
    throw new CommandFailure(exitCodes.file, `it was ${describeStampRecord(existing)} (${recordPath}); --force stamps it again`);
  const output_type = options.type ?? outputTypeOf(path);
  const { imprint, bytes } = await digestFile(path, { onBytes: terminal.track(path) });
  const sha256 = imprint.digest;
  const output = await client.addOutput(workflow, sha256, { output_type, ...(metadata && { output_metadata: metadata }) });
  const { workflow_id } = workflow;
  const common = { qstamp: 1, file: basename(path), bytes, sha256, service: client.baseUrl } as const;
  const record: SavedOutput = { ...common, kind: 'workflow_output', workflow_id, output, token: null };
  const named = `output ${output.sequence_number}`;
  // The record is saved before the token is fetched: if fetching fails, the user still knows that the output is stamped.
  await saveJson(recordPath, record, { overwrite: force, what: `${named} was stamped but not saved` });
  await addToken(record, recordPath, client);
  terminal.result(
    { file: path, saved: recordPath, sha256, output_type, ...output },
    `${path} (${readableSize(bytes)}): ${named} (${output_type}), saved as ${recordPath}`,
    [],
    'valid',
  );
  return 'stamped';
}

/** Fetches the token of an output and saves it in the record. */
async function addToken(record: SavedOutput, recordPath: string, client: Client): Promise<void> {
  const named = `output ${record.output.sequence_number}`;
  const token = await fetchTokenOf(record.output.stamp_token_id, named, client);
  if (token) await saveJson(recordPath, { ...record, token }, { overwrite: true, what: `the time-stamp token of ${named} was not saved` });
}

/** Whether a record is that of this file, as it is now, in this workflow. */
async function isOutputOf(workflow: WorkflowFile, record: StampRecord, path: string, terminal: Terminal): Promise<boolean> {
  if (record.kind !== 'workflow_output' || record.workflow_id !== workflow.workflow_id) return false;
  return record.sha256 === (await digestFile(path, { onBytes: terminal.track(path) })).imprint.digest;
}

/**
 * Fetches the token for the record, in base64, so that the file can be verified without the service. Returns undefined for a stamp of the mock
 * provider, which has no token.
 */
async function fetchTokenOf(stampId: string, named: string, client: Client): Promise<string | undefined> {
  try {
    return (await client.fetchToken(stampId))?.toString('base64');
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    const message = `${named} was stamped and saved, but its time-stamp token could not be fetched (${error.message}); verify it with --online`;
    throw new CommandFailure(error.exitCode, message, error.details);
  }
}

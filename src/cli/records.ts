import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { Option } from '@commander-js/extra-typings';
import { z } from 'zod';
import { stampToken } from '../shared/contract/stamp.ts';
import { workflowStampResponse } from '../shared/contract/workflow.ts';
import { isServiceUrl } from './client.ts';
import { CommandFailure, exitCodes } from './failure.ts';
import { parseJson, readText } from './local-files.ts';
import { withMilliseconds } from './terminal.ts';

const common = {
  qstamp: z.literal(1),
  /** The name of the stamped file without its folder, so that both files can be moved together. */
  file: z.string(),
  bytes: z.int(),
  sha256: z.string(),
  service: z.string(),
};

/** The contents of `<file>.qstamp.json`: the data of a stamp that verifies the file beside it. */
const stampRecord = z.discriminatedUnion('kind', [
  z.object({ ...common, kind: z.literal('stamp'), stamp: stampToken }),
  z.object({
    ...common,
    kind: z.literal('workflow_output'),
    workflow_id: z.string(),
    output: workflowStampResponse,
    /** The token or evidence record, base64 of DER; null if the stamp has none, as with the mock provider, or if it could not be fetched. */
    token: z.string().nullable().default(null),
  }),
]);
export type StampRecord = z.output<typeof stampRecord>;

const suffix = '.qstamp.json';

export const stampRecordPathOf = (path: string): string => `${path}${suffix}`;
export const isStampRecordPath = (path: string): boolean => basename(path).endsWith(suffix) && basename(path) !== suffix;
export const stampedPathOf = (recordPath: string): string => recordPath.slice(0, -suffix.length);

/** The token in a stamp record, in base64; null if the record has none. */
export const tokenOfRecord = (record: StampRecord): string | null => (record.kind === 'stamp' ? record.stamp.token : record.token);
export const stampIdIn = (record: StampRecord): string => (record.kind === 'stamp' ? record.stamp.token_id : record.output.stamp_token_id);

/** Describes the stamp in a record for people. It repeats what the record says, which proves nothing. */
export const describeStampRecord = (record: StampRecord): string =>
  record.kind === 'stamp'
    ? `stamped at ${withMilliseconds(record.stamp.issued_at)}`
    : `stamped as output ${record.output.sequence_number} of a workflow`;

/**
 * Reads a stamp record. Returns undefined if there is no such file.
 *
 * @throws CommandFailure if the file is not a stamp record
 */
export async function readStampRecord(recordPath: string): Promise<StampRecord | undefined> {
  const text = await readText(recordPath);
  if (text === undefined) return undefined;
  const parsed = stampRecord.safeParse(parseJson(text));
  if (parsed.success) return parsed.data;
  const advice = { command: 'use a copy, or stamp again with --force', tool: 'ask your user for a copy of it' };
  throw new CommandFailure(exitCodes.file, `${recordPath} is damaged, or is not a stamp`, {}, advice);
}

/** The path where an earlier stamp is kept when a new stamp replaces it. @throws CommandFailure if another file has this path */
export async function placeOfEarlier(record: StampRecord, recordPath: string): Promise<string> {
  const label = record.kind === 'stamp' ? record.stamp.tier : 'workflow';
  const place = stampRecordPathOf(`${stampedPathOf(recordPath)}.${label}`);
  const there = await readText(place);
  if (there === undefined || there === (await readText(recordPath))) return place;
  throw new CommandFailure(exitCodes.file, `the earlier stamp cannot be kept, because ${place} exists`);
}

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
  if (parsed.success && isServiceUrl(parsed.data.service)) return parsed.data;
  const fault = text === undefined ? `there is no ${path}` : `${path} is damaged, or is not the file of a workflow`;
  const advice = {
    command: '"qstamp workflow start" makes one, --workflow names another',
    tool: 'workflow_start makes one, and the argument workflow names another',
  };
  throw new CommandFailure(exitCodes.file, fault, {}, advice);
}

import { basename } from 'node:path';
import { z } from 'zod';
import { workflowStampResponse } from '../shared/contract/workflow.ts';
import { stampAnswer } from './answers.ts';
import { CommandFailure, exitCodes } from './failure.ts';
import { parseJson, readText } from './json-file.ts';

const common = {
  /** The version of this format. */
  qstamp: z.literal(1),
  /** The name of the stamped file, without its folder, so both files may move together. */
  file: z.string(),
  bytes: z.int(),
  sha256: z.string(),
  service: z.string(),
};

/** The contents of `<file>.qstamp.json`: everything that is needed to verify the file beside it. */
export const stampRecord = z.discriminatedUnion('kind', [
  z.object({ ...common, kind: z.literal('stamp'), stamp: stampAnswer }),
  z.object({
    ...common,
    kind: z.literal('workflow_output'),
    workflow_id: z.string(),
    output: workflowStampResponse,
    /** Base64 of the DER TimeStampToken; null if the stamp has none, like those of the mock provider, or it could not be fetched. */
    token: z.string().nullable().default(null),
  }),
]);
export type StampRecord = z.output<typeof stampRecord>;

const suffix = '.qstamp.json';

export const stampRecordPathOf = (path: string): string => `${path}${suffix}`;
export const isStampRecordPath = (path: string): boolean => basename(path).endsWith(suffix) && basename(path) !== suffix;
export const stampedPathOf = (recordPath: string): string => recordPath.slice(0, -suffix.length);

/** Base64 of the token in a record; null if it has none. */
export const tokenIn = (record: StampRecord): string | null => (record.kind === 'stamp' ? record.stamp.token : record.token);
export const stampIdIn = (record: StampRecord): string => (record.kind === 'stamp' ? record.stamp.token_id : record.output.stamp_token_id);

/** Describes the stamp in a record for people. The record's own words are never a proof. */
export const describeStampRecord = (record: StampRecord): string =>
  record.kind === 'stamp' ? `stamped at ${record.stamp.issued_at}` : `stamped as output ${record.output.sequence_number} of a workflow`;

/**
 * The record in a file; undefined if there is no such file.
 *
 * @throws CommandFailure if it is not a stamp record.
 */
export async function readStampRecord(recordPath: string): Promise<StampRecord | undefined> {
  const text = await readText(recordPath);
  if (text === undefined) return undefined;
  const parsed = stampRecord.safeParse(parseJson(text));
  if (parsed.success) return parsed.data;
  throw new CommandFailure(exitCodes.file, `${basename(recordPath)} is not a stamp that this command saved`);
}

import { openAsBlob } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { hashNameOf } from '../../shared/domain/stamp.ts';
import type { Client } from '../client.ts';
import type { Command, Context } from '../command.ts';
import { CommandFailure, type ExitCode, exitCodes, misuse } from '../failure.ts';
import { readStampRecord, stampIdIn, stampRecordPathOf } from '../stamp-record.ts';
import { worstOf } from '../terminal.ts';

export const renew: Command = {
  name: 'renew',
  operands: 'FILE...',
  summary: 'extend the evidence of a stamped file to its hash by a stronger algorithm, and save the record as FILE.ers',
  details:
    'The content is sent; the service hashes it and does not store it. The service needs until its next daily run. Run this command again\n' +
    'then to save the evidence record. "qstamp verify FILE.ers" verifies it.',
  options: {},
  run: async (files, _values, context) => {
    if (files.length === 0) throw misuse('name at least one stamped file');
    const client = context.connect();
    const codes: ExitCode[] = [];
    for (const file of files) {
      try {
        await renewOne(file, client, context);
        codes.push(exitCodes.ok);
      } catch (error) {
        codes.push(context.terminal.problem(file, error));
      }
    }
    return worstOf(codes);
  },
};

async function renewOne(file: string, client: Client, { terminal }: Context): Promise<void> {
  const record = await readStampRecord(stampRecordPathOf(file));
  if (record === undefined) throw new CommandFailure(exitCodes.file, `there is no stamp beside it (${stampRecordPathOf(file)})`);
  const tokenId = stampIdIn(record);
  const { is_renewed, imprint } = await client.renewEvidence(tokenId, await openAsBlob(file));
  const found = { file, token_id: tokenId, imprint, is_renewed };
  if (!is_renewed) {
    terminal.result(
      found,
      `${file}: its ${hashNameOf(imprint.algorithm)} will be covered after the next daily run of the service; run this again then`,
    );
    return;
  }
  const saved = `${file}.ers`;
  await replace(saved, await client.fetchRecord(tokenId));
  terminal.result({ ...found, saved }, `${file}: its evidence covers the ${hashNameOf(imprint.algorithm)}, saved as ${saved}`);
}

/** Replaces a file in one step. An existing evidence record may be replaced: it is an older record of the same stamp, or can be fetched again. */
async function replace(path: string, bytes: Uint8Array): Promise<void> {
  const written = `${path}.tmp`;
  try {
    await writeFile(written, bytes, { flush: true });
    await rename(written, path);
  } catch (error) {
    await rm(written, { force: true });
    throw error;
  }
}

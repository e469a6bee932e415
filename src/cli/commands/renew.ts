import { openAsBlob } from 'node:fs';
import { hashNameOf } from '../../shared/domain/stamp.ts';
import type { Client } from '../client.ts';
import type { Context, Program } from '../command.ts';
import { CommandFailure, exitCodes } from '../failure.ts';
import { saveFile } from '../local-files.ts';
import { readStampRecord, stampIdIn, stampRecordPathOf } from '../records.ts';
import { forEachFile } from '../terminal.ts';

export function addRenewCommand(program: Program, context: Context): void {
  program
    .command('renew')
    .description(
      'extend the evidence of a stamped file to its hash by a stronger algorithm, and save the record as FILE.ers\n\n' +
        'The content is sent; the service hashes it and does not store it. The service needs until its next daily run. Run this command again ' +
        'then to save the evidence record. "qstamp verify FILE.ers" verifies it.\n' +
        'For operators: "qstamp renew" without FILE renews the evidence that is due, like the workers once a day. Its settings are theirs.',
    )
    .argument('[FILE...]')
    .action((files) => {
      if (files.length === 0) return context.renewDue();
      const client = context.connect();
      return forEachFile(files, context.terminal, (file) => renewOne(file, client, context));
    });
}

async function renewOne(file: string, client: Client, { terminal }: Context): Promise<void> {
  const record = await readStampRecord(stampRecordPathOf(file));
  if (record === undefined) {
    throw new CommandFailure(exitCodes.file, `there is no stamp beside it (${stampRecordPathOf(file)}); "qstamp stamp FILE" makes one`);
  }
  const tokenId = stampIdIn(record);
  const { is_renewed, imprint } = await client.renewEvidence(tokenId, await openAsBlob(file));
  const found = { file, token_id: tokenId, imprint, is_renewed };
  if (!is_renewed) {
    const hash = hashNameOf(imprint.algorithm);
    return terminal.done(
      'waiting',
      found,
      `${file}: its ${hash} will be covered after the next daily run of the service; run this again then`,
    );
  }
  const saved = `${file}.ers`;
  // An existing evidence record may be replaced: it is an older record of the same stamp, or can be fetched again.
  await saveFile(saved, [await client.fetchRecord(tokenId)], { overwrite: true });
  terminal.done('saved', { ...found, saved }, `${file}: its evidence covers the ${hashNameOf(imprint.algorithm)}, saved as ${saved}`);
}

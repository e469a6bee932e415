import { readFile, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { Option } from '@commander-js/extra-typings';
import type { StampToken } from '../../shared/contract/stamp.ts';
import { stampTiers } from '../../shared/domain/stamp.ts';
import type { Client } from '../client.ts';
import { type Context, metadataOption, type Program } from '../command.ts';
import { CommandFailure, exitCodes, misuse } from '../failure.ts';
import { type DigestedInput, digestInput, saveFile, saveJson, standardInput } from '../local-files.ts';
import { filesOf, stampedFolderRule } from '../operands.ts';
import {
  describeStampRecord,
  isStampRecordPath,
  placeOfEarlier,
  readStampRecord,
  type StampRecord,
  stampRecordPathOf,
} from '../records.ts';
import { forEachFile, readableSize, withMilliseconds } from '../terminal.ts';

const mostAtATime = 4;

export function addStampCommand(program: Program, context: Context): void {
  program
    .command('stamp')
    .description(
      'stamp files, or - for standard input; each stamp is saved as FILE.qstamp.json\n\n' +
        'A file that was stamped before keeps its stamp, because an older stamp proves more. The stamp of standard ' +
        `input is saved as stdin-HASH.qstamp.json; keep it beside the content.\n${stampedFolderRule}\nEach file is printed when it is done, so their order may differ.`,
    )
    .argument('<FILE|FOLDER...>')
    .addOption(
      new Option('--tier <TIER>', 'how much is stored; sealed uploads the content, the others send only its hash')
        .choices(stampTiers)
        .default('basic'),
    )
    .addOption(metadataOption('stored with the stamp, not signed'))
    .option('--force', 'replace existing stamps')
    .action((files, options) => stampFiles(files, options, context.connect(), context));
}

interface StampOptions {
  readonly tier: StampToken['tier'];
  readonly metadata?: Readonly<Record<string, string>>;
  readonly force?: true;
}

/** Stamps files, and all files of folders, and saves each stamp beside its file. */
export async function stampFiles(
  given: readonly string[],
  options: StampOptions,
  client: Client,
  { terminal, stdin }: Pick<Context, 'terminal' | 'stdin'>,
): Promise<void> {
  const { files, inFolders } = await filesOf(given, terminal);
  if (options.force && inFolders.size > 0) throw misuse('--force replaces stamps, so it takes files and not folders');
  const paths = [...new Set(files)];
  let done = 0;
  const onBytes = await trackFiles(paths, () => done, terminal);

  async function stampOne(path: string): Promise<void> {
    if (isStampRecordPath(path)) throw new CommandFailure(exitCodes.file, 'this is already a stamp');
    const input = await digestInput(path, stdin, { keepsContent: options.tier === 'sealed', onBytes });
    const sha256 = input.imprint.digest;
    const recordPath = stampRecordPathOf(path === standardInput ? `stdin-${sha256.slice(0, 16)}` : path);
    const existing = options.force ? undefined : await readStampRecord(recordPath);
    const found = { file: path, saved: recordPath, sha256 };
    if (existing) checkUnchanged(existing, input, recordPath);
    if (existing && !lacksContent(existing, options)) {
      const stamp = existing.kind === 'stamp' && { stamp: existing.stamp };
      const line = `${path}: ${describeStampRecord(existing)}, before this; see ${recordPath}`;
      return terminal.done('already stamped', { ...found, already_stamped: true, ...stamp }, line);
    }
    const earlier = existing && (await placeOfEarlier(existing, recordPath));
    const stamp = await requestStamp(input, options, client);
    if (earlier) await saveFile(earlier, [await readFile(recordPath)], { overwrite: true });
    const record: StampRecord = {
      qstamp: 1,
      kind: 'stamp',
      file: basename(path),
      bytes: input.bytes,
      sha256,
      service: client.baseUrl,
      stamp,
    };
    await saveJson(recordPath, record, {
      overwrite: options.force === true || existing !== undefined,
      what: `the stamp ${stamp.token_id} was made but not saved`,
      isSecret: stamp.sealed_storage_url !== null,
    });
    const line = `${path} (${readableSize(input.bytes)}): ${describeStamp(stamp)}, saved as ${recordPath}`;
    const details = earlier ? [`the earlier stamp is kept as ${earlier}`] : [];
    terminal.done('stamped', { ...found, stamp, ...(earlier && { earlier }) }, line, details);
  }

  const countDone = () => {
    done += 1;
    if (done < paths.length) onBytes(0);
  };
  await forEachFile(paths, terminal, (path) => stampOne(path).finally(countDone), mostAtATime);
}

async function trackFiles(
  paths: readonly string[],
  doneFiles: () => number,
  terminal: Context['terminal'],
): Promise<(count: number) => void> {
  if (!terminal.showsProgress) return () => {};
  const sizes = await Promise.all(paths.map(async (path) => (await stat(path).catch(() => undefined))?.size ?? 0));
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const advance = terminal.track(() => (paths.length === 1 ? paths[0]! : `${doneFiles()} of ${paths.length} files`));
  return (count) => advance(count, total);
}

/** Whether the user wants the service to store the content, but the existing stamp was made without stored content. */
const lacksContent = (record: StampRecord, { tier }: StampOptions): boolean =>
  tier === 'sealed' && (record.kind !== 'stamp' || record.stamp.tier !== 'sealed');

function checkUnchanged(record: StampRecord, { imprint }: DigestedInput, recordPath: string): void {
  if (record.sha256 === imprint.digest) return;
  throw new CommandFailure(
    exitCodes.file,
    `the file has changed since it was ${describeStampRecord(record)} (${recordPath})`,
    {},
    { command: '--force replaces that stamp', tool: 'save it under another name to stamp it as it is now' },
  );
}

async function requestStamp(input: DigestedInput, { tier, metadata }: StampOptions, client: Client): Promise<StampToken> {
  const options = { tier, ...(metadata && { metadata }) };
  const { content, imprint } = input;
  const stamp = await (content === undefined ? client.stampHash(imprint.digest, options) : client.sealContent(content, options));
  if (stamp.content_sha256 === imprint.digest) return stamp;
  throw new CommandFailure(exitCodes.file, 'the service stamped different content');
}

/** Describes the answer of the service. It is not verified here; `qstamp verify` verifies it. */
const describeStamp = ({ issued_at, tsp_provider, is_qualified, qualified }: StampToken): string =>
  `stamped at ${withMilliseconds(issued_at)} by ${tsp_provider} (${is_qualified ? qualifiedWords[qualified?.basis ?? 'unknown'] : 'not qualified'})`;

const qualifiedWords = {
  list: 'qualified by a trusted list, says the service',
  operator: 'qualified, as claimed by the operator',
  // An answer without details does not have the basis (E15).
  unknown: 'qualified, says the service',
};

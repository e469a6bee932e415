import { Option } from '@commander-js/extra-typings';
import { openTrust, type TrustOptions } from '../anchors.ts';
import { type Context, collect, type Program } from '../command.ts';
import { isContainerPath, withContainer } from '../container.ts';
import { misuse } from '../failure.ts';
import { type JudgeContext, judgeOutput, judgeSubject } from '../judge.ts';
import { type ListOptions, readGivenLists } from '../list-files.ts';
import { standardInput } from '../local-files.ts';
import { filesOf, findSubject, folderRule } from '../operands.ts';
import { forEachFile } from '../terminal.ts';
import { outputResult, type Result, verdictResult } from '../verdict-text.ts';
import { bundlesAmong, isBundleFolder, verifyBundles } from '../verify-bundle.ts';

export function addVerifyCommand(program: Program, context: Context): void {
  program
    .command('verify')
    .description(
      'verify files by the stamps beside them, or time-stamp tokens, with your trust anchors\n\n' +
        'Verifies on this machine and sends nothing, unless you give --online. The stamp of FILE is FILE.qstamp.json, FILE.tsr, ' +
        'FILE.tst or FILE.ers; FILE.asics contains both. A token is base64; an id needs --online.\n' +
        'BUNDLE.zip is the evidence of a workflow; FOLDER may be the same, unpacked. If you name a bundle, the command looks for the other files in it, ' +
        'as outputs or as the briefing. It is enough if one bundle has the file. A file that is in none is verified by the stamp beside it. ' +
        'A stamp beside BUNDLE.zip is verified too.\n' +
        'With --trusted-list, time-stamps are judged by trusted lists of the EU too, and the verdict says whether they are qualified. A service that a list ' +
        'grants needs no other trust anchor. The list must be signed with a certificate of --list-signers, or with one that a list of lists among the ' +
        'files names. A bundle may have its lists in it: then --list-signers is enough. Of several lists of a country the newest counts, and if two have one number and different contents, none does.\n' +
        'A verdict is "valid", "NOT VALID", or "NOT PROVED": you trust no certificate that confirms it, or data for verification is missing.\n' +
        `Certificates are verified at the time of the stamp.\n${folderRule}\nA folder does not show which files were deleted from it.`,
    )
    .argument('<FILE|FOLDER|TOKEN|ID|BUNDLE.zip...>')
    .option('--ca <FILE>', 'a trust anchor, PEM or DER, instead of the saved ones; may be repeated', collect)
    .option('--intermediate <FILE>', 'certificates that help to build a chain and are not trusted; may be repeated', collect)
    .option('--crl <FILE>', 'a revocation list, PEM or DER; may be repeated', collect)
    .option('--trusted-list <FILE>', 'a trusted list or list of lists in XML, or a pivot of it; may be repeated', collect)
    .option('--list-signers <FILE>', 'certificates that may sign the trusted lists, PEM or DER; may be repeated', collect)
    .option('--token <FILE|TOKEN>', 'the stamp of the one FILE, if it is not beside it')
    .addOption(
      new Option('--proof <FILE>', 'instead of a stamp: the proof from the service that the one FILE is an output of a workflow').conflicts(
        ['token', 'online'],
      ),
    )
    .option('--online', 'ask the service as well; its answer makes nothing valid')
    .action((operands, options) => verifyAll(operands, options, context));
}

interface VerifyOptions extends TrustOptions, ListOptions {
  readonly token?: string;
  readonly proof?: string;
  readonly online?: true;
}

/** Verifies names of files, tokens, ids and bundles, and prints a verdict for each. */
export async function verifyAll(operands: readonly string[], options: VerifyOptions, context: Context): Promise<void> {
  const { terminal, connect, stdin, anchorsFolder } = context;
  const { token, proof } = options;
  // Opened first, so that a fault in the user's trust anchors is noticed before long work, and does not look like a fault in a bundle.
  const trust = await openTrust(anchorsFolder, options);
  const { files: names, inFolders } = await filesOf(operands, terminal, isBundleFolder);
  if (token !== undefined && names.length > 1) throw misuse('--token is the stamp of one file');
  if (proof !== undefined && names.length > 1) throw misuse('--proof takes one file');
  const given = await readGivenLists(options, terminal);
  const bundles = token === undefined && proof === undefined ? await bundlesAmong(names, inFolders) : [];
  if (given.withBundle && options.trustedList === undefined && bundles.length === 0) {
    throw misuse('--list-signers needs --trusted-list, except for a bundle that has its lists in it');
  }
  const files = names.filter((name) => !bundles.includes(name));
  const stamped = bundles.length > 0 ? await verifyBundles(bundles, files, options, context, given) : files;
  const client = options.online ? connect() : undefined;
  const { lists } = given;
  let place = 0;
  let shown = '';
  await forEachFile(stamped, terminal, async (name) => {
    place += 1;
    const judging = {
      trust,
      lists,
      client,
      stdin,
      onBytes: terminal.track(stamped.length > 1 ? `${place} of ${stamped.length}, ${name}` : name),
      nowMs: Date.now(),
    };
    const { json, line, details: own, verdict, sign, code, word } = await judgeOperand(name, options, judging);
    const isInNone = bundles.length > 0 && files.includes(name);
    const details = isInNone ? ['in no bundle that you named: judged by the stamp beside it', ...own] : own;
    // For a folder, these lines are usually the same for all files.
    const isRepeated = verdict === 'valid' && JSON.stringify(details) === shown;
    shown = JSON.stringify(details);
    terminal.result(json, line, isRepeated ? ['details as above'] : details, sign);
    terminal.count(word, code);
  });
}

async function judgeOperand(
  name: string,
  { token, proof }: Pick<VerifyOptions, 'token' | 'proof'>,
  context: JudgeContext,
): Promise<Result> {
  const { trust } = context;
  if (proof !== undefined) return outputResult(name, await judgeOutput(name, proof, context), trust);
  if (token !== undefined || !isContainerPath(name)) {
    const subject = await findSubject(name, token);
    return verdictResult(name, subject, await judgeSubject(subject, context), trust);
  }
  return withContainer(name, async (container) => {
    const { proof, unread } = container;
    // The file is read like standard input, while it is unpacked.
    const subject = { input: standardInput, token: Buffer.from(proof), unread };
    return verdictResult(name, subject, await judgeSubject(subject, { ...context, stdin: container.readFile() }), trust);
  });
}

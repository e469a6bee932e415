import { Option } from '@commander-js/extra-typings';
import { openTrust, type TrustOptions } from '../anchors.ts';
import { type Context, collect, type Program } from '../command.ts';
import { asContainerFault, isContainerPath, openContainer } from '../container.ts';
import { standardInput } from '../digest-input.ts';
import { CommandFailure, type ExitCode, exitCodes, misuse } from '../failure.ts';
import { type JudgeContext, judgeOutput, judgeSubject, type SubjectJudgement } from '../judge.ts';
import { isBundleFolder } from '../judge-bundle.ts';
import { type ListOptions, readGivenLists } from '../list-files.ts';
import { filesOf, folderRule } from '../operand-files.ts';
import { findSubject } from '../subject.ts';
import { forEachFile } from '../terminal.ts';
import { type ToldVerdict, tellOutput, tellVerdict, verdictWords } from '../verdict-text.ts';
import { bundlesAmong, verifyBundles } from '../verify-bundle.ts';

export function addVerifyCommand(program: Program, context: Context): void {
  program
    .command('verify')
    .description(
      'verify files by the stamps beside them, or time-stamp tokens, with your trust anchors\n\n' +
        'Verifies on this machine and sends nothing, unless you give --online. The stamp of FILE is FILE.qstamp.json, FILE.tsr, ' +
        'FILE.tst or FILE.ers; FILE.asics contains both. A token is base64; an id needs --online.\n' +
        'BUNDLE.zip is the evidence of a workflow; FOLDER may be the same, unpacked. If you name a bundle, the command looks for the other files in it, ' +
        'as outputs or as the briefing. It is enough if one bundle has the file. A file that is in none is verified by the stamp beside it.\n' +
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

/** The options of the command. */
export interface VerifyOptions extends TrustOptions, ListOptions {
  readonly token?: string;
  readonly proof?: string;
  readonly online?: true;
}

async function verifyAll(operands: readonly string[], options: VerifyOptions, context: Context): Promise<void> {
  const { terminal, connect, stdin, anchorsFolder } = context;
  const { token, proof } = options;
  const { files: names, inFolders } = await filesOf(operands, terminal, isBundleFolder);
  if (token !== undefined && names.length > 1) throw misuse('--token is the stamp of one file');
  if (proof !== undefined && names.length > 1) throw misuse('--proof takes one file');
  const given = await readGivenLists(options);
  for (const [file, failure] of given.failures) terminal.problem(file, failure, 'list refused');
  const bundles = token === undefined && proof === undefined ? await bundlesAmong(names, inFolders) : [];
  if (given.withBundle && options.trustedList === undefined && bundles.length === 0) {
    throw misuse('--list-signers needs --trusted-list, except for a bundle that has its lists in it');
  }
  const files = names.filter((name) => !bundles.includes(name));
  const stamped = bundles.length > 0 ? await verifyBundles(bundles, files, options, context, given) : files;
  const client = options.online ? connect() : undefined;
  const trust = await openTrust(anchorsFolder, options);
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
    const { told, judgement } = await (proof === undefined ? judgeStamped(name, token, judging) : judgeProved(name, proof, judging));
    const code = codeOf(told, judgement);
    // A valid stamp that the service does not confirm is no reason to be calm, so it gets the sign of a stamp that is not proved.
    const isDoubted = told.verdict === 'valid' && code !== exitCodes.ok;
    const details =
      bundles.length > 0 ? ['in no bundle that you named: judged by the stamp beside it', ...(told.details ?? [])] : told.details;
    // For a folder, these lines are usually the same for all files.
    const isRepeated = told.verdict === 'valid' && details.join('\n') === shown;
    shown = details.join('\n');
    terminal.result(
      told.json,
      told.line,
      isRepeated ? ['details as above'] : details,
      isDoubted ? 'not_proved' : (told.sign ?? told.verdict),
    );
    terminal.count(isDoubted ? 'not confirmed by the service' : verdictWords[told.verdict], code);
  });
}

interface JudgedOperand {
  readonly told: ToldVerdict;
  readonly judgement: SubjectJudgement;
}

/** Judges the file in a container. The file is read like standard input, while it is unpacked. */
async function judgeContainer(name: string, context: JudgeContext): Promise<JudgedOperand> {
  const container = await openContainer(name);
  try {
    const { proof, unread } = container;
    const subject = { input: standardInput, token: Buffer.from(proof), stampId: undefined, record: undefined, unread };
    const judgement = await judgeSubject(subject, { ...context, stdin: container.readFile() });
    return { told: tellVerdict(name, subject, judgement, context.trust), judgement };
  } catch (error) {
    throw asContainerFault(error);
  } finally {
    await container.close();
  }
}

async function judgeStamped(name: string, token: string | undefined, context: JudgeContext): Promise<JudgedOperand> {
  if (token === undefined && isContainerPath(name)) return judgeContainer(name, context);
  const subject = await findSubject(name, token);
  const judgement = await judgeSubject(subject, context);
  return { told: tellVerdict(name, subject, judgement, context.trust), judgement };
}

async function judgeProved(name: string, proofPath: string, context: JudgeContext): Promise<JudgedOperand> {
  const found = await judgeOutput(name, proofPath, context);
  return { told: tellOutput(name, found, context.trust), judgement: found.judgement };
}

/** The exit code of a judgement. The answer of the service, or that there is none, counts only for what is valid here. */
function codeOf({ verdict, code }: ToldVerdict, { online }: SubjectJudgement): ExitCode {
  if (verdict !== 'valid') return code;
  if (online instanceof CommandFailure) return online.exitCode;
  return online === undefined || online.valid ? exitCodes.ok : exitCodes.notValid;
}

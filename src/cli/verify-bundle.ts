import { keepHeapSmall } from '../shared/archive/small-heap.ts';
import { bundleFiles } from '../shared/contract/evidence-bundle.ts';
import { type TrustMaterial, TrustMaterialError, type TrustStore } from '../shared/rfc3161/index.ts';
import { openTrust } from './anchors.ts';
import { asBundleFault, BundleFault, isBundlePath, mostSmallBytes, type OpenedBundle, openBundle } from './bundle-read.ts';
import { tellBrokenBundle, tellBundle, tellFound, verdictOf } from './bundle-text.ts';
import type { Context } from './command.ts';
import { digestInput } from './digest-input.ts';
import { CommandFailure, type ExitCode, exitCodes, misuse } from './failure.ts';
import { type BundleJudgement, judgeBundle, StampRefused } from './judge-bundle.ts';
import type { OptionValues } from './options.ts';
import { stampBeside } from './subject.ts';
import { worstOf } from './terminal.ts';

/** Whether the first of these names is an evidence bundle, and the others are files to be looked for in it. */
export const isForBundle = async ([first]: readonly string[], { token, proof }: OptionValues): Promise<boolean> =>
  first !== undefined && token === undefined && proof === undefined && isBundlePath(first) && (await stampBeside(first)) === undefined;

/** What the bundle brings that others have signed: it helps to build chains and is not trusted. */
async function broughtBy(
  bundle: OpenedBundle,
): Promise<{ brought: Pick<TrustMaterial, 'intermediates' | 'crls'>; notes: readonly string[] }> {
  const read = async (name: string): Promise<string[]> => {
    const text = (await bundle.bytesOf(name)).toString('latin1');
    return text.includes('-----BEGIN') ? [text] : [];
  };
  const isLarge = bundle.sizeOf(bundleFiles.revocationLists) > mostSmallBytes;
  return {
    brought: {
      intermediates: [...(await read(bundleFiles.otherCertificates)), ...(await read(bundleFiles.trustAnchors))],
      crls: isLarge ? [] : await read(bundleFiles.revocationLists),
    },
    notes: isLarge ? ['the revocation lists of the bundle: they are too large; give them by --crl'] : [],
  };
}

async function trustFor(
  bundle: OpenedBundle,
  values: OptionValues,
  anchorsFolder: string,
): Promise<{ trust: TrustStore; notes: readonly string[] }> {
  // Whom the reader trusts must be read first: what is wrong with that is not the bundle's fault.
  await openTrust(anchorsFolder, values);
  const { brought, notes } = await broughtBy(bundle);
  try {
    return { trust: await openTrust(anchorsFolder, values, brought), notes };
  } catch (error) {
    const cause = error instanceof CommandFailure || error instanceof TrustMaterialError ? error.message.replace(/^: /, '') : undefined;
    if (cause === undefined) throw error;
    throw new BundleFault('bundle_malformed', `The certificates in the bundle cannot be used: ${cause}`);
  }
}

/**
 * Judges an evidence bundle and tells which of its outputs each file is. It asks nobody.
 *
 * @throws CommandFailure where the bundle or a file cannot be read
 */
export async function verifyBundle(
  [path = '', ...files]: readonly string[],
  values: OptionValues,
  { terminal, stdin, anchorsFolder }: Context,
): Promise<ExitCode> {
  if (values.online) throw misuse('--online asks for stamps and not for bundles');
  // Until the command ends.
  keepHeapSmall();
  const codes: ExitCode[] = [];
  const digests = new Map<string, string>();
  for (const file of files) {
    try {
      digests.set(file, (await digestInput(file, stdin)).imprint.digest);
    } catch (error) {
      codes.push(terminal.problem(file, error));
    }
  }
  let judgement: BundleJudgement | undefined;
  try {
    const bundle = await openBundle(path);
    try {
      const { trust, notes } = await trustFor(bundle, values, anchorsFolder);
      const onOutput = (number: number) => terminal.progress(`${path}: output ${number} of ${bundle.record.output_count}`);
      judgement = await judgeBundle(bundle, { trust, nowMs: Date.now(), wanted: new Set(digests.values()), onOutput });
      const told = tellBundle(path, judgement, trust, notes);
      terminal.result(told.json, told.line, told.details);
      codes.push(verdictOf(judgement).verdict === 'valid' ? exitCodes.ok : exitCodes.notValid);
    } finally {
      bundle.close();
    }
  } catch (error) {
    const fault = error instanceof StampRefused ? error : asBundleFault(error);
    if (!(fault instanceof BundleFault || fault instanceof StampRefused)) {
      codes.push(terminal.problem(path, fault));
      return worstOf(codes);
    }
    const told = tellBrokenBundle(path, fault);
    terminal.result(told.json, told.line, told.details);
    codes.push(exitCodes.notValid);
  }
  const verdict = judgement ? verdictOf(judgement).verdict : 'not_valid';
  for (const [file, sha256] of digests) {
    const told = tellFound(file, sha256, { name: path, verdict, judgement });
    terminal.result(told.json, told.line, told.details);
    codes.push(told.verdict === 'valid' ? exitCodes.ok : exitCodes.notValid);
  }
  return worstOf(codes);
}

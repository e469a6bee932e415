import { createSecretKey, randomBytes } from 'node:crypto';
import type { StackContext } from '../../scripts/stack/context.ts';
import { isQualified, type Qualification } from '../../src/shared/domain/qualification.ts';
import { createTrustStore } from '../../src/shared/rfc3161/index.ts';
import { createTokenJudge, type Judgement } from '../../src/shared/trust/judge.ts';
import { createListIndex, type ListIndex } from '../../src/shared/trust/lists/index.ts';
import { readTrustedList } from '../../src/shared/trust/lists/read-list.ts';
import { base64, startJava } from './line-program.ts';
import { explainedTokens } from './list-differences.ts';
import type { ListFile } from './list-files.ts';
import { ensureJava, jarsOf } from './packages.ts';
import { judgedAtMs, madeTokens, realSets, realTokens, type TokenCase } from './token-cases.ts';

// Is a time-stamp qualified? Our judge and DSS are given the same token and the same trusted lists. They need not agree, but each difference must be
// explained in `list-differences.ts`.

interface Judged extends TokenCase {
  readonly ours: string;
  /** Our verdict without the operator's trust anchors: only the lists say whom to trust. */
  readonly byListsAlone: string;
  /** The kind of time-stamp, and whether DSS finds it valid: `QTSA PASSED`. */
  readonly dss: string;
}

/** @param lists those that our reader takes @returns what to print, and what is wrong */
export async function judgeListedTokens(
  context: StackContext,
  lists: readonly ListFile[],
): Promise<{ readonly rows: readonly string[]; readonly faults: readonly string[] }> {
  const countries = lists.filter(({ document, signers }) => readTrustedList(document, signers).kind === 'country_list');
  const sets = new Map(realSets.map((set) => [set, countries.filter(({ name }) => name.startsWith(`${set}/`))]));
  const dss = startJava(await ensureJava(context), await jarsOf(context, 'dss-lists'), 'listed-tokens.java');
  const judged: Judged[] = [];
  try {
    let loaded: TokenCase['lists'] = [];
    let index = createListIndex([]);
    for (const one of [...madeTokens(), ...realTokens(sets)]) {
      context.signal.throwIfAborted();
      if (one.lists !== loaded) {
        loaded = one.lists;
        index = createListIndex(loaded.map(({ document, signers }) => readTrustedList(document, signers)));
        for (const { document, signers } of loaded) await dss.command('list', base64(document), ...signers.map(base64));
        await dss.command('load');
      }
      const words = [base64(one.token), String(judgedAtMs), one.hash.algorithm, base64(one.hash.digest), ...one.crls.map(base64)];
      judged.push({
        ...one,
        ours: await judgeOurselves(one, index),
        byListsAlone: await judgeOurselves({ ...one, anchors: [], intermediates: [] }, index),
        dss: (await dss.command('qualify', ...words)).join('; '),
      });
    }
  } finally {
    await dss.close();
  }
  const qualified = judged.filter(({ ours }) => isGood(ours)).length;
  const counts = `${judged.length} tokens: we find ${qualified} qualified; ${judged.filter(differs).length} judged differently`;
  const shown = judged.filter((one) => one.expected !== undefined || differs(one) || !isUnlisted(one));
  const rest = `${judged.length - shown.length} more tokens of real TSAs: no list has the service, and neither finds them qualified`;
  return { rows: [row('token', 'qstamp', 'by lists alone', 'DSS'), ...shown.flatMap(rowsOf), '', counts, rest], faults: faultsOf(judged) };
}

async function judgeOurselves({ token, anchors, intermediates }: TokenCase, index: ListIndex): Promise<string> {
  const extraTrust = createTrustStore({ anchors, intermediates });
  const { judge } = createTokenJudge({
    trust: { providers: [], extraTrust },
    lists: () => index,
    mockKey: async () => createSecretKey(randomBytes(32)),
    clock: () => judgedAtMs,
  });
  return textOf(await judge(base64(token)));
}

function textOf(judgement: Judgement): string {
  if (judgement.qualification) return qualifiedText(judgement.qualification);
  return judgement.ok ? '' : `refused: ${judgement.code}`;
}

function qualifiedText(qualification: Qualification): string {
  const { reason, listed, isClaimedByToken } = qualification;
  const later = listed?.atProofOfExistence;
  return [
    isQualified(qualification) ? 'qualified' : String(reason),
    ...(later ? [`${later.status} later`] : []),
    ...(isClaimedByToken ? ['own statement'] : []),
  ].join(', ');
}

const isGood = (ours: string): boolean => ours.startsWith('qualified');
/** DSS says what kind of time-stamp it would be, also if it is not valid. */
const isGoodForDss = (dss: string): boolean => dss.startsWith('QTSA') && !dss.includes('FAILED');
const isUnlisted = ({ ours, dss }: Judged): boolean => /^(service_not_listed|refused)/.test(ours) && dss.startsWith('NA');
const differs = ({ ours, dss }: Judged): boolean => isGood(ours) !== isGoodForDss(dss);

function faultsOf(judged: readonly Judged[]): string[] {
  const different = new Set(judged.filter(differs).map(({ name }) => name));
  const isWrong = ({ ours, expected }: Judged) => expected !== undefined && ours.split(',')[0] !== expected;
  return [
    ...judged.filter(isWrong).map(({ name, ours, expected }) => `FAILED ${name}: we must say ${expected}, not ${ours}`),
    ...judged
      .filter(({ ours, byListsAlone }) => isGood(ours) !== isGood(byListsAlone))
      .map(({ name, ours, byListsAlone }) => `FAILED ${name}: ${ours}, but by the lists alone ${byListsAlone}`),
    ...judged.filter(({ dss }) => dss.startsWith('failed')).map(({ name, dss }) => `FAILED ${name}: DSS gave no verdict: ${dss}`),
    ...[...different]
      .filter((name) => explainedTokens[name] === undefined)
      .map((name) => `FAILED ${name}: nobody has explained the difference`),
    ...Object.keys(explainedTokens)
      .filter((name) => !different.has(name))
      .map((name) => `FAILED ${name}: both agree, or there is no such token, so the explanation is not needed`),
  ];
}

const row = (...[name = '', ours = '', alone = '', dss = '']: readonly string[]): string =>
  `${name.padEnd(70)}${ours.padEnd(42)}${alone.padEnd(42)}${dss}`;

function rowsOf(one: Judged): string[] {
  const judged = row(one.name, one.ours, one.byListsAlone === one.ours ? 'the same' : one.byListsAlone, one.dss);
  return differs(one) ? [judged, `    differs: ${explainedTokens[one.name] ?? 'NOT EXPLAINED'}`] : [judged];
}

import { createSecretKey, randomBytes } from 'node:crypto';
import { isQualified } from '../../src/shared/domain/qualification.ts';
import { createTrustStore } from '../../src/shared/rfc3161/index.ts';
import { createTokenJudge } from '../../src/shared/trust/judge.ts';
import { createListIndex, type ListIndex } from '../../src/shared/trust/lists/index.ts';
import { readTrustedList } from '../../src/shared/trust/lists/read-list.ts';
import { base64, type LineProgram } from './line-program.ts';
import type { Compared } from './list-differences.ts';
import type { ListFile } from './list-files.ts';
import { judgedAtMs, madeTokens, realSets, realTokens, type TokenCase } from './token-cases.ts';

/** Is a time-stamp qualified? Our judge and DSS are given the same token and the same lists of countries. */
export async function judgeListedTokens(dss: LineProgram, countries: readonly ListFile[]): Promise<Compared[]> {
  const sets = new Map(realSets.map((set) => [set, countries.filter(({ name }) => name.startsWith(`${set}/`))]));
  const judged: Compared[] = [];
  let loaded: TokenCase['lists'] = [];
  let index = createListIndex([]);
  for (const one of [...madeTokens(), ...realTokens(sets)]) {
    if (one.lists !== loaded) {
      loaded = one.lists;
      index = createListIndex(loaded.map(({ document, signers }) => readTrustedList(document, signers)));
      for (const { document, signers } of loaded) await dss.command('list', base64(document), ...signers.map(base64));
      await dss.command('load');
    }
    const words = [base64(one.token), String(judgedAtMs), one.hash.algorithm, base64(one.hash.digest), ...one.crls.map(base64)];
    const theirs = (await dss.command('qualify', ...words)).join('; ');
    const [ours, byListsAlone] = [await judge(one, index), await judge({ ...one, anchors: [], intermediates: [] }, index)];
    const isGood = (verdict: string) => verdict.startsWith('qualified');
    // DSS says what kind of time-stamp it would be, also if it is not valid.
    const isDifferent = isGood(ours) !== (theirs.startsWith('QTSA') && !theirs.includes('FAILED'));
    const expected = isGood(ours) === isGood(byListsAlone) ? one.expected : `what the lists alone say: ${byListsAlone}`;
    judged.push({ name: one.name, ours, dss: theirs, isDifferent, expected });
  }
  return judged;
}

/** `qualified`, why not, or `refused: ` and a code. */
async function judge({ token, anchors, intermediates }: TokenCase, index: ListIndex): Promise<string> {
  const { judge } = createTokenJudge({
    trust: { providers: [], extraTrust: createTrustStore({ anchors, intermediates }) },
    lists: () => index,
    mockKey: async () => createSecretKey(randomBytes(32)),
    clock: () => judgedAtMs,
  });
  const judgement = await judge(base64(token));
  if (!judgement.qualification) return judgement.ok ? '' : `refused: ${judgement.code}`;
  const { reason, listed } = judgement.qualification;
  const later = listed?.atProofOfExistence;
  return `${isQualified(judgement.qualification) ? 'qualified' : reason}${later ? `, ${later.status} later` : ''}`;
}

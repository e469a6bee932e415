import type { StackContext } from '../../scripts/stack/context.ts';
import { readTrustedList } from '../../src/shared/trust/lists/read-list.ts';
import { ListRefusal } from '../../src/shared/trust/lists/trusted-list.ts';
import { hostileLists } from '../support/hostile-lists.ts';
import { base64, startJava } from './line-program.ts';
import { compare } from './list-differences.ts';
import { type ListFile, readListFiles } from './list-files.ts';
import { judgeListedTokens } from './listed-tokens.ts';
import { ensureJava, jarsOf } from './packages.ts';

// Signed trusted lists (ETSI TS 119 612), judged by our reader and by DSS, which are given the same certificates that may sign; and time-stamps, judged
// by these lists. Both need not agree, but each difference must be explained in `list-differences.ts`.

/** What to print, and whether all differences are explained. */
export async function judgeTrustedLists(context: StackContext): Promise<{ isGood: boolean; rows: string[] }> {
  const dss = startJava(await ensureJava(context), await jarsOf(context, 'dss-lists'), 'trusted-lists.java');
  try {
    const { files: published, absent } = await readListFiles(context);
    const made = hostileLists().map((list) => ({ ...list, name: `made/${list.name}` }));
    const judged = [];
    for (const list of [...published, ...made]) {
      context.signal.throwIfAborted();
      const ours = judgeOurselves(list);
      // DSS has no limit, and reads a list that is too large for us for minutes.
      const isAsked = ours !== 'refused: list_too_large';
      const words = [base64(list.document), ...list.signers.map(base64)];
      const theirs = isAsked ? (await dss.command('judge', ...words)).join('; ') : 'not asked';
      // After a list that breaks its schema, DSS says so.
      const isDifferent = isTaken(ours) ? ours !== theirs.split(';')[0] : isTaken(theirs);
      const code = 'code' in list ? String(list.code) : undefined;
      judged.push({ ...list, ours, dss: theirs, isDifferent, expected: code === 'taken' ? code : code && `refused: ${code}` });
    }
    const lists = compare('lists', judged, absent);
    const countries = published.filter((list) => / [A-Z]{2} /.test(judgeOurselves(list)) && !/ EU /.test(judgeOurselves(list)));
    const tokens = compare('tokens', await judgeListedTokens(dss, countries));
    const faults = [...lists.faults, ...tokens.faults];
    return { isGood: faults.length === 0, rows: [...lists.rows, '', ...tokens.rows, '', ...faults] };
  } finally {
    await dss.close();
  }
}

const isTaken = (verdict: string): boolean => verdict.startsWith('taken');

/** `taken`, with territory, number and time of issue, or `refused: ` and a code. */
function judgeOurselves({ document, signers }: Pick<ListFile, 'document' | 'signers'>): string {
  try {
    const { territory, sequenceNumber, issuedAt } = readTrustedList(document, signers);
    return `taken ${territory} ${sequenceNumber} ${new Date(issuedAt).toISOString().replace(/\.\d+/, '')}`;
  } catch (error) {
    // The reader must refuse every list with a code.
    return error instanceof ListRefusal ? `refused: ${error.code}` : `crashed: ${String(error)}`;
  }
}

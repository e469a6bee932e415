import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import type { StackContext } from '../../scripts/stack/context.ts';
import { openListThread } from '../../src/shared/trust/lists/list-thread.ts';
import { readTrustedList } from '../../src/shared/trust/lists/read-list.ts';
import { ListRefusal } from '../../src/shared/trust/lists/trusted-list.ts';
import { base64, type LineProgram, startJava, startProgram } from './line-program.ts';
import { explained } from './list-differences.ts';
import { type ListFile, madeLists, readListFiles } from './list-files.ts';
import { judgeListedTokens } from './listed-tokens.ts';
import { ensureJava, jarsOf, npmPlace } from './packages.ts';

// Signed trusted lists (ETSI TS 119 612), judged by our reader, by DSS and by xml-crypto. All three are given the same certificates that may sign. They
// need not agree, but each difference must be explained in `list-differences.ts`.

/** `taken`, with territory, number and time of issue where the judge reads them, or `refused: <why>`. After `; ` stands a remark. */
type Verdict = string;

/** The strangers have no limit: xml-crypto takes many minutes for a million tags. So they are not asked about lists that are too large for us. */
const notAsked: Verdict = 'not asked';

interface Judges {
  dss(file: ListFile): Promise<Verdict>;
  xmlCrypto(file: ListFile): Promise<Verdict>;
  openKeystore(file: Buffer, password: string): Promise<readonly Buffer[]>;
  close(): Promise<void>;
}

interface Judged extends ListFile {
  readonly ours: Verdict;
  readonly dss: Verdict;
  readonly xmlCrypto: Verdict;
}

/** What to print, and whether all differences are explained. */
export async function judgeTrustedLists(context: StackContext): Promise<{ isGood: boolean; rows: string[] }> {
  const judges = await openJudges(context);
  try {
    const { files, absent } = await readListFiles(context, judges.openKeystore);
    const judged: Judged[] = [];
    for (const file of [...files, ...madeLists()]) {
      context.signal.throwIfAborted();
      const ours = await judgeOurselves(file);
      const [dss, xmlCrypto] =
        ours === 'refused: list_too_large' ? [notAsked, notAsked] : await Promise.all([judges.dss(file), judges.xmlCrypto(file)]);
      judged.push({ ...file, ours, dss, xmlCrypto });
    }
    const published = judged.filter(({ ours, code }) => isTaken(ours) && code === undefined);
    const tokens = await judgeListedTokens(context, published);
    const faults = [...faultsOf(judged, absent), ...tokens.faults];
    const speed = await measureThread(judged.filter(({ name }) => name.startsWith('2023/')));
    return {
      isGood: judged.length > 0 && faults.length === 0,
      rows: [
        row('file', 'signers from', 'qstamp', 'DSS', 'xml-crypto'),
        ...judged.flatMap(rowsOf),
        ...absent.map((name) => `${name} is not in the local copy of the repository`),
        '',
        countsOf(judged),
        speed,
        '',
        ...tokens.rows,
        ...faults,
      ],
    };
  } finally {
    await judges.close();
  }
}

async function openJudges(context: StackContext): Promise<Judges> {
  const dss = startJava(await ensureJava(context), await jarsOf(context, 'dss-lists'), 'trusted-lists.java');
  // xml-crypto itself needs this version of xmldom. With another one it would not recognize the nodes that it is given.
  const packages = await npmPlace(context, 'xml-crypto', ['xml-crypto@6.3.2', '@xmldom/xmldom@0.8.15']);
  const xmlCrypto = startProgram(process.execPath, [], 'xml-crypto.mjs', { cwd: packages });
  const ask = async (program: LineProgram, { document, signers }: ListFile) =>
    (await program.command('judge', base64(document), ...signers.map(base64))).join('; ');
  return {
    dss: (file) => ask(dss, file),
    xmlCrypto: (file) => ask(xmlCrypto, file),
    openKeystore: async (file, password) =>
      (await dss.command('keystore', base64(file), password)).map((certificate) => Buffer.from(certificate, 'base64')),
    close: async () => {
      await dss.close();
      await xmlCrypto.close();
    },
  };
}

async function judgeOurselves({ document, signers }: ListFile): Promise<Verdict> {
  try {
    const { territory, sequenceNumber, issuedAt } = await readTrustedList(document, signers);
    return `taken ${territory} ${sequenceNumber} ${new Date(issuedAt).toISOString().replace(/\.\d+/, '')}`;
  } catch (error) {
    if (error instanceof ListRefusal) return `refused: ${error.code}`;
    // The reader must refuse every list with a code, so anything else is a fault that no explanation excuses.
    return `crashed: ${String(error)}`;
  }
}

const withoutRemark = (verdict: Verdict): Verdict => verdict.split(';')[0] ?? '';
const isTaken = (verdict: Verdict): boolean => verdict.startsWith('taken');

/** xml-crypto says nothing about what is in the list, so only `taken` and `refused` are compared with it. */
function differs({ ours, dss, xmlCrypto }: Judged): boolean {
  if (dss === notAsked) return false;
  if (isTaken(ours) !== isTaken(dss) || isTaken(ours) !== isTaken(xmlCrypto)) return true;
  return isTaken(ours) && ours !== withoutRemark(dss);
}

const isWrong = ({ ours, code }: Judged): boolean =>
  code !== undefined && (code === 'taken' ? !isTaken(ours) : ours !== `refused: ${code}`);

function faultsOf(judged: readonly Judged[], absent: readonly string[]): string[] {
  const different = new Set(judged.filter(differs).map(({ name }) => name));
  const known = new Set([...judged.map(({ name }) => name), ...absent]);
  return [
    ...judged.filter(({ ours }) => ours.startsWith('crashed')).map(({ name, ours }) => `FAILED ${name}: ${ours}`),
    ...judged.filter(isWrong).map(({ name, ours, code }) => `FAILED ${name}: we must say ${code}, not ${ours}`),
    ...[...different].filter((name) => explained[name] === undefined).map((name) => `FAILED ${name}: nobody has explained the difference`),
    ...Object.keys(explained)
      .filter((name) => !different.has(name) && !absent.includes(name))
      .map((name) => `FAILED ${name}: ${known.has(name) ? 'all agree, so the explanation is not needed' : 'there is no such file'}`),
  ];
}

const row = (...[name = '', from = '', ours = '', dss = '', xmlCrypto = '']: readonly string[]): string =>
  `${name.padEnd(52)}${from.padEnd(14)}${ours.padEnd(36)}${dss.slice(0, 70).padEnd(72)}${xmlCrypto.slice(0, 70)}`;

function rowsOf(one: Judged): string[] {
  // The names of the files of 2023 are addresses, whose ends tell more.
  const name = one.name.length > 50 ? `${one.name.slice(0, 5)}…${one.name.slice(-44)}` : one.name;
  const judged = row(name, one.signersFrom, one.ours, one.dss, one.xmlCrypto);
  return differs(one) ? [judged, `    differs: ${explained[one.name] ?? 'NOT EXPLAINED'}`] : [judged];
}

function countsOf(judged: readonly Judged[]): string {
  const taken = judged.filter(({ ours }) => isTaken(ours)).length;
  return `${judged.length} lists: we take ${taken} and refuse ${judged.length - taken}; ${judged.filter(differs).length} judged differently`;
}

/** Reads the lists in our thread, one after another, and says how long that took and how long this thread was blocked meanwhile. */
async function measureThread(files: readonly ListFile[]): Promise<string> {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const thread = openListThread();
  const megabytes = files.reduce((sum, { document }) => sum + document.length, 0) / 1e6;
  let taken = 0;
  delay.enable();
  const started = performance.now();
  try {
    for (const { document, signers } of files) {
      const isGood = await thread.read(document, signers).then(
        () => true,
        () => false,
      );
      if (isGood) taken += 1;
    }
  } finally {
    delay.disable();
    await thread.close();
  }
  const seconds = ((performance.now() - started) / 1000).toFixed(2);
  const blocked = `p99 ${(delay.percentile(99) / 1e6).toFixed(1)} ms, longest ${(delay.max / 1e6).toFixed(1)} ms`;
  return `the thread read ${files.length} lists of 2023 (${megabytes.toFixed(1)} MB, ${taken} taken) in ${seconds} s; delay of the event loop: ${blocked}`;
}

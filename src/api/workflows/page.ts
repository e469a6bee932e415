import { documentedOutputTypes } from '../../shared/contract/workflow.ts';
import { closingRecordPath, evidencePath, newLinkPath, outputsPath, workflowPath } from '../../shared/domain/addresses.ts';
import { canBeShown, publicNameOf } from '../../shared/domain/public-name.ts';
import { laterStatusWords, trialOf } from '../../shared/domain/qualification.ts';
import { maskEmail, redactedEmail } from '../../shared/domain/recipient.ts';
import type { WorkflowTier } from '../../shared/domain/stamp.ts';
import { type LinkMailState, readStatus } from '../../shared/domain/workflow-state.ts';
import { linkMailStateOf, snapshotOf, type WorkflowRecord } from '../../shared/store/workflows.ts';
import { given, raw, type Words } from '../../shared/views/format.ts';
import { markOfStamp, type StampMark } from '../verification/index.ts';
import { isTierServed } from './access.ts';
import type { RecomputedChain } from './chain-proof.ts';
import { mayAskForLink } from './mail-links.ts';
import { type OutputRow, proveWorkflow, type Seal, type WorkflowFault } from './proof.ts';
import type { WorkflowTools } from './workflow-tools.ts';

/** The number of outputs on one page. */
const outputsPerPage = 1_000;

/** The most numbers of outputs in the answer to `?find=`. */
const mostFound = 100;

interface PageQuery {
  /** The number of the page, from 1. If there is no such page, the nearest page is shown. */
  readonly page: number;
  /** The SHA-256 of the outputs to find, lower-case hex. */
  readonly find?: string | undefined;
  /** Called with the number of outputs on the page before they are verified. It throws if they are too many for the caller. */
  readonly passLimit: (outputs: number) => Promise<void>;
  /** The base URL of the service, without a final slash. */
  readonly baseUrl: string;
}

/** The facts of a workflow's public page. */
export type WorkflowPage = NonNullable<Awaited<ReturnType<typeof readWorkflowPage>>>;

/**
 * Returns the facts of a workflow's public page, or null if there is no such workflow. Nothing in them is secret.
 *
 * @throws ServiceError `store_unavailable`; the errors of `passLimit`
 */
export async function readWorkflowPage(tools: WorkflowTools, workflowId: string, query: PageQuery) {
  const { config, makesTestStamps, clock } = tools;
  const { workflows, outputs } = tools.store;
  const found = await workflows.find(workflowId);
  if (!found) return null;
  const end = await outputs.findEnd(workflowId);
  // If the chain is closed, the workflow may have been completed since it was read, so it is read again.
  const workflow = (end?.isClosed && found.status !== 'completed' && (await workflows.find(workflowId))) || found;
  const total = end?.sequenceNumber ?? 0;
  const page = Math.min(Math.max(1, query.page), Math.max(1, Math.ceil(total / outputsPerPage)));
  const firstNumber = (page - 1) * outputsPerPage + 1;
  const lastNumber = Math.min(page * outputsPerPage, total);
  await query.passLimit(Math.max(0, lastNumber - firstNumber + 1));
  const listed = await outputs.list(workflowId, firstNumber, outputsPerPage);
  // The total was read before the list. Outputs that were added between are not shown.
  const records = listed.filter(({ sequenceNumber }) => sequenceNumber <= total);
  const { proof, rows, root, closingRecord, chain } = await proveWorkflow(tools, { workflow, end, firstNumber, lastNumber, rows: records });
  const now = clock();
  return {
    workflowId,
    /** It is printed on paper, with a QR code. */
    address: `${query.baseUrl}${workflowPath(workflowId)}`,
    proof,
    status: readStatus(snapshotOf(workflow), now),
    isClosing: workflow.status === 'closing',
    tier: workflow.tier,
    makesTestStamps,
    isTierServed: await isTierServed(tools, workflow),
    startedAt: workflow.createdAt.toISOString(),
    expiresAt: workflow.expiresAt.toISOString(),
    // The stamp of the root proves the time of completion. The recorded time is not proved.
    completedAt:
      root?.stamp.verdict.kind === 'proved'
        ? root.stamp.stampedAt
        : (workflow.status === 'completed' && workflow.completedAt?.toISOString()) || null,
    agentId: agentShown(workflow),
    title: publicNameOf(workflow.briefingMetadata, 'title'),
    maskedEmail: workflow.redactedAt ? null : maskEmail(workflow.email),
    emailVerifiedAt: workflow.emailVerifiedAt?.toISOString() ?? null,
    confirmWith: workflow.confirmedWith ?? config.CONFIRM_WITH,
    mail: linkMailStateOf(workflow),
    link: linkOf(workflow, now),
    briefingHash: workflow.briefingHash,
    /** `unqualifiedTotal` is as recorded, for all pages. For the rows of this page, the verified values count instead. */
    outputs: { rows, total, unqualifiedTotal: end?.unqualifiedTotal ?? 0, page, pageSize: outputsPerPage },
    root,
    closingRecord,
    published: { outputsUrl: outputsPath(workflowId), closingRecordUrl: closingRecord && closingRecordPath(workflowId) },
    evidence: closingRecord && { jsonUrl: evidencePath(workflowId, 'json'), zipUrl: evidencePath(workflowId, 'zip') },
    find: query.find === undefined ? null : { hash: query.find, sequenceNumbers: await findOutputs(tools, workflowId, query.find, chain) },
    shownAt: new Date(now).toISOString(),
  };
}

/** The mailed link, while the record waits for its client: when it ends or ended, and the button for a new link if a visitor may press it. */
function linkOf(workflow: WorkflowRecord, nowMs: number) {
  if (workflow.status !== 'pending' || workflow.redactedAt || readStatus(snapshotOf(workflow), nowMs) !== 'pending') return null;
  const newLinkUrl = mayAskForLink(workflow, nowMs) ? newLinkPath(workflow._id) : null;
  const endsAt = workflow.challenge?.expiresAt;
  return { endsAt: endsAt?.toISOString() ?? null, isOver: endsAt !== undefined && nowMs >= endsAt.getTime(), newLinkUrl };
}

/** The name that the agent gave itself; null if redaction removed it. If it contains the client's e-mail address, the address is masked. */
function agentShown({ agentId, email, redactedAt }: WorkflowRecord): string | null {
  if (redactedAt) return agentId === redactedEmail ? null : agentId;
  const at = agentId.toLowerCase().indexOf(email.toLowerCase());
  return at < 0 ? agentId : agentId.slice(0, at) + maskEmail(email) + agentId.slice(at + email.length);
}

/** The numbers of the outputs with this hash, on all pages. There are none while the chain is being recomputed. */
async function findOutputs({ store: { outputs } }: WorkflowTools, workflowId: string, hash: string, chain: RecomputedChain | undefined) {
  const recorded = chain ? await outputs.findNumbers(workflowId, hash, mostFound) : [];
  return recorded.filter((number) => chain?.linkAt(number)?.outputHash === hash);
}

/** The path of an output: the page that shows it, and its place on this page. A browser does not send the fragment, so the page is in the query. */
export const outputPagePath = (workflowId: string, sequenceNumber: number): string =>
  `${workflowPath(workflowId)}?page=${Math.ceil(sequenceNumber / outputsPerPage)}#output-${sequenceNumber}`;

declare module '../http/views.ts' {
  interface PageModels {
    readonly workflow: ReturnType<ReturnType<typeof workflowViewOf>>;
  }
}

/** Makes the model of the page: the facts, and what the page says about them. */
export const workflowViewOf = (page: WorkflowPage) => (words: Words) => {
  const { outputs, root, closingRecord, proof } = page;
  // If the facts are not proved for this answer, the page shows them as recorded and claims none of them (V9).
  const isClaimed = proof.kind === 'proved' || proof.kind === 'open';
  const seals = [root, closingRecord].flatMap((seal) => seal?.stamp ?? []);
  // Root and closing record cover all outputs: if their stamps are real, the record proves something.
  const trials = (root ? seals : outputs.rows).map(({ qualification }) => trialOf(qualification));
  const isTest = isClaimed && (trials.some((trial) => trial !== null) || (page.makesTestStamps && outputs.total === 0));
  const name = isClaimed ? page.status : proof.kind;
  const pageCount = Math.max(1, Math.ceil(outputs.total / outputs.pageSize));
  const countUnqualified = (marks: readonly StampMark[]) => marks.filter(({ isQualified }) => !isQualified).length;
  const stamps = outputs.total + seals.length;
  // The rows were verified just now. Recorded facts count only for outputs on other pages.
  const unqualified = Math.max(pageCount > 1 ? outputs.unqualifiedTotal : 0, countUnqualified(outputs.rows)) + countUnqualified(seals);
  const isMockShown = [...outputs.rows, ...seals].some(({ provider }) => provider === 'mock');
  // If no stamp is qualified, one sentence on top says it for all of them.
  const isOneKind = new Set([...outputs.rows, ...seals].map(({ qualification }) => trialOf(qualification))).size === 1;
  const claim: Claim = { isClaimed, isMarked: unqualified < stamps || !isOneKind };
  return {
    ...page,
    documentTitle: documentTitleOf(page, isClaimed, isTest, words),
    isClaimed,
    isTest,
    isDevelopment: isTest && trials.includes('development'),
    stamps,
    unqualified,
    pageCount,
    state: {
      name,
      ...statesOf(words, isTest)[name],
      ...(name === 'pending' && page.link?.isOver && { label: words.t('The mailed link has expired') }),
    },
    headline: isClaimed ? headlineOf(page, words) : null,
    tierText: tiersOf(words)[page.tier],
    mailText: mailsOf(words)[page.mail],
    isMockShown,
    root: root && { ...root, mark: markShownOf(root.stamp, claim, words) },
    closingRecord: closingRecord && { ...closingRecord, mark: markShownOf(closingRecord.stamp, claim, words) },
    table: tableOf(page, pageCount, claim, words),
    faults: proof.kind === 'broken' ? faultsOf(proof.faults, words) : null,
    qualified: isClaimed && !isTest && stamps > 0 ? qualifiedOf(page, { stamps, unqualified }, words) : null,
    found: page.find && foundOf(page, page.find, { isClaimed, isTest }, words),
    checked: checkedFor(page, words),
    compared: comparedOf(page),
  };
};

interface Claim {
  readonly isClaimed: boolean;
  /** Whether stamps are marked one by one. */
  readonly isMarked: boolean;
}

interface StampCounts {
  readonly stamps: number;
  readonly unqualified: number;
}

/** The title of the page, which chat programs show beside a link to it. It names nobody. */
function documentTitleOf(
  { status, outputs: { total }, root, startedAt }: WorkflowPage,
  isClaimed: boolean,
  isTest: boolean,
  { t, tCount, dateText }: Words,
): string {
  if (!isClaimed) return t('Record of an AI agent');
  const day = dateText(root?.stamp.stampedAt ?? startedAt);
  const values = { files: total === 0 ? t('no file') : tCount(total, '{count} file', '{count} files'), day };
  if (isTest) return t('Test record: {files}, {day}', values);
  if (total === 0) return t('Record without files, {day}', values);
  return isOpen(status) ? t('{files} so far, {day}', values) : t('{files}, {day}', values);
}

const isOpen = (status: WorkflowPage['status']): boolean => status === 'pending' || status === 'active';

/** A proved stamp has no mark if the page claims nothing, or says the same of all stamps. */
const markShownOf = (stamp: StampMark, { isClaimed, isMarked }: Claim, words: Words) =>
  (isClaimed && isMarked) || stamp.verdict.kind !== 'proved' ? markOfStamp(stamp, words) : null;

const statesOf = ({ t }: Words, isTest: boolean) => ({
  pending: { icon: 'pending', label: t('Waiting for the client') },
  active: { icon: 'active', label: t('Active') },
  completed: isTest ? { icon: 'warning', label: t('Record closed, with test stamps') } : { icon: 'check', label: t('Record closed') },
  expired: { icon: 'warning', label: t('Expired') },
  broken: { icon: 'cross', label: t('Does not hold') },
  not_proved: { icon: 'warning', label: t('Not proved') },
  unfinished: { icon: 'pending', label: t('Being checked') },
});

/**
 * The headline, who recorded how many files for whom, and whether it has names, which nobody has checked. An agent's name that could not be shown as a
 * public name (W24) is only in the details.
 */
function headlineOf({ status, agentId, maskedEmail, title, outputs: { total } }: WorkflowPage, { t, tHtml, tCount }: Words) {
  const unnamed = agentId === null ? t('An agent whose name was erased') : t('An agent');
  const values = {
    agent: agentId !== null && canBeShown(agentId) ? raw(given(agentId)) : unnamed,
    files: tCount(total, '{count} file', '{count} files'),
    client: maskedEmail === null ? t('a client whose name was erased') : raw(given(maskedEmail)),
  };
  const closed = () =>
    total > 0 ? tHtml('{agent} recorded {files} for {client}', values) : tHtml('{agent} recorded no file for {client}', values);
  const open = () =>
    total > 0
      ? tHtml('{agent} has recorded {files} so far for {client}', values)
      : tHtml('{agent} has recorded no file for {client} yet', values);
  const headline = isOpen(status) ? open() : closed();
  return {
    html: title === null ? headline : tHtml('{headline}: “{title}”', { headline: raw(headline), title: raw(given(title)) }),
    hasNames: agentId !== null || maskedEmail !== null || title !== null,
  };
}

const tiersOf = ({ t }: Words): Readonly<Record<WorkflowTier, string>> => ({
  standard: t('Standard: files may be stamped before the address is confirmed'),
  verified: t('Verified: files wait until the address is confirmed'),
  qualified: t('Qualified: the address must be confirmed first, and every stamp must come from a qualified provider'),
});

const mailsOf = ({ t }: Words): Readonly<Record<LinkMailState, string>> => ({
  waiting: t('Not confirmed; the mail with the link has not gone out yet'),
  sent: t('Not confirmed; the mail with the link was sent'),
  failed: t('Not confirmed; the mail with the link could not be delivered'),
});

/** Longer lists are folded after this number of outputs. */
const mostUnfolded = 10;

/** The outputs of this page as a table, and the links to other pages, without some in the middle. */
function tableOf({ workflowId, outputs }: WorkflowPage, pageCount: number, claim: Claim, words: Words) {
  const { count } = words;
  const { page: current, pageSize, total } = outputs;
  const rows = outputs.rows.map((row) => ({ ...row, icon: iconOf(row.type), mark: markShownOf(row, claim, words) }));
  const [firstRow = null] = rows;
  // The provider is written once if all rows have the same, with the same verdict.
  const isSameProvider = new Set(rows.map(providerOf)).size === 1;
  const rangeOf = (page: number): string => {
    const [first, last] = [(page - 1) * pageSize + 1, Math.min(page * pageSize, total)];
    return first === last ? count(first) : `${count(first)}–${count(last)}`;
  };
  const pages = Array.from({ length: pageCount }, (_, i) => i + 1).filter(
    (page) => pageCount <= 8 || page === 1 || page === pageCount || Math.abs(page - current) <= 2,
  );
  return {
    range: rangeOf(current),
    first: daysOf(rows.slice(0, mostUnfolded), words),
    rest: daysOf(rows.slice(mostUnfolded), words),
    folded: Math.max(0, rows.length - mostUnfolded),
    sameProvider: isSameProvider ? firstRow : null,
    hasNames: rows.some(({ name }) => name !== null),
    /** Whether some time is earlier than the one before it. */
    goesBack: claim.isClaimed && rows.some((row, i) => Date.parse(row.stampedAt) < Date.parse(rows[i - 1]?.stampedAt ?? '')),
    links: pages.map((page, i) => ({
      ...{ url: `${pageUrl(workflowId, page)}#outputs`, range: rangeOf(page), isCurrent: page === current },
      isAfterGap: page > (pages[i - 1] ?? 0) + 1,
    })),
  };
}

const iconOf = (type: string): string => documentedOutputTypes.find((known) => known === type) ?? 'other';

const providerOf = ({ provider, isQualified, qualification, verdict }: OutputRow): string =>
  JSON.stringify([provider, isQualified, qualification?.basis, verdict.kind]);

/** Groups rows by the day of their stamps, in their order, so that each day is written once. */
function daysOf<Row extends OutputRow>(rows: readonly Row[], { dateText }: Words) {
  const days: { readonly day: string; readonly rows: Row[] }[] = [];
  for (const row of rows) {
    const day = dateText(row.stampedAt);
    const last = days.at(-1);
    if (last?.day === day) last.rows.push(row);
    else days.push({ day, rows: [row] });
  }
  return days;
}

const pageUrl = (workflowId: string, page: number): string => `${workflowPath(workflowId)}${page > 1 ? `?page=${page}` : ''}`;

const mostFaults = 20;

const faultsOf = (faults: readonly WorkflowFault[], words: Words) => ({
  shown: faults
    .slice(0, mostFaults)
    .map((fault) => ({ sentence: faultText(fault, words), reason: 'reason' in fault ? fault.reason : null })),
  more: Math.max(0, faults.length - mostFaults),
});

function faultText(fault: WorkflowFault, words: Words): string {
  const { t } = words;
  switch (fault.kind) {
    case 'chain_hash_mismatch':
      return t('The chain breaks at file {number}: its hash, its number or the link before was changed.', {
        number: fault.sequenceNumber,
      });
    case 'number_out_of_order':
      return t('File {number} is missing, or in the wrong place.', { number: fault.sequenceNumber });
    case 'output_count_mismatch':
      return t('Number of files when the record was closed: {recorded}; now: {found}.', { recorded: fault.recorded, found: fault.found });
    case 'root_mismatch':
      return t('The Merkle root of these files differs from the recorded one.');
    case 'closing_record_mismatch': {
      const { member } = fault;
      const named = membersOf(words)[member] ?? member.replaceAll('_', ' ');
      return t('The {member} on this page differs from the one at the closing of the record.', { member: named });
    }
    case 'root_stamp':
      return t('The stamp of the Merkle root does not verify.');
    case 'closing_record_stamp':
      return t('The stamp of the closing record does not verify.');
    case 'output_stamp':
      return t('The stamp of file {number} does not verify.', { number: fault.sequenceNumber });
  }
}

/** Members of the closing record that have another name for people. */
const membersOf = ({ t }: Words): Readonly<Record<string, string>> => ({
  tier: t('tier'),
  created_at: t('start'),
  confirmed_at: t('confirmation of the address'),
  completed_at: t('completion'),
  output_count: t('number of files'),
  email_commitment: t('client'),
  agent_commitment: t('agent'),
});

/** Whether the stamps are qualified, and what that means, in HTML; null if the page has nothing to say about it. */
function qualifiedOf({ outputs, root }: WorkflowPage, { stamps, unqualified }: StampCounts, words: Words): string | null {
  const { language, tHtml, qualifiedLine, notQualifiedLine, meaningLink } = words;
  // The root covers all outputs, so its stamp speaks for the record. Without a root the stamps of this page speak, if all say the same.
  const speaking = root ? [root.stamp] : outputs.rows;
  const lines = new Set(speaking.map(({ qualification }) => qualification && qualifiedLine(qualification)));
  const common = (lines.size === 1 && speaking[0]?.qualification) || null;
  if (unqualified === stamps) return notQualifiedLine(speaking[0]?.qualification?.reason);
  const later = laterStatusWords(common?.listed ?? null, language);
  const said = [
    common ? qualifiedLine(common) : '',
    later ? tHtml(later.text, later.values) : '',
    common?.status === 'qualified' && common.basis === 'list' && !later
      ? tHtml('A court in the EU presumes that the time is right and the data unchanged (eIDAS, Article 41(2)).')
      : '',
  ];
  if (unqualified > 0) {
    const counts = { unqualified, stamps };
    said.push(
      unqualified === 1
        ? tHtml('{unqualified} of {stamps} stamps (of files, root and closing record) is not qualified; it is marked.', counts)
        : tHtml('{unqualified} of {stamps} stamps (of files, root and closing record) are not qualified; each is marked.', counts),
    );
  }
  return [...said, meaningLink].filter(Boolean).join(' ');
}

/** The answer to `?find=`. It says the same about a fingerprint as the script about a file. */
function foundOf(
  { workflowId, outputs, briefingHash, proof }: WorkflowPage,
  { hash, sequenceNumbers }: NonNullable<WorkflowPage['find']>,
  { isClaimed, isTest }: { isClaimed: boolean; isTest: boolean },
  { tHtml }: Words,
) {
  const isBriefing = hash === briefingHash;
  const isFound = isBriefing || sequenceNumbers.length > 0;
  // Only a part of the chain of a broken or unfinished record was read, so another output may have the hash.
  const isUnknown = !isFound && (proof.kind === 'broken' || proof.kind === 'unfinished');
  const numbered = sequenceNumbers.map((number) => ({
    number,
    url: `${pageUrl(workflowId, Math.ceil(number / outputs.pageSize))}#output-${number}`,
  }));
  const links = numbered.map(({ number, url }) => `<a href="${url}">${tHtml('file {number}', { number })}</a>`);
  const places = raw([...(isBriefing ? [tHtml('the briefing')] : []), ...links].join(', '));
  const [icon, html] = isUnknown
    ? [
        'warning',
        tHtml(
          'It is not known whether a file of this record has this fingerprint, because the record does not hold or is still being checked.',
        ),
      ]
    : !isFound
      ? ['cross', tHtml('No: neither a file of this record nor its briefing has this fingerprint.')]
      : isClaimed
        ? [isTest ? 'warning' : 'check', tHtml('Yes: this is the fingerprint of {places}.', { places })]
        : ['warning', tHtml('Not proved: this is recorded as the fingerprint of {places}, but nothing here proves it.', { places })];
  return { hash, isFound, numbers: sequenceNumbers, icon, html };
}

/** Everything that was checked for this page. */
function checkedFor({ outputs, proof, closingRecord }: WorkflowPage, { t }: Words): string[] {
  return [
    outputs.total > 0 && t('the chain of all files'),
    proof.kind === 'proved' && t('the Merkle root and its stamp'),
    closingRecord && t('the closing record and its stamp'),
    outputs.total > 0 && t('the stamps of the files on this page'),
  ].filter((text) => typeof text === 'string');
}

/** The facts that the script of the page compares with the published data. */
function comparedOf({ outputs, root, closingRecord, published, ...facts }: WorkflowPage) {
  const { workflowId, status, tier, briefingHash, startedAt, emailVerifiedAt, completedAt } = facts;
  const sealOf = ({ hash, stamp }: Seal) => ({
    ...{ hash, stampedAt: stamp.stampedAt },
    evidenceUrl: stamp.provider === 'mock' ? null : `${stamp.verifyUrl}/evidence`,
  });
  return {
    ...{ workflowId, status, tier, briefingHash, startedAt, confirmedAt: emailVerifiedAt, completedAt, total: outputs.total },
    rows: outputs.rows.map(({ sequenceNumber, hash }) => ({ number: sequenceNumber, hash })),
    outputsUrl: published.outputsUrl,
    root: root && sealOf(root),
    closingRecord: closingRecord && { ...sealOf(closingRecord), url: published.closingRecordUrl },
  };
}

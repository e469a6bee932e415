import { documentedOutputTypes } from '../../shared/contract/workflow.ts';
import { closingRecordPath, evidencePath, newLinkPath, outputsPath, workflowPath } from '../../shared/domain/addresses.ts';
import { canBeShown, publicNameOf } from '../../shared/domain/public-name.ts';
import { laterStatusSentence, trialOf } from '../../shared/domain/qualification.ts';
import { maskEmail, redactedEmail } from '../../shared/domain/recipient.ts';
import type { WorkflowTier } from '../../shared/domain/stamp.ts';
import { type LinkMailState, readStatus } from '../../shared/domain/workflow-state.ts';
import { linkMailStateOf, snapshotOf, type WorkflowRecord } from '../../shared/store/workflows.ts';
import {
  count,
  dateText,
  escapeHtml,
  given,
  meaningLink,
  notQualifiedLine,
  plural,
  qualifiedLine,
  sentence,
} from '../../shared/views/format.ts';
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
  const newLinkUrl = mayAskForLink(workflow, undefined, nowMs) ? newLinkPath(workflow._id) : null;
  return { endsAt: workflow.challenge?.expiresAt.toISOString() ?? null, newLinkUrl };
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
    readonly workflow: ReturnType<typeof workflowViewOf>;
  }
}

/** Makes the model of the page: the facts, and what the page says about them. */
export function workflowViewOf(page: WorkflowPage) {
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
    documentTitle: documentTitleOf(page, isClaimed, isTest),
    isClaimed,
    isTest,
    isDevelopment: isTest && trials.includes('development'),
    stamps,
    unqualified,
    pageCount,
    state: { name, ...(isTest && name === 'completed' ? completedInTest : states[name]) },
    headline: isClaimed ? headlineOf(page) : null,
    tierText: tiers[page.tier],
    mailText: mails[page.mail],
    isMockShown,
    root: root && { ...root, mark: markShownOf(root.stamp, claim) },
    closingRecord: closingRecord && { ...closingRecord, mark: markShownOf(closingRecord.stamp, claim) },
    table: tableOf(page, pageCount, claim),
    faults: proof.kind === 'broken' ? faultsOf(proof.faults) : null,
    qualified: isClaimed && !isTest && stamps > 0 ? qualifiedOf(page, { stamps, unqualified, isMockShown }) : null,
    found: page.find && foundOf(page, page.find, { isClaimed, isTest }),
    checked: checkedFor(page, pageCount),
    compared: comparedOf(page),
  };
}

interface Claim {
  readonly isClaimed: boolean;
  /** Whether stamps are marked one by one. */
  readonly isMarked: boolean;
}

interface StampCounts {
  readonly stamps: number;
  readonly unqualified: number;
  readonly isMockShown: boolean;
}

/** The title of the page, which chat programs show beside a link to it. It names nobody. */
function documentTitleOf({ outputs: { total }, root, startedAt }: WorkflowPage, isClaimed: boolean, isTest: boolean): string {
  if (!isClaimed) return 'Record of a workflow';
  const day = dateText(root?.stamp.stampedAt ?? startedAt);
  const files = plural(total, 'file');
  if (isTest) return `Test record: ${files}, ${day}`;
  if (total === 0) return `Record without files, ${day}`;
  return root ? `${files}, ${day}` : `${files} so far, ${day}`;
}

/** A proved stamp has no mark if the page claims nothing, or says the same of all stamps. */
const markShownOf = (stamp: StampMark, { isClaimed, isMarked }: Claim) =>
  (isClaimed && isMarked) || stamp.verdict.kind !== 'proved' ? markOfStamp(stamp) : null;

const states = {
  pending: { icon: 'pending', label: 'Waiting for the client' },
  active: { icon: 'active', label: 'Active' },
  completed: { icon: 'check', label: 'Record closed' },
  expired: { icon: 'cross', label: 'Expired' },
  broken: { icon: 'cross', label: 'Does not hold' },
  not_proved: { icon: 'warning', label: 'Not proved' },
  unfinished: { icon: 'pending', label: 'Being checked' },
} as const;

const completedInTest = { icon: 'warning', label: 'Record closed, with test stamps' };

/** Who recorded how many files for whom. `{title}` follows if the agent made it public. */
const headlines = {
  closed: { some: '{agent} recorded {files} for {client}', none: '{agent} recorded no file for {client}' },
  open: { some: '{agent} has recorded {files} so far for {client}', none: '{agent} has recorded no file for {client} yet' },
  titled: '{headline}: “{title}”',
} as const;

const erased = { agent: 'An agent whose name was erased', client: 'a client whose name was erased' };
/** Anybody may start a workflow, so a name with a link does not become a headline. The details have it. */
const unnamedAgent = 'An agent';

/** The headline, and whether it has names, which nobody has checked. */
function headlineOf({ status, agentId, maskedEmail, title, outputs }: WorkflowPage) {
  const isEnded = status === 'completed' || status === 'expired';
  const headline = sentence(headlines[isEnded ? 'closed' : 'open'][outputs.total > 0 ? 'some' : 'none'], {
    agent: given(agentId === null ? erased.agent : canBeShown(agentId) ? agentId : unnamedAgent),
    files: plural(outputs.total, 'file'),
    client: given(maskedEmail ?? erased.client),
  });
  return {
    html: title === null ? headline : sentence(headlines.titled, { headline, title: given(title) }),
    hasNames: agentId !== null || maskedEmail !== null || title !== null,
  };
}

const tiers: Readonly<Record<WorkflowTier, string>> = {
  standard: 'Standard: outputs may be stamped before the address is confirmed',
  verified: 'Verified: outputs wait until the address is confirmed',
  qualified: 'Qualified: the address must be confirmed first, and every stamp must come from a qualified provider',
};

const mails: Readonly<Record<LinkMailState, string>> = {
  waiting: 'Not confirmed; the mail with the link has not gone out yet',
  sent: 'Not confirmed; the mail with the link was sent',
  failed: 'Not confirmed; the mail with the link could not be delivered',
};

/** Longer lists are folded after this number of outputs. */
const mostUnfolded = 10;

/** The outputs of this page as a table, and the links to other pages, without some in the middle. */
function tableOf({ workflowId, outputs }: WorkflowPage, pageCount: number, claim: Claim) {
  const { page: current, pageSize, total } = outputs;
  const rows = outputs.rows.map((row) => ({ ...row, icon: iconOf(row.type), mark: markShownOf(row, claim) }));
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
    first: daysOf(rows.slice(0, mostUnfolded)),
    rest: daysOf(rows.slice(mostUnfolded)),
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
function daysOf<Row extends OutputRow>(rows: readonly Row[]) {
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

const faultsOf = (faults: readonly WorkflowFault[]) => ({
  shown: faults.slice(0, mostFaults).map((fault) => ({ sentence: faultText(fault), reason: 'reason' in fault ? fault.reason : null })),
  more: Math.max(0, faults.length - mostFaults),
});

function faultText(fault: WorkflowFault): string {
  switch (fault.kind) {
    case 'chain_hash_mismatch':
      return `The chain breaks at output ${count(fault.sequenceNumber)}: its hash, its number or the link before was changed.`;
    case 'number_out_of_order':
      return `Output ${count(fault.sequenceNumber)} is missing, or in the wrong place.`;
    case 'output_count_mismatch': {
      const recorded = fault.recorded === 1 ? '1 output is' : `${count(fault.recorded)} outputs are`;
      const found = fault.found === 0 ? 'none is' : fault.found === 1 ? '1 is' : `${count(fault.found)} are`;
      return `${recorded} recorded as closed, but ${found} there.`;
    }
    case 'root_mismatch':
      return 'The Merkle root of these outputs differs from the recorded one.';
    case 'closing_record_mismatch': {
      const { member } = fault;
      return `The ${members.get(member) ?? member.replaceAll('_', ' ')} on this page differs from the one at the closing of the workflow.`;
    }
    case 'root_stamp':
      return 'The stamp of the Merkle root does not verify.';
    case 'closing_record_stamp':
      return 'The stamp of the closing record does not verify.';
    case 'output_stamp':
      return `The stamp of output ${count(fault.sequenceNumber)} does not verify.`;
  }
}

/** Members of the closing record that have another name for people. */
const members = new Map([
  ['created_at', 'start'],
  ['confirmed_at', 'confirmation of the address'],
  ['completed_at', 'completion'],
  ['output_count', 'number of outputs'],
  ['email_commitment', 'client'],
  ['agent_commitment', 'agent'],
]);

/** Whether the stamps are qualified, and what that means, in HTML; null if the page has nothing to say about it. */
function qualifiedOf({ outputs, root }: WorkflowPage, { stamps, unqualified, isMockShown }: StampCounts): string | null {
  // The root covers all outputs, so its stamp speaks for the record. Without a root the stamps of this page speak, if all say the same.
  const speaking = root ? [root.stamp] : outputs.rows;
  const lines = new Set(speaking.map(({ qualification }) => qualification && qualifiedLine(qualification)));
  const common = (lines.size === 1 && speaking[0]?.qualification) || null;
  if (unqualified === stamps) return notQualifiedLine(speaking[0]?.qualification?.reason);
  const said = [common ? qualifiedLine(common) : '', escapeHtml(laterStatusSentence(common?.listed ?? null) ?? '')];
  if (unqualified > 0) {
    const text =
      unqualified === 1 ? '1 of {stamps} is not qualified; it is marked.' : '{unqualified} of {stamps} are not qualified; each is marked.';
    said.push(sentence(text, { unqualified: count(unqualified), stamps: plural(stamps, 'stamp') }));
    if (isMockShown) said.push(sentence('Test stamps prove nothing to a third party.', {}));
  } else if (outputs.rows.some(({ qualification }) => qualification?.basis !== common?.basis)) said.push('See the mark of each file.');
  else if (root && outputs.total > 0)
    said.push(
      common?.basis === 'list' ? 'Each file on this page has a qualified stamp too.' : 'The same is claimed for each file on this page.',
    );
  return [...said, meaningLink].filter(Boolean).join(' ');
}

/** The answer to `?find=`. */
function foundOf(
  { workflowId, outputs, briefingHash, proof }: WorkflowPage,
  { hash, sequenceNumbers }: NonNullable<WorkflowPage['find']>,
  { isClaimed, isTest }: { isClaimed: boolean; isTest: boolean },
) {
  const isBriefing = hash === briefingHash;
  const isFound = isBriefing || sequenceNumbers.length > 0;
  // Only a part of the chain of a broken or unfinished record was read, so another output may have the hash.
  const isUnknown = !isFound && (proof.kind === 'broken' || proof.kind === 'unfinished');
  const numbered = sequenceNumbers.map((number) => ({
    number,
    url: `${pageUrl(workflowId, Math.ceil(number / outputs.pageSize))}#output-${number}`,
  }));
  const links = numbered.map(({ number, url }) => `<a href="${url}">output ${count(number)}</a>`);
  const places = [...(isBriefing ? ['the briefing'] : []), ...links].join(', ');
  const [icon, text] = isUnknown
    ? ['warning', foundWords.unknown]
    : !isFound
      ? ['cross', foundWords.no]
      : isClaimed
        ? [isTest ? 'warning' : 'check', foundWords.yes]
        : ['warning', foundWords.notProved];
  return { hash, isFound, numbers: sequenceNumbers, icon, html: sentence(text, { places }) };
}

/** The answers about a fingerprint. They say the same as those of the script about a file. */
const foundWords = {
  yes: 'Yes: this is the fingerprint of {places}.',
  no: 'No: neither a file of this record nor its briefing has this fingerprint.',
  notProved: 'Not proved: this is recorded as the fingerprint of {places}, but nothing here proves it.',
  unknown:
    'It is not known whether a file of this record has this fingerprint, because the record does not hold or is still being checked.',
};

/** Everything that was checked for this page. */
function checkedFor({ outputs, proof, closingRecord }: WorkflowPage, pageCount: number): string[] {
  const [isOne, isMany] = [outputs.total === 1, outputs.total > 1];
  return [
    isMany && 'the chain of all outputs',
    isOne && 'the place of the one output in its chain',
    proof.kind === 'proved' && 'the Merkle root and its stamp',
    closingRecord && 'the closing record and its stamp',
    pageCount > 1 && 'the stamps of the outputs on this page',
    pageCount === 1 && isMany && 'the stamp of every output',
    pageCount === 1 && isOne && 'the stamp of the output',
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

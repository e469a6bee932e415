import { workflowPath } from '../../shared/domain/addresses.ts';
import type { ConfirmWith } from '../../shared/domain/challenge.ts';
import { laterStatusSentence, type Qualification, trialOf } from '../../shared/domain/qualification.ts';
import type { WorkflowTier } from '../../shared/domain/stamp.ts';
import type { LinkMailState, WorkflowStatus } from '../../shared/domain/workflow-state.ts';
import { count, dateText, qualifiedLine } from '../../shared/views/format.ts';
import { type MarkShown, markOfStamp, type StampMark } from '../verification/index.ts';

export interface OutputRow extends StampMark {
  readonly sequenceNumber: number;
  /** Free text (W3). */
  readonly type: string;
  /** The name that the holder of the workflow token made public (W24); null if there is none. It is not proved. */
  readonly name: string | null;
  readonly hash: string;
}

/** One page of a workflow's outputs, in their order. */
interface OutputsPage {
  readonly rows: readonly OutputRow[];
  /** The number of outputs on all pages. */
  readonly total: number;
  /**
   * The number of outputs on all pages that are recorded with a provider that is not qualified. For the rows of this page, the verified values count
   * instead.
   */
  readonly unqualifiedTotal: number;
  /** The number of this page, from 1. */
  readonly page: number;
  readonly pageSize: number;
}

/** A hash that was stamped when the workflow was completed. */
export interface StampedHash {
  /** SHA-256, lower-case hex. */
  readonly hash: string;
  readonly stamp: StampMark;
}

/** A fault in the record of a workflow. `workflow-view.ts` has the text for each. */
export type WorkflowFault =
  /** The chain hash of this output does not follow from its hash, its number and the previous link, or its number is not the next number. */
  | { readonly kind: 'chain_hash_mismatch' | 'number_out_of_order'; readonly sequenceNumber: number }
  /** The number of outputs differs from a recorded number. */
  | { readonly kind: 'output_count_mismatch'; readonly recorded: number; readonly found: number }
  /** The recomputed root of the outputs differs from the recorded root. */
  | { readonly kind: 'root_mismatch' }
  /** A fact on the page differs from the stamped closing record. `member` is a member of the record, or `status`. */
  | { readonly kind: 'closing_record_mismatch'; readonly member: string }
  /** The stamp of the root or of the closing record does not verify, or is missing (`unknown_token_id`). */
  | { readonly kind: 'root_stamp' | 'closing_record_stamp'; readonly reason: string }
  | { readonly kind: 'output_stamp'; readonly sequenceNumber: number; readonly reason: string };

/** The result of recomputing and verifying for this answer (V9). It never depends on stored flags. */
export type WorkflowProof =
  /**
   * The workflow is completed, recomputing gives the same chain, root and closing record, and their stamps and those of this page's outputs verify.
   */
  | { readonly kind: 'proved' }
  /**
   * The workflow is not completed. Recomputing gives the same chain, and the stamps of this page's outputs verify. No stamped root covers them yet.
   */
  | { readonly kind: 'open' }
  /**
   * No fault was found, but the chain of some stamp's signer does not lead to a trust anchor of this installation, or data for verification is
   * missing.
   */
  | { readonly kind: 'not_proved' }
  /** A long chain is still being recomputed, so nothing is proved yet. */
  | { readonly kind: 'unfinished' }
  | { readonly kind: 'broken'; readonly faults: readonly [WorkflowFault, ...WorkflowFault[]] };

/** The result of `?find=<SHA-256>`: the numbers of the outputs with this hash, on all pages. */
export interface FindResult {
  readonly hash: string;
  readonly sequenceNumbers: readonly number[];
}

export interface WorkflowPage {
  readonly workflowId: string;
  /** The absolute URL of this page. It is printed on paper, with a QR code. */
  readonly address: string;
  readonly proof: WorkflowProof;
  readonly status: WorkflowStatus;
  /** True while the workflow is being completed: no output can be added, and the root is being stamped. */
  readonly isClosing: boolean;
  readonly tier: WorkflowTier;
  /** Whether this installation makes test stamps only. */
  readonly makesTestStamps: boolean;
  /** Whether the configured providers can serve the tier. */
  readonly isTierServed: boolean;
  readonly startedAt: string;
  readonly expiresAt: string;
  readonly completedAt: string | null;
  /** The name that the agent gave itself; null if redaction removed it. */
  readonly agentId: string | null;
  /** The title of the briefing that the holder of the workflow token made public (W24); null if there is none. It is not proved. */
  readonly title: string | null;
  /** Masked; null after redaction. */
  readonly maskedEmail: string | null;
  /** When the e-mail address was confirmed; null before that. */
  readonly emailVerifiedAt: string | null;
  /** What confirmed the address, or can confirm it. */
  readonly confirmWith: ConfirmWith;
  /** The state of the mail with the link. */
  readonly mail: LinkMailState;
  readonly briefingHash: string;
  readonly outputs: OutputsPage;
  /** The Merkle root and its stamp; null until the workflow is completed. */
  readonly root: StampedHash | null;
  /** The hash of the closing record and its stamp; null until the workflow is completed. */
  readonly closingRecord: StampedHash | null;
  /**
   * Public URLs of the data from which anyone can recompute the chain and the closing record. `closingRecordUrl` is null if there is no closing
   * record.
   */
  readonly published: { readonly outputsUrl: string; readonly closingRecordUrl: string | null };
  /** URLs of the evidence; null if there is no closing record. */
  readonly evidence: { readonly jsonUrl: string; readonly zipUrl: string } | null;
  readonly find: FindResult | null;
  /** When the page was made. */
  readonly shownAt: string;
}

/** The number of outputs on one page. */
export const outputsPerPage = 1_000;

/** The path of an output: the page that shows it, and its place on this page. A browser does not send the fragment, so the page is in the query. */
export const outputPagePath = (workflowId: string, sequenceNumber: number): string =>
  `${workflowPath(workflowId)}?page=${Math.ceil(sequenceNumber / outputsPerPage)}#output-${sequenceNumber}`;

declare module '../http/views.ts' {
  interface PageModels {
    readonly workflow: WorkflowView;
  }
}

/** The public page of a workflow: its facts, and what the page says about them. */
interface WorkflowView extends WorkflowPage {
  /** Whether the facts are proved for this answer. If not, the page shows them as recorded and claims none of them (V9). */
  readonly isClaimed: boolean;
  /** Whether the record has test stamps and so proves nothing to a third party. */
  readonly isTest: boolean;
  /** Whether its test stamps come from a development TSA. */
  readonly isDevelopment: boolean;
  readonly state: { readonly name: StateName; readonly icon: string; readonly label: string };
  readonly tierText: string;
  readonly mailText: string;
  /** The number of stamps of outputs, root and closing record. */
  readonly stamps: number;
  readonly unqualified: number;
  readonly isMockShown: boolean;
  readonly marks: { readonly root: MarkShown | null; readonly closingRecord: MarkShown | null };
  readonly pageCount: number;
  readonly table: OutputsTable;
  /** One sentence for each fault, and the number of those that are left out; null if the record is not broken. */
  readonly faults: { readonly shown: readonly FaultShown[]; readonly more: number } | null;
  readonly qualified: QualifiedShown;
  /** The answer to `?find=`; null if nothing was asked. */
  readonly found: FoundShown | null;
  /** Everything that was checked for this page. */
  readonly checked: readonly string[];
  /** Whether the closing record is qualified in other words than the root, and so has a sentence of its own. */
  readonly hasRecordOwnWords: boolean;
  /** The facts that the script of the page compares with the published data. */
  readonly compared: ReturnType<typeof comparedOf>;
}

interface FaultShown {
  readonly sentence: string;
  readonly reason: string | null;
}

interface QualifiedShown {
  /** The qualification of the record, if all stamps that speak for it have the same; otherwise null. */
  readonly common: Qualification | null;
  readonly summary: 'Qualified' | 'Not qualified' | 'Not all are qualified';
  readonly later: string | null;
  /** About the stamps of the outputs, beside that of the root. */
  readonly ofOutputs: string;
}

interface FoundShown {
  readonly hash: string;
  readonly icon: string;
  readonly title: string;
  readonly isBriefing: boolean;
  readonly isFound: boolean;
  /** Whether the hash may belong to an output that was not read: only a part of the chain of a broken or unfinished record was read. */
  readonly isUnknown: boolean;
  readonly outputs: readonly { readonly number: number; readonly url: string }[];
}

type StateName = WorkflowStatus | Exclude<WorkflowProof['kind'], 'proved' | 'open'>;

/** The outputs of this page as a table. */
interface OutputsTable {
  /** The numbers of the outputs of this page: `1–100`. */
  readonly range: string;
  readonly days: readonly { readonly day: string; readonly rows: readonly RowShown[] }[];
  /** A row with the provider of all rows; null if they differ. */
  readonly sameProvider: RowShown | null;
  readonly columns: number;
  readonly hasNames: boolean;
  /** Whether some time is earlier than the one before it. */
  readonly goesBack: boolean;
  /** The links to other pages, without some in the middle. */
  readonly links: readonly PageLink[];
}

interface RowShown extends OutputRow {
  readonly icon: string;
  readonly mark: MarkShown | null;
}

interface PageLink {
  readonly url: string;
  readonly range: string;
  readonly isCurrent: boolean;
  /** Whether pages are left out before this one. */
  readonly isAfterGap: boolean;
}

/** Makes the model of the page. */
export function workflowViewOf(page: WorkflowPage): WorkflowView {
  const { outputs, root, closingRecord, proof } = page;
  const isClaimed = proof.kind === 'proved' || proof.kind === 'open';
  const seals = [root, closingRecord].flatMap((sealed) => sealed?.stamp ?? []);
  // Root and closing record cover all outputs: if their stamps are real, the record proves something.
  const trials = (root ? seals : outputs.rows).map(({ qualification }) => trialOf(qualification));
  const isTest = isClaimed && (trials.some((trial) => trial !== null) || (page.makesTestStamps && outputs.total === 0));
  const name = isClaimed ? page.status : proof.kind;
  const pageCount = Math.max(1, Math.ceil(outputs.total / outputs.pageSize));
  const countUnqualified = (stamps: readonly { readonly isQualified: boolean }[]) =>
    stamps.filter(({ isQualified }) => !isQualified).length;
  const stamps = outputs.total + seals.length;
  // The rows were verified just now. Recorded facts count only for outputs on other pages.
  const unqualified = Math.max(pageCount > 1 ? outputs.unqualifiedTotal : 0, countUnqualified(outputs.rows)) + countUnqualified(seals);
  return {
    ...page,
    ...{ isClaimed, isTest, isDevelopment: isTest && trials.includes('development') },
    state: { name, ...(isTest && name === 'completed' ? completedInTest : states[name]) },
    tierText: tiers[page.tier],
    mailText: mails[page.mail],
    stamps,
    unqualified,
    isMockShown: [...outputs.rows, ...seals].some(({ provider }) => provider === 'mock'),
    marks: {
      root: root && markShownOf(root.stamp, isClaimed),
      closingRecord: closingRecord && markShownOf(closingRecord.stamp, isClaimed),
    },
    pageCount,
    table: tableOf(page, pageCount, isClaimed),
    faults: proof.kind === 'broken' ? faultsOf(proof.faults) : null,
    qualified: qualifiedOf(page, { isOnePage: pageCount === 1, stamps, unqualified }),
    found: page.find && foundOf(page, page.find, { isClaimed, isTest }),
    checked: checkedFor(page, pageCount),
    hasRecordOwnWords: differsFromRoot(page),
    compared: comparedOf(page),
  };
}

/** A proved stamp has no mark if the page claims nothing. */
const markShownOf = (stamp: StampMark, isClaimed: boolean): MarkShown | null =>
  isClaimed || stamp.verdict.kind !== 'proved' ? markOfStamp(stamp) : null;

const states: Readonly<Record<StateName, Omit<WorkflowView['state'], 'name'>>> = {
  pending: { icon: 'pending', label: 'Waiting for the client' },
  active: { icon: 'active', label: 'Active' },
  completed: { icon: 'check', label: 'Completed' },
  expired: { icon: 'cross', label: 'Expired' },
  broken: { icon: 'cross', label: 'Does not hold' },
  not_proved: { icon: 'warning', label: 'Not proved' },
  unfinished: { icon: 'pending', label: 'Being checked' },
};

const completedInTest = { icon: 'warning', label: 'Completed, with test stamps' };

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

function tableOf({ workflowId, outputs }: WorkflowPage, pageCount: number, isClaimed: boolean): OutputsTable {
  const { page: current, pageSize, total } = outputs;
  const rows = outputs.rows.map((row) => ({ ...row, icon: iconOf(row.type), mark: markShownOf(row, isClaimed) }));
  const [firstRow = null] = rows;
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
    days: daysOf(rows),
    sameProvider: isSameProvider ? firstRow : null,
    columns: isSameProvider ? 5 : 6,
    hasNames: rows.some(({ name }) => name !== null),
    goesBack: isClaimed && rows.some((row, i) => Date.parse(row.stampedAt) < Date.parse(rows[i - 1]?.stampedAt ?? '')),
    links: pages.map((page, i) => ({
      ...{ url: `${pageUrl(workflowId, page)}#outputs`, range: rangeOf(page), isCurrent: page === current },
      isAfterGap: page > (pages[i - 1] ?? 0) + 1,
    })),
  };
}

const knownTypes = ['image', 'text', 'audio', 'video', 'code', 'layout'];

const iconOf = (type: string): string => (knownTypes.includes(type) ? type : 'other');

/** The provider is written once if all rows have the same, with the same verdict. */
const providerOf = ({ provider, isQualified, qualification, verdict }: OutputRow): string =>
  JSON.stringify([provider, isQualified, qualification?.basis, verdict.kind]);

/** Groups rows by the day of their stamps, in their order, so that each day is written once. */
function daysOf(rows: readonly RowShown[]): OutputsTable['days'] {
  const days: { readonly day: string; readonly rows: RowShown[] }[] = [];
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

const faultsOf = (faults: readonly WorkflowFault[]): WorkflowView['faults'] => ({
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
    case 'closing_record_mismatch':
      return `The ${memberText(fault.member)} on this page differs from the one at the closing of the workflow.`;
    case 'root_stamp':
      return 'The stamp of the Merkle root does not verify.';
    case 'closing_record_stamp':
      return 'The stamp of the closing record does not verify.';
    case 'output_stamp':
      return `The stamp of output ${count(fault.sequenceNumber)} does not verify.`;
  }
}

const members = new Map([
  ['created_at', 'start'],
  ['confirmed_at', 'confirmation of the address'],
  ['completed_at', 'completion'],
  ['output_count', 'number of outputs'],
  ['email_commitment', 'client'],
  ['agent_commitment', 'agent'],
]);

const memberText = (member: string): string => members.get(member) ?? member.replaceAll('_', ' ');

function qualifiedOf(
  { outputs, root }: WorkflowPage,
  { isOnePage, stamps, unqualified }: { isOnePage: boolean; stamps: number; unqualified: number },
): QualifiedShown {
  // The root covers all outputs, so its stamp speaks for the record. Without a root the stamps of this page speak, if all say the same.
  const speaking = root ? [root.stamp] : outputs.rows;
  const sentences = new Set(speaking.map(({ qualification }) => qualification && qualifiedLine(qualification)));
  const common = (sentences.size === 1 && speaking[0]?.qualification) || null;
  const isOne = isOnePage && outputs.total === 1;
  const stampsText = !isOnePage ? 'the stamps on this page' : isOne ? 'the stamp of the file itself' : 'the stamps of the single files';
  const isSame = outputs.rows.every(({ qualification }) => qualification?.basis === common?.basis);
  return {
    common,
    summary: unqualified === 0 ? 'Qualified' : unqualified === stamps ? 'Not qualified' : 'Not all are qualified',
    later: common && laterStatusSentence(common.listed),
    ofOutputs: !isSame
      ? `See the marks for ${stampsText}.`
      : common?.basis === 'list'
        ? `T${stampsText.slice(1)} ${isOne ? 'is' : 'are'} qualified too.`
        : `The same is claimed for ${stampsText}.`,
  };
}

function foundOf(
  { workflowId, outputs, briefingHash, proof }: WorkflowPage,
  { hash, sequenceNumbers }: FindResult,
  { isClaimed, isTest }: { isClaimed: boolean; isTest: boolean },
): FoundShown {
  const isBriefing = hash === briefingHash;
  const isFound = isBriefing || sequenceNumbers.length > 0;
  const isUnknown = !isFound && (proof.kind === 'broken' || proof.kind === 'unfinished');
  const answer = (icon: string, title: string): FoundShown => ({
    ...{ hash, icon, title, isBriefing, isFound, isUnknown },
    outputs: sequenceNumbers.map((number) => ({
      number,
      url: `${pageUrl(workflowId, Math.ceil(number / outputs.pageSize))}#output-${number}`,
    })),
  });
  if (isUnknown) return answer('warning', 'It is not known');
  if (!isFound) return answer('cross', 'No match.');
  if (!isClaimed) return answer('warning', 'Not proved.');
  return answer(isTest ? 'warning' : 'check', 'Match.');
}

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

function differsFromRoot({ root, closingRecord }: WorkflowPage): boolean {
  const [ofRoot, ofRecord] = [root?.stamp.qualification, closingRecord?.stamp.qualification];
  return Boolean(ofRoot && ofRecord && qualifiedLine(ofRoot) !== qualifiedLine(ofRecord));
}

function comparedOf({ outputs, root, closingRecord, published, ...facts }: WorkflowPage) {
  const { workflowId, status, tier, briefingHash, startedAt, emailVerifiedAt, completedAt } = facts;
  const sealOf = ({ hash, stamp }: StampedHash) => ({
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

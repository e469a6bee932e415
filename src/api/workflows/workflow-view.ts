import { workflowPath } from '../../shared/domain/addresses.ts';
import { trialOf } from '../../shared/domain/qualification.ts';
import type { WorkflowTier } from '../../shared/domain/tiers.ts';
import type { LinkMailState, WorkflowStatus } from '../../shared/domain/workflow-state.ts';
import { count, dateText } from '../../shared/views/format.ts';
import type { OutputRow, WorkflowPage, WorkflowProof } from './workflow-model.ts';

declare module '../server/views.ts' {
  interface PageModels {
    readonly workflow: WorkflowView;
  }
}

/** The public page of a workflow: its facts, and what the page says about them. */
export interface WorkflowView extends WorkflowPage {
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
  readonly pageCount: number;
  readonly table: OutputsTable;
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
  readonly hasMark: boolean;
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
  return {
    ...page,
    ...{ isClaimed, isTest, isDevelopment: isTest && trials.includes('development') },
    state: { name, ...(isTest && name === 'completed' ? completedInTest : states[name]) },
    tierText: tiers[page.tier],
    mailText: mails[page.mail],
    stamps: outputs.total + seals.length,
    // The rows were verified just now. Recorded facts count only for outputs on other pages.
    unqualified: Math.max(pageCount > 1 ? outputs.unqualifiedTotal : 0, countUnqualified(outputs.rows)) + countUnqualified(seals),
    isMockShown: [...outputs.rows, ...seals].some(({ provider }) => provider === 'mock'),
    pageCount,
    table: tableOf(page, pageCount, isClaimed),
  };
}

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
  const rows = outputs.rows.map((row) => ({ ...row, icon: iconOf(row.type), hasMark: isClaimed || row.verdict.kind !== 'proved' }));
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

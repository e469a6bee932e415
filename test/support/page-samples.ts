import { createHash } from 'node:crypto';
import { errorPageOf, type LookedFor } from '../../src/api/http/views.ts';
import type { ProvedStamp, StampMark, VerdictShown, VerifyPage } from '../../src/api/verification/verify-view.ts';
import type { WorkflowPage } from '../../src/api/workflows/page.ts';
import type { OutputRow } from '../../src/api/workflows/proof.ts';
import type { VerifyUserFacts } from '../../src/api/workflows/verify-user-page.ts';
import { notQualified, type Qualification } from '../../src/shared/domain/qualification.ts';
import type { WorkflowTier } from '../../src/shared/domain/stamp.ts';

import { sealHashes } from './page-record.ts';

export { startSample, statusSamples } from './status-samples.ts';

/** Models like those of the service, for the tests of the pages. */

export const contentOf = (number: number): Buffer => Buffer.from(`output number ${number}\n`);
export const sha256Of = (content: Buffer | string): string => createHash('sha256').update(content).digest('hex');

const workflowId = '01995f3a-7c1e-7d0b-9a52-3f2b8c6d4e10';
const types = ['layout', 'image', 'text', 'code', 'audio', 'video', 'application.x-step+zip'];
const tokenIdOf = (number: number): string => `01995f3b-0000-7000-8000-${String(number).padStart(12, '0')}`;

const listed: NonNullable<Qualification['listed']> = {
  ...{ territory: 'LU', listNumber: 61, listSha256: sha256Of('list'), type: 'TSA/QTST', status: 'granted' },
  ...{ providerName: 'Acme Trust Services', serviceName: 'Acme qualified time-stamps' },
  ...{ since: '2019-03-01T00:00:00.000Z', atProofOfExistence: null },
};
const byList: Qualification = { status: 'qualified', basis: 'list', reason: null, listed, isClaimedByToken: true };
const withdrawn: Qualification = {
  ...{ ...byList, status: 'not_qualified', reason: 'service_withdrawn' },
  listed: { ...listed, status: 'withdrawn', since: '2026-04-01T00:00:00.000Z' },
};
const later = { time: '2026-12-24T08:00:00.000Z', status: 'withdrawn', since: '2026-12-01T00:00:00.000Z' };

/** What a stamp page says about *qualified*, by the name of its sample. */
const qualifications = {
  qualified: byList,
  claimed: { ...byList, basis: 'operator', listed: null, isClaimedByToken: false },
  not_listed: notQualified('service_not_listed'),
  list_expired: { ...byList, status: 'not_qualified', reason: 'list_expired' },
  differing: { ...byList, listed: { ...listed, atProofOfExistence: later } },
} satisfies Record<string, Qualification>;

const mark = (number: number, isQualified: boolean, provider = isQualified ? 'acme-qtsa' : 'mock'): StampMark => ({
  tokenId: tokenIdOf(number),
  stampedAt: new Date(Date.UTC(2026, 10, 21, 9, 30, 0) + number * 61_000).toISOString().replace('.000Z', 'Z'),
  provider,
  isQualified,
  qualification: isQualified ? byList : notQualified(provider === 'mock' ? 'mock_provider' : 'service_not_listed'),
  verifyUrl: `/api/v1/verify/v1/token/${tokenIdOf(number)}`,
  verdict: { kind: 'proved' },
});

const row = (number: number, isQualified: boolean): OutputRow => ({
  ...mark(number, isQualified),
  sequenceNumber: number,
  type: types[number % types.length]!,
  name: null,
  hash: sha256Of(contentOf(number)),
});

/** One page of a workflow with `total` outputs. */
export function outputsPage(total: number, { page = 1, pageSize = 100, isQualified = (_: number): boolean => false } = {}) {
  const numbers = Array.from({ length: total }, (_, i) => i + 1);
  return {
    rows: numbers.slice((page - 1) * pageSize, page * pageSize).map((number) => row(number, isQualified(number))),
    total,
    unqualifiedTotal: numbers.filter((number) => !isQualified(number)).length,
    page,
    pageSize,
  };
}

export const briefing = 'Draw the cover of the annual report.';

/** The hashes of all outputs of a sample, in their order. */
export const hashesOf = (total: number): string[] => Array.from({ length: total }, (_, i) => sha256Of(contentOf(i + 1)));

const facts = {
  workflowId,
  address: `https://stamps.example/workflow/${workflowId}`,
  proof: { kind: 'proved' },
  status: 'completed',
  isClosing: false,
  isTierServed: true,
  makesTestStamps: false,
  startedAt: '2026-11-21T09:12:44Z',
  expiresAt: '2026-11-28T09:12:44Z',
  completedAt: '2026-11-21T10:02:31Z',
  agentId: 'cover-artist/2.1',
  title: null,
  maskedEmail: 'j•••@example.com',
  emailVerifiedAt: '2026-11-21T09:14:02Z',
  confirmWith: 'link',
  mail: 'sent',
  briefingHash: sha256Of(briefing),
  published: { outputsUrl: `/workflow/${workflowId}/outputs.json`, closingRecordUrl: `/workflow/${workflowId}/closing-record.json` },
  evidence: { jsonUrl: `/workflow/${workflowId}/evidence.json`, zipUrl: `/workflow/${workflowId}/evidence.zip` },
  find: null,
  shownAt: '2026-11-21T11:46:07.204Z',
} as const;

/** A completed workflow, closed with the outputs of this page and those on other pages. */
function closed(
  outputs: WorkflowPage['outputs'],
  { tier = 'verified', isQualified = false }: { tier?: WorkflowTier; isQualified?: boolean } = {},
) {
  const hashes = sealHashes({ ...facts, tier }, hashesOf(outputs.total));
  return {
    ...facts,
    tier,
    outputs,
    root: { hash: hashes.root, stamp: { ...mark(99, isQualified), stampedAt: '2026-11-21T10:02:30.482Z' }, stored: null },
    closingRecord: { hash: hashes.closingRecord, stamp: { ...mark(98, isQualified), stampedAt: '2026-11-21T10:02:30.501Z' }, stored: null },
  } satisfies WorkflowPage;
}

const completed: WorkflowPage = closed(outputsPage(12));

const open = { ...completed, proof: { kind: 'open' }, completedAt: null, root: null, closingRecord: null, evidence: null } as const;
const qualified = () => true;
const reason = 'record_mismatch: The stored token does not match its record.';
const notProved = { qualification: null, verdict: { kind: 'not_proved' } } as const;
const find = (content: Buffer | string, ...sequenceNumbers: number[]) => ({
  ...completed,
  find: { hash: sha256Of(content), sequenceNumbers },
});

/** With the stamps of root and closing record changed. */
const sealed = (page: ReturnType<typeof closed>, changed: Partial<StampMark>, ofRecord = changed) => ({
  ...page,
  root: { ...page.root, stamp: { ...page.root.stamp, ...changed } },
  closingRecord: { ...page.closingRecord, stamp: { ...page.closingRecord.stamp, ...ofRecord } },
});
/** Outputs of a qualified provider, some of them changed. */
const rowsWith = (total: number, change: (number: number) => Partial<OutputRow>) => ({
  ...outputsPage(total, { isQualified: qualified }),
  rows: Array.from({ length: total }, (_, i) => ({ ...row(i + 1, true), ...change(i + 1) })),
});

const ofAcme = { provider: 'acme-tsa', qualification: qualifications.not_listed };
/** Outputs with names, stamped around midnight, some in another order. */
const nearMidnight = ['21T23:59:58.251', '21T23:59:58.194', '22T00:00:01.7', '22T00:00:01.72'];
const names = ['cover.png', 'Text of the cover, in three languages', null, 'сover-final “2”.svg'];
const namedRow = (shown: OutputRow, i: number): OutputRow => ({
  ...{ ...shown, ...ofAcme },
  ...{ stampedAt: `2026-11-${nearMidnight[i]}Z`, name: names[i] ?? null },
});

const twoClosed = closed(outputsPage(2), { isQualified: true });
const claimed = { qualification: qualifications.claimed };

export const workflowSamples = {
  completed,
  qualified: closed(outputsPage(7, { isQualified: qualified }), { tier: 'qualified', isQualified: true }),
  mixed: closed(outputsPage(5, { isQualified: (number) => number !== 3 }), { isQualified: true }),
  named: {
    ...sealed(closed(outputsPage(4)), ofAcme),
    ...{ title: 'Cover of the annual report', outputs: { ...outputsPage(4), rows: outputsPage(4).rows.map(namedRow) } },
  },
  claimed: { ...sealed(twoClosed, claimed, {}), outputs: rowsWith(2, (number) => (number === 1 ? claimed : {})) },
  oneReal: closed(outputsPage(1, { isQualified: qualified }), { isQualified: true }),
  pending: { ...open, status: 'pending', tier: 'standard', emailVerifiedAt: null, outputs: outputsPage(3) },
  undelivered: { ...open, status: 'pending', emailVerifiedAt: null, mail: 'failed', outputs: outputsPage(0) },
  unserved: { ...open, status: 'active', tier: 'qualified', isTierServed: false, outputs: outputsPage(0) },
  empty: { ...open, status: 'active', outputs: outputsPage(0) },
  closedEmpty: closed(outputsPage(0)),
  one: closed(outputsPage(1)),
  closing: { ...open, status: 'active', isClosing: true },
  expired: { ...open, status: 'expired', emailVerifiedAt: null, maskedEmail: null, agentId: null, outputs: outputsPage(2) },
  broken: {
    ...closed(outputsPage(4), { isQualified: true }),
    proof: {
      kind: 'broken',
      faults: [
        { kind: 'chain_hash_mismatch', sequenceNumber: 3 },
        { kind: 'output_stamp', sequenceNumber: 3, reason },
      ],
    },
    outputs: rowsWith(4, (number) => (number === 3 ? { qualification: null, verdict: { kind: 'refused', reason } } : {})),
  },
  unfinished: { ...completed, proof: { kind: 'unfinished' } },
  not_proved: { ...sealed(twoClosed, notProved), proof: { kind: 'not_proved' }, outputs: rowsWith(2, () => notProved) },
  long: closed(outputsPage(250, { page: 2, pageSize: 20 })),
  found: find(contentOf(4), 4),
  foundBriefing: find(briefing),
  thousand: closed(outputsPage(1_000, { pageSize: 1_000 })),
  notFound: find('other'),
} satisfies Record<string, WorkflowPage>;

const asker = { agentName: 'Cover Artist 2.1', taskTitle: 'Cover for the autumn issue' };
const unnamed = { agentName: '', taskTitle: null };

const outcomes: readonly VerifyUserFacts['outcome'][] = [
  { kind: 'verified', asker },
  { kind: 'wrong', triesLeft: 3 },
  { kind: 'wrong', triesLeft: 0 },
  ...(['challenge_expired', 'challenge_used', 'challenge_exhausted', 'challenge_replaced'] as const).map((kind) => ({ kind })),
  ...(['workflow_expired', 'workflow_closed', 'email_redacted'] as const).map((kind) => ({ kind })),
];
const withButton: readonly VerifyUserFacts['outcome'][] = [
  { kind: 'open', asker },
  { kind: 'verified', asker: unnamed },
  { kind: 'challenge_used' },
];
const verifyUserFacts = (outcome: VerifyUserFacts['outcome'], confirmWith: VerifyUserFacts['confirmWith']): VerifyUserFacts => ({
  outcome,
  confirmWith,
  workflowId,
  workflowUrl: `/workflow/${workflowId}`,
  makesTestStamps: false,
});
export const verifyUserSamples: readonly VerifyUserFacts[] = [
  ...outcomes.map((outcome) => verifyUserFacts(outcome, 'link')),
  ...withButton.map((outcome) => verifyUserFacts(outcome, 'button')),
];

const list = { issuer: 'CN=Acme Time CA', this_update: '2026-11-20T00:00:00Z', next_update: '2026-11-27T00:00:00Z' };
const notRevoked = { status: 'good', list, revoked_at: null, invalid_since: null, reason: null } as const;
const notKnown = { ...notRevoked, status: 'unknown', list: null, reason: 'no revocation list of its issuer is available' } as const;

const certificate = (subject: string, revocation: typeof notRevoked | typeof notKnown = notKnown) => ({
  subject,
  fingerprint: sha256Of(subject),
  validFrom: '2025-01-01T00:00:00Z',
  validUntil: '2035-01-01T00:00:00Z',
  revocation: { subject, sha256: sha256Of(subject), ...revocation },
});

const provedStamp: ProvedStamp = {
  stampedAt: '2026-11-21T09:31:01.482Z',
  provider: 'acme-qtsa',
  qualification: byList,
  imprint: { algorithm: 'sha256', digest: sha256Of(contentOf(1)) },
  details: {
    policy: '1.3.6.1.4.1.99999.1.2',
    accuracySeconds: 0.5,
    serial: '8734561298734561298734',
    chain: [
      certificate('CN=Acme TSU 7,O=Acme Trust Services', notRevoked),
      certificate('CN=Acme Time CA'),
      { ...certificate('CN=Acme Root,O=Acme Trust Services,C=LU'), revocation: null },
    ],
    notChecked: ['whether CN=Acme Time CA was revoked: no revocation list of its issuer is available'],
    certificatesEndedAt: null,
    record: { tokens: 2, holdsUntil: '2031-11-21T09:31:01.000Z' },
  },
};

const proved = (changed: Partial<ProvedStamp> = {}): VerdictShown => ({ kind: 'proved', stamp: { ...provedStamp, ...changed } });
const verifyPage = (verdict: VerdictShown): VerifyPage => ({
  tokenId: tokenIdOf(1),
  address: `https://stamps.example/api/v1/verify/v1/token/${tokenIdOf(1)}`,
  verdict,
  downloads:
    verdict.kind === 'unknown'
      ? []
      : (['tsr', 'tsq', 'token', 'evidence'] as const).map((name) => ({ name, url: `/api/v1/verify/v1/token/x/${name}` })),
  isBatched: false,
  shownAt: '2026-11-21T11:46:07.204Z',
});

const untrusted = 'untrusted_root: The signer’s certificate does not lead to a trust anchor.';
const refusal = { reason: untrusted, advice: null, qualification: null };
const stolen = 'whether a key was stolen after its certificate expired at 2030-01-01T00:00:00Z: nobody reports that any more';
const details = (changed: Partial<NonNullable<ProvedStamp['details']>>) => proved({ details: { ...provedStamp.details!, ...changed } });
const sha512 = { algorithm: 'sha512', digest: createHash('sha512').update(contentOf(1)).digest('hex') } as const;
const mock = proved({ qualification: notQualified('mock_provider'), provider: 'mock', details: null });

export const verifySamples = {
  ...(Object.fromEntries(
    Object.entries(qualifications).map(([name, qualification]) => [name, verifyPage(proved({ qualification }))]),
  ) as Record<keyof typeof qualifications, VerifyPage>),
  sha512: verifyPage(proved({ qualification: qualifications.not_listed, imprint: sha512 })),
  mock: { ...verifyPage(mock), downloads: [] },
  batched: { ...verifyPage(proved()), isBatched: true },
  ended: verifyPage(details({ certificatesEndedAt: '2030-01-01T00:00:00Z', notChecked: [stolen], record: null })),
  refused: verifyPage({ ...refusal, kind: 'refused', reason }),
  unknown: verifyPage({ kind: 'unknown' }),
  not_proved: verifyPage({ ...refusal, kind: 'not_proved' }),
  // The list has the service, so its word is known although no trust anchor covers the token.
  not_granted: verifyPage({ ...refusal, kind: 'not_proved', qualification: withdrawn }),
} satisfies Record<string, VerifyPage>;

/** The answers of `/verify` to these tokens, which are evidence records except `plain`, `development` and `mock`. Any other token is refused. */
const pasted: Readonly<Record<string, VerdictShown>> = {
  good: proved({ provider: null, qualification: notQualified('provider_not_qualified') }),
  second: proved({
    imprint: { algorithm: 'sha256', digest: sha256Of(contentOf(2)) },
    details: { ...provedStamp.details!, accuracySeconds: null },
  }),
  plain: details({ record: null }),
  development: proved({ qualification: notQualified('development_tsa'), details: { ...provedStamp.details!, record: null } }),
  mock,
  not_proved: { ...refusal, kind: 'not_proved' },
  not_granted: { ...refusal, kind: 'not_proved', qualification: withdrawn },
};

export const verdictOf = (token: string): VerdictShown =>
  pasted[token] ?? { ...refusal, kind: 'refused', reason: 'not_base64: The token is not canonical base64.' };

const errorPage = (what: LookedFor, status: number, detail = '', retryAfterSeconds: number | null = null) =>
  errorPageOf(what, { status, detail, retryAfterSeconds }, '01995f3a-7c1e-7d0b-9a52-3f2b8c6d4e10');

export const errorSamples = {
  'no-workflow': errorPage('workflow', 404),
  'cut-workflow': errorPage('workflow', 422),
  'no-confirmation': errorPage('confirmation', 404),
  'no-content': errorPage('content', 404),
  'too-often': errorPage('stamp', 429, '', 42),
  down: errorPage('workflow', 503, '', 2),
  ours: errorPage('page', 500, 'Something went wrong on our side.'),
};

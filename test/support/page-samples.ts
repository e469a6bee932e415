import { createHash } from 'node:crypto';
import { errorPageOf, type LookedFor } from '../../src/api/http/views.ts';
import type { StampJudgement, StampMark } from '../../src/api/verification/stamp-judge.ts';
import type { StampPage } from '../../src/api/verification/stamp-pages.ts';
import type { WorkflowPage } from '../../src/api/workflows/page.ts';
import type { OutputRow } from '../../src/api/workflows/proof.ts';
import type { VerifyUserFacts } from '../../src/api/workflows/verify-user-page.ts';
import { notQualified, type Qualification } from '../../src/shared/domain/qualification.ts';
import type { ReasonCode } from '../../src/shared/domain/reasons.ts';
import type { WorkflowTier } from '../../src/shared/domain/stamp.ts';
import type { Verified } from '../../src/shared/rfc3161/index.ts';
import type { TrustedToken } from '../../src/shared/trust/judge.ts';
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
  link: null,
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
const newLinkUrl = `/workflow/${workflowId}/new-link`;
const waiting = {
  status: 'pending',
  emailVerifiedAt: null,
  link: { endsAt: '2026-11-24T09:12:46Z', isOver: false, newLinkUrl: null },
} as const;
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

const ofAcmeAll = (total: number) => ({ ...outputsPage(total), rows: outputsPage(total).rows.map((shown) => ({ ...shown, ...ofAcme })) });
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
  three: { ...sealed(closed(outputsPage(3)), ofAcme), title: 'Annual report 2026', outputs: ofAcmeAll(3) },
  forty: { ...sealed(closed(outputsPage(40)), ofAcme), title: 'Annual report 2026', outputs: ofAcmeAll(40) },
  mailed: { ...open, ...waiting, tier: 'standard', outputs: outputsPage(3) },
  pending: { ...open, ...waiting, link: { ...waiting.link, newLinkUrl }, tier: 'standard', outputs: outputsPage(3) },
  linkEnded: { ...open, ...waiting, link: { ...waiting.link, isOver: true, newLinkUrl }, outputs: outputsPage(0) },
  undelivered: { ...open, ...waiting, mail: 'failed', outputs: outputsPage(0) },
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

const maskedEmail = 'j•••@example.com';
const requester = { maskedEmail, agentName: 'Cover Artist 2.1', taskTitle: 'Cover for the autumn issue' };
const unnamed = { maskedEmail, agentName: '', taskTitle: null };

const outcomes: readonly VerifyUserFacts['outcome'][] = [
  { kind: 'verified', requester },
  { kind: 'wrong', triesLeft: 3 },
  { kind: 'wrong', triesLeft: 0 },
  ...(['challenge_expired', 'challenge_used', 'challenge_exhausted', 'challenge_replaced'] as const).map((kind) => ({ kind })),
  ...(['workflow_expired', 'workflow_closed', 'email_redacted'] as const).map((kind) => ({ kind })),
];
const withButton: readonly VerifyUserFacts['outcome'][] = [
  { kind: 'open', requester },
  { kind: 'verified', requester: unnamed },
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

const certificate = (subject: string) => ({
  ...{ subject, issuer: 'CN=Acme Root,O=Acme Trust Services,C=LU', serialHex: '01', fingerprint: sha256Of(subject) },
  ...{ notBefore: new Date('2025-01-01T00:00:00Z'), notAfter: new Date('2035-01-01T00:00:00Z'), der: Buffer.alloc(0) },
});
const chain = [
  certificate('CN=Acme TSU 7,O=Acme Trust Services'),
  certificate('CN=Acme Time CA'),
  certificate('CN=Acme Root,O=Acme Trust Services,C=LU'),
];
const crl = { issuer: 'CN=Acme Time CA', thisUpdate: new Date('2026-11-20T00:00:00Z'), nextUpdate: new Date('2026-11-27T00:00:00Z') };

/** The members of a verified token that pages show. */
const verified = {
  policy: '1.3.6.1.4.1.99999.1.2',
  accuracyMicroseconds: 500_000n,
  serial: '8734561298734561298734',
  ...{ signer: chain[0], chain },
  revocation: [
    { certificate: chain[0], status: 'good', list: crl },
    { certificate: chain[1], status: 'unknown', why: 'no_list' },
  ],
  certificatesEndedAt: undefined,
  unchecked: [],
  record: { tokens: [{}, {}], holdsUntil: new Date('2031-11-21T09:31:01.000Z') },
} as unknown as Verified;

const provedContents = {
  ok: true,
  isProviderKnown: true,
  isTrustedByList: false,
  issuedAt: '2026-11-21T09:31:01.482Z',
  provider: 'acme-qtsa',
  qualification: byList,
  imprint: { algorithm: 'sha256', digest: sha256Of(contentOf(1)) },
} as const;

const proved = (changed: Partial<Omit<TrustedToken, 'tokenId' | 'tst' | 'verified'>> = {}, token = verified): TrustedToken => ({
  ...{ ...provedContents, ...changed },
  ...{ tokenId: undefined, tst: Buffer.alloc(0), verified: token },
});
const stampPage = (judgement: StampJudgement, proofKind: StampPage['proofKind'] = 'token'): StampPage => ({
  ...{ tokenId: tokenIdOf(1), address: `https://stamps.example/api/v1/verify/v1/token/${tokenIdOf(1)}` },
  ...{ judgement, proofKind, shownAt: '2026-11-21T11:46:07.204Z' },
});

const refused = (code: ReasonCode, qualification?: Qualification): StampJudgement => ({
  ok: false,
  code,
  ...(qualification && { qualification }),
});
const withToken = (changed: Partial<Verified>, without?: 'record') =>
  proved({}, { ...verified, ...changed, ...(without && { record: undefined }) } as Verified);
const sha512 = { algorithm: 'sha512', digest: createHash('sha512').update(contentOf(1)).digest('hex') } as const;
const mock: TrustedToken = {
  ...{ ...provedContents, qualification: notQualified('mock_provider'), provider: 'mock' },
  ...{ tokenId: tokenIdOf(1), tst: undefined, verified: undefined },
};

export const verifySamples = {
  ...(Object.fromEntries(
    Object.entries(qualifications).map(([name, qualification]) => [name, stampPage(proved({ qualification }))]),
  ) as Record<keyof typeof qualifications, StampPage>),
  sha512: stampPage(proved({ qualification: qualifications.not_listed, imprint: sha512 })),
  mock: stampPage(mock, 'mock'),
  batched: stampPage(proved(), 'leaf'),
  ended: stampPage(withToken({ certificatesEndedAt: new Date('2030-01-01T00:00:00Z') }, 'record')),
  refused: stampPage(refused('record_mismatch')),
  unknown: { ...stampPage(refused('unknown_token_id')), proofKind: undefined },
  not_proved: stampPage(refused('untrusted_root')),
  // The list has the service, so its word is known although no trust anchor covers the token.
  not_granted: stampPage(refused('untrusted_root', withdrawn)),
} satisfies Record<string, StampPage>;

/** The answers of `/verify` to these tokens, which are evidence records except `plain`, `development` and `mock`. Any other token is refused. */
const pasted: Readonly<Record<string, StampJudgement>> = {
  good: proved({ isProviderKnown: false, qualification: notQualified('provider_not_qualified') }),
  second: { ...withToken({ accuracyMicroseconds: undefined }), imprint: { algorithm: 'sha256', digest: sha256Of(contentOf(2)) } },
  plain: withToken({}, 'record'),
  development: { ...withToken({}, 'record'), qualification: notQualified('development_tsa') },
  mock,
  not_proved: refused('untrusted_root'),
  not_granted: refused('untrusted_root', withdrawn),
};

export const judgementOf = (token: string): StampJudgement => pasted[token] ?? refused('not_base64');

const errorPage = (what: LookedFor, status: number, detail = '', retryAfterSeconds: number | null = null) =>
  errorPageOf(what, { status, detail, retryAfterSeconds }, '01995f3a-7c1e-7d0b-9a52-3f2b8c6d4e10');

export const errorSamples = {
  'no-workflow': errorPage('workflow', 404),
  'cut-workflow': errorPage('workflow', 422),
  'no-confirmation': errorPage('confirmation', 404),
  'no-content': errorPage('content', 404),
  'too-often': errorPage('stamp', 429, '', 42),
  down: errorPage('workflow', 503, '', 2),
  stopped: errorPage('new_link', 403),
  refused: errorPage('page', 413, 'The body is larger than 1 MB.'),
  ours: errorPage('page', 500),
};

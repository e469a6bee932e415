import { createPublicKey, createSecretKey, randomBytes, randomUUID } from 'node:crypto';
import { afterAll, expect, test } from 'vitest';
import type { StampJudgement } from '../../src/api/verification/stamp-judge.ts';
import { verifyFormViewOf } from '../../src/api/verification/stamp-pages.ts';
import { resultOf } from '../../src/api/verification/verification.ts';
import { judgeToken } from '../../src/cli/judge.ts';
import type { VerificationResult } from '../../src/shared/contract/verify.ts';
import { issueMockToken } from '../../src/shared/domain/mock-token.ts';
import { developmentPolicy } from '../../src/shared/domain/qualification.ts';
import { addTimeStamp, encodeEvidenceRecord, timeStampRenewalOf } from '../../src/shared/rfc3161/ers/encode.ts';
import { createTrustStore, PKI_STATUS, type SigningIdentity, tokenIn } from '../../src/shared/rfc3161/index.ts';
import { createTokenJudge } from '../../src/shared/trust/judge.ts';
import { createListIndex, openListThread } from '../../src/shared/trust/lists/index.ts';
import type { TrustSettings } from '../../src/shared/trust/trusted-providers.ts';
import { wordsOf } from '../../src/shared/views/format.ts';
import * as x509 from '../support/certificates.ts';
import { issueSigner, type SignerOptions } from '../support/certificates.ts';
import { ca, FROM_MS, lab, tokenBy } from '../support/chain-lab.ts';
import { newListSigner } from '../support/list-server.ts';
import { hash } from '../support/record-lab.ts';
import { type ListedService, type ListOptions, makeTrustedList } from '../support/trusted-lists.ts';
import { DAY_MS, LAB_NOW_MS } from '../support/tsa-lab.ts';

/**
 * One judge decides for the service, its pages and the command. With the same trust anchors, trusted lists and revocation lists, the verdict, its
 * reason and *qualified* with its basis are the same (V10, V11, V12).
 */

/** A verdict and its reason; then the basis of *qualified*, and `qualified` or the reason why not; `-` if nothing is said. */
type Line = string;

/** What each judge is given. */
interface Given {
  readonly anchors?: readonly SigningIdentity[];
  /** The services of the only trusted list. Undefined: there is no list. */
  readonly services?: readonly ListedService[];
  /** The services of an older list. */
  readonly older?: readonly ListedService[];
  readonly list?: ListOptions;
  readonly crls?: readonly Buffer[];
  /** The SHA-256 of the document. Undefined: none is given. */
  readonly digest?: Buffer;
}

interface Lines {
  /** The answer of the service with the trust anchors in `TRUST_ANCHORS_FILE`, and the revocation lists in the request. */
  readonly service: Line;
  /** The same with the trust anchors and revocation lists in the settings of a provider. */
  readonly ofProvider: Line;
  /** The page of the service. */
  readonly page: Line;
  readonly command: Line;
}

const listSigner = newListSigner('Utopia');
const reader = openListThread();
afterAll(() => reader.close());
const mockKey = createSecretKey(randomBytes(32));

async function listOf(services: readonly ListedService[], options: ListOptions = {}) {
  const providers = [{ name: 'Acme', services }];
  const document = makeTrustedList({ territory: 'SE', sequenceNumber: 61, providers, signed: listSigner, ...options });
  return reader.read(document, [listSigner.certificate]);
}

const noLists = createListIndex([]);
/** The provider says nothing about its qualification and its policy. */
const provider = { name: 'tsa', qualified: 'from_list', policyOid: undefined } as never;

async function linesOf(token: Buffer, { anchors = [], services, older, list, crls = [], digest }: Given): Promise<Lines> {
  const index = services && createListIndex([await listOf(services, list)], older && [await listOf(older, { sequenceNumber: 60 })]);
  const imprint = digest && ({ algorithm: 'sha256', digest: digest.toString('hex') } as const);
  const certificates = anchors.map(({ certificate }) => certificate);
  const storeOf = (own: readonly Buffer[], lists = crls) =>
    createTrustStore({ anchors: own, intermediates: [issuer.certificate, ...certificates], crls: lists });
  const judgeOf = (trust: TrustSettings) =>
    createTokenJudge({ trust, lists: () => index ?? noLists, mockKey: async () => mockKey, clock: () => LAB_NOW_MS }).judge;
  const ofOperator = { providers: [], extraTrust: storeOf(certificates, []) };
  const ofProvider = { providers: [{ settings: provider, trust: storeOf(certificates) }], extraTrust: storeOf([]) };
  const imprints = imprint ? [imprint] : [];
  const judged = await judgeOf(ofOperator)(token, { imprints, crls });
  const { verdict, reason, qualification } = await judgeToken(
    token,
    { trust: storeOf(certificates), lists: index, nowMs: LAB_NOW_MS },
    imprints,
  );
  return {
    service: answerLine(resultOf(judged, null, false)),
    ofProvider: answerLine(resultOf(await judgeOf(ofProvider)(token, { imprints }), null, false)),
    page: pageLine(judged),
    command: lineOf(verdict, reason, qualification?.basis, qualification?.reason ?? qualification?.status),
  };
}

const lineOf = (verdict: string | undefined, reason: string | null | undefined, ...said: readonly (string | null | undefined)[]): Line =>
  `${[verdict, reason?.replace(/:.*/, '')].filter(Boolean).join(' ')}; ${said.filter(Boolean).join(' ') || '-'}`;

const answerLine = ({ verdict, reason, qualified }: VerificationResult): Line =>
  lineOf(verdict, reason, qualified?.basis, qualified?.reason?.replace(/:.*/, '') ?? qualified?.status);

function pageLine(judgement: StampJudgement): Line {
  const { verdict, stamp } = verifyFormViewOf({ token: '', hash: '', judgement })(wordsOf('en')).asked;
  if (stamp) return lineOf('valid', null, stamp.qualification.basis, stamp.qualification.reason ?? stamp.qualification.status);
  const { kind, reason, qualification } = { reason: null, qualification: undefined, ...verdict };
  const { basis, reason: why } = qualification?.qualification ?? {};
  return lineOf(kind === 'refused' ? 'not_valid' : kind, reason, basis, why);
}

// Authorities, and the services of lists

const tsaOf = (by: SigningIdentity, commonName: string, more: SignerOptions = {}) =>
  issueSigner(by, { nowMs: FROM_MS, commonName, ...more });
const keyOf = ({ privateKey, scheme }: SigningIdentity) => ({ privateKey, publicKey: createPublicKey(privateKey), scheme });
const above = ca(undefined, { name: 'Old root' });
const root = ca(above, { name: 'Root' });
const issuer = ca(root, { name: 'Time-stamping CA' });
const signer = tsaOf(issuer, 'TSA');
/** Its certificate has ended, so a record that begins with its token depends on the renewal. */
const ended = tsaOf(issuer, 'Old TSA', { notAfterMs: LAB_NOW_MS - DAY_MS / 2 });
const otherRoot = ca(undefined, { name: 'Other root' });
const other = tsaOf(otherRoot, 'Other TSA');
const otherEnded = tsaOf(otherRoot, 'Other old TSA', { notAfterMs: LAB_NOW_MS - DAY_MS / 2 });
/** The key of the signer under a certificate of another CA. */
const thief = tsaOf(otherRoot, 'TSA', { key: keyOf(signer) });

const granted = { type: 'TSA/QTST', name: 'Stamps', status: 'granted', since: '2018-03-01T00:00:00Z' };
const listed = (by: SigningIdentity, more: Partial<ListedService> = {}) => ({ ...granted, certificates: [by.certificate], ...more });
const withdrawn = (by: SigningIdentity) => listed(by, { status: 'withdrawn', since: '2024-01-01T00:00:00Z' });
const ofWithdrawn = { services: [withdrawn(issuer)] };
const ofOtherType = listed(issuer, { type: 'TSA' });
const ofOtherKey = listed(ca(root, { name: 'Time-stamping CA' }));
const byRoot = { anchors: [root] };
const byOther = { anchors: [otherRoot] };
const byRoots = { anchors: [root, otherRoot] };
const byList = { services: [listed(issuer)] };
const both = { ...byRoot, ...byList };
const expired = { nextUpdate: '2026-11-21T11:59:59Z' };

const crlOf = ({ serialNumber }: SigningIdentity, by: SigningIdentity, revokedAtMs = LAB_NOW_MS - DAY_MS) => {
  const revoked = [{ serialNumber, revokedAtMs, reason: 1 }];
  return x509.issueCrl({ number: 1n, thisUpdateMs: LAB_NOW_MS, nextUpdateMs: LAB_NOW_MS + DAY_MS, revoked }, by);
};
const revoking = [crlOf(signer, issuer)];
const revokingOther = [crlOf(other, otherRoot)];

// Tokens and records

const token = tokenBy(signer);
const unknown = tokenBy(other);
const changed = Buffer.from(unknown);
changed[changed.length - 5]! ^= 1;
const modified = (by: SigningIdentity) =>
  tokenBy(by, by.chain, { response: (parts) => ({ ...parts, status: PKI_STATUS.grantedWithMods }) });
const [withMods, unknownWithMods] = [modified(signer), modified(other)];
const bare = lab.specimen({ profile: { identity: signer }, seams: { token: (parts) => ({ ...parts, certificates: [] }) } }).answer;
const ofFuture = lab.specimen({ profile: { identity: signer }, timeMs: LAB_NOW_MS + DAY_MS }).answer;
const ofPolicy = (policy: string, identity: SigningIdentity) => lab.specimen({ profile: { identity, policies: [policy] } }).answer;
const mockBy = (key: typeof mockKey) =>
  Buffer.from(issueMockToken(key, { tokenId: randomUUID(), hash: 'ab'.repeat(32), timeMs: LAB_NOW_MS, tier: 'basic' }), 'base64');

/** The key of a CA below two roots. */
const subKey = x509.generateSigningKey('p-256');
const [ofRoot, ofOther] = [root, otherRoot].map((by) => ca(by, { key: subKey, name: 'Sub' })) as [SigningIdentity, SigningIdentity];
const crossed = tokenBy(tsaOf(ofRoot, 'TSA of two'), [ofOther.certificate, ofRoot.certificate]);
/** Certified by the signer, whose key also has a certificate of a CA that has expired. */
const expiredCa = ca(otherRoot, { key: keyOf(signer), name: 'TSA', notAfterMs: FROM_MS + DAY_MS });
const expiredSub = ca(otherRoot, { key: subKey, name: 'Sub', notAfterMs: FROM_MS + DAY_MS });
const crossedByExpired = tokenBy(tsaOf(ofRoot, 'TSA of two'), [expiredSub.certificate, ofRoot.certificate]);
const byNoCa = tokenBy(tsaOf(signer, 'TSA below'));
const byExpiredCa = tokenBy(tsaOf(signer, 'TSA below'), [expiredCa.certificate]);

const content = hash('sha256', Buffer.from('content'));
const stampBy = (identity: SigningIdentity, digest: Buffer, daysAgo: number) =>
  tokenIn(lab.specimen({ profile: { identity }, ask: { digest, nonce: undefined }, timeMs: LAB_NOW_MS - daysAgo * DAY_MS }).answer)!;
const recordBy = (first: SigningIdentity) => encodeEvidenceRecord('sha256', { token: stampBy(first, content, 2) });
function renew(record: Buffer, by: SigningIdentity, daysAgo: number): Buffer {
  const { firstList, imprint } = timeStampRenewalOf(record);
  const reducedHashtree = firstList.length > 1 ? [firstList] : undefined;
  return addTimeStamp(record, { token: stampBy(by, imprint.digest, daysAgo), reducedHashtree }, 'last_chain');
}
const renewed = (first: SigningIdentity, by: SigningIdentity) => renew(recordBy(first), by, 1);

const renewedWrongly = Buffer.from(renewed(signer, other));
renewedWrongly[renewedWrongly.length - 5]! ^= 1;

test.each<[what: string, expected: Line, token: Buffer, given: Given]>([
  ['by an anchor that no list knows', 'valid; service_not_listed', token, { ...byRoot, services: [listed(other)] }],
  ['by a list', 'valid; list qualified', token, byList],
  ['by both', 'valid; list qualified', token, both],
  ['a list grants the CA above the anchor', 'valid; list qualified', token, { ...byRoot, services: [listed(above)] }],
  ['a list grants another chain than the anchor', 'valid; list qualified', crossed, { ...byOther, services: [listed(root)] }],
  [
    'a list grants, and the chain to the anchor had expired',
    'valid; list qualified',
    crossedByExpired,
    { ...byOther, services: [listed(root)] },
  ],
  ['withdrawn, by an anchor', 'valid; list service_withdrawn', token, { ...byRoot, services: [withdrawn(issuer)] }],
  ['withdrawn, by the list', 'not_proved trust_store_empty; list service_withdrawn', token, ofWithdrawn],
  ['another type, by an anchor', 'valid; list service_other_type', token, { ...byRoot, services: [ofOtherType] }],
  ['another key, by an anchor', 'valid; list service_other_key', token, { ...byRoot, services: [ofOtherKey] }],
  ['an expired list, by an anchor', 'valid; list list_expired', token, { ...both, list: expired }],
  ['an expired list', 'not_proved trust_store_empty; list list_expired', token, { ...byList, list: expired }],
  ['an unknown authority', 'not_proved untrusted_root; -', unknown, byRoot],
  ['no anchor', 'not_proved trust_store_empty; -', unknown, {}],
  ['an unknown authority and a wrong signature', 'not_valid signature_invalid; -', changed, both],
  ['no certificates', 'not_proved signer_certificate_missing; -', bare, byOther],
  ['of the future', 'not_valid gen_time_future; -', ofFuture, byRoot],
  ['revoked, by an anchor', 'not_valid certificate_revoked; -', token, { ...byRoot, crls: revoking }],
  ['revoked, by a list', 'not_valid certificate_revoked; -', token, { ...byList, crls: revoking }],
  ['revoked, by both', 'not_valid certificate_revoked; -', token, { ...both, crls: revoking }],
  ['revoked, of an unknown authority', 'not_valid certificate_revoked; -', token, { ...byOther, crls: revoking }],
  [
    'the revoked key of a service',
    'not_valid certificate_revoked; -',
    tokenBy(thief),
    { ...byOther, services: [listed(signer)], crls: revoking },
  ],
  ['certified by a service that is no CA', 'not_valid issuer_not_ca; -', byNoCa, { services: [listed(signer)] }],
  ['granted with modifications, by an anchor', 'not_valid granted_with_mods; -', withMods, byRoot],
  ['granted with modifications, by a list', 'not_valid granted_with_mods; -', withMods, byList],
  ['another policy', 'valid; list qualified', ofPolicy('2.999.8', signer), both],
  ['the policy for trials', 'valid; development_tsa', ofPolicy(developmentPolicy, other), { ...byOther, ...byList }],
  ['a record', 'valid; list qualified', recordBy(signer), { ...both, digest: content }],
  ['a record of another document', 'not_valid imprint_mismatch; -', recordBy(signer), { ...byRoot, digest: hash('sha256', content) }],
  ['a record that has ended', 'not_valid evidence_expired; -', recordBy(ended), byRoot],
  [
    'renewed by another authority, by anchors',
    'valid; service_not_listed',
    renewed(ended, other),
    { ...byRoots, services: [listed(signer)] },
  ],
  [
    'renewed by another authority, by the list',
    'valid; list qualified',
    renewed(ended, other),
    { services: [listed(issuer), listed(other)] },
  ],
  ['by the list, renewed by an anchor', 'valid; list qualified', renewed(signer, other), { ...byOther, ...byList }],
  ['by both, ended and renewed by an anchor', 'valid; list later_time_stamp', renewed(ended, other), { ...byRoots, ...byList }],
  [
    'by an anchor, renewed by a service that is withdrawn',
    'not_proved untrusted_root; -',
    renewed(signer, other),
    { ...byRoot, services: [withdrawn(other)] },
  ],
  [
    'by the list, renewed by a service that is withdrawn',
    'not_proved trust_store_empty; -',
    renewed(signer, other),
    { services: [listed(issuer), withdrawn(other)] },
  ],
  ['by the list, renewed by nobody known', 'not_proved trust_store_empty; -', renewed(ended, other), byList],
  ['the renewal is revoked', 'not_valid certificate_revoked; -', renewed(signer, other), { ...byRoots, crls: revokingOther }],
  ['a record whose renewal has a wrong signature, all unknown', 'not_valid signature_invalid; -', renewedWrongly, {}],
  ['a record whose renewal has a wrong signature, by an anchor', 'not_valid signature_invalid; -', renewedWrongly, byRoots],
  [
    'renewed with the revoked key of a service',
    'not_valid certificate_revoked; -',
    renewed(otherEnded, thief),
    { ...byOther, services: [listed(signer)], crls: revoking },
  ],
  ['a list withdrew another chain than the anchor', 'valid; list service_withdrawn', crossed, { ...byOther, services: [withdrawn(root)] }],
  ['another type, by the list', 'not_proved trust_store_empty; list service_other_type', token, { services: [ofOtherType] }],
  ['another key, by the list', 'not_proved trust_store_empty; list service_other_key', token, { services: [ofOtherKey] }],
  [
    'a record that a service renewed itself, and it is withdrawn',
    'not_proved trust_store_empty; list service_withdrawn',
    renewed(signer, signer),
    ofWithdrawn,
  ],
  ['no list knows an unknown authority', 'not_proved untrusted_root; -', unknown, both],
  // Nobody signed the status in the answer, so a revocation comes first.
  ['the status hides a revocation, by an anchor', 'not_valid certificate_revoked; -', withMods, { ...byRoot, crls: revoking }],
  ['the status hides a revocation, by a list', 'not_valid certificate_revoked; -', withMods, { ...byList, crls: revoking }],
  [
    'one fault by an anchor and one by a list',
    'not_valid certificate_not_valid_at_gen_time; -',
    byExpiredCa,
    { ...byOther, services: [listed(signer)] },
  ],
  [
    'only a renewal by an anchor holds a record by the list',
    'valid; list later_time_stamp',
    renewed(ended, other),
    { ...byOther, ...byList },
  ],
  [
    'by an anchor, renewed by a service of a list',
    'valid; service_not_listed',
    renewed(signer, other),
    { ...byRoot, services: [listed(other)] },
  ],
  [
    'by an anchor, renewed by a service of a list that was revoked',
    'not_valid certificate_revoked; -',
    renewed(signer, other),
    { ...byRoot, services: [listed(other)], crls: revokingOther },
  ],
  [
    'renewed by a revoked service that is an anchor too',
    'not_valid certificate_revoked; -',
    renewed(ended, other),
    { anchors: [other], services: [listed(issuer), listed(other)], crls: revokingOther },
  ],
  // A key that a list names ends with its certificate on the list.
  [
    'renewed by a service that has ended',
    'not_valid evidence_expired; -',
    renewed(ended, otherEnded),
    { ...byRoot, services: [listed(otherEnded)] },
  ],
  ['a record by a service that has ended', 'not_valid evidence_expired; -', recordBy(ended), { services: [listed(ended)] }],
  // The renewal existed before the loss of its key only if one trusts the later token, and that is not qualified.
  [
    'only an unqualified cover proves that the renewal is older than the loss of its key',
    'valid; list later_time_stamp',
    renew(renewed(ended, thief), other, 0.4),
    { ...byOther, services: [listed(issuer), listed(signer)], crls: [crlOf(signer, issuer, LAB_NOW_MS - DAY_MS / 4)] },
  ],
  [
    'each token by another list of a bundle',
    'valid; list qualified',
    renewed(ended, other),
    { services: [listed(other)], older: [listed(issuer)] },
  ],
  [
    'withdrawn since the older list',
    'not_proved trust_store_empty; list service_withdrawn',
    token,
    { ...ofWithdrawn, older: [listed(issuer)] },
  ],
  ['an unknown authority and modifications', 'not_valid granted_with_mods; -', unknownWithMods, byRoot],
  ['withdrawn, and modifications', 'not_valid granted_with_mods; -', withMods, ofWithdrawn],
  ['an unknown authority, revoked, and modifications', 'not_valid certificate_revoked; -', withMods, { ...byOther, crls: revoking }],
  ['garbage', 'not_valid unknown_format; -', Buffer.from('garbage'), {}],
  ['nothing', 'not_valid unknown_format; -', Buffer.alloc(0), {}],
  ['half a token', 'not_valid der_truncated; -', token.subarray(0, token.length / 2), both],
])('%s: %s', async (_, expected, bytes, given) => {
  expect(await linesOf(bytes, given)).toEqual({ service: expected, ofProvider: expected, page: expected, command: expected });
});

test('without a list, the service says that none was read, and the command says nothing', async () => {
  const service = 'valid; no_trusted_list';
  expect(await linesOf(token, byRoot)).toEqual({ service, ofProvider: service, page: service, command: 'valid; -' });
});

test('only the service has the key of mock tokens', async () => {
  const own = 'valid; mock_provider';
  const command = 'not_proved mock_not_rfc3161; -';
  expect(await linesOf(mockBy(mockKey), {})).toEqual({ service: own, ofProvider: own, page: own, command });
  const forged = 'not_valid mock_token_forged; -';
  expect(await linesOf(mockBy(createSecretKey(randomBytes(32))), {})).toEqual({
    service: forged,
    ofProvider: forged,
    page: forged,
    command,
  });
});

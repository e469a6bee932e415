import { createPublicKey } from 'node:crypto';
import type { QualificationReason } from '../../src/shared/domain/qualification.ts';
import { derOf, parseDer } from '../../src/shared/rfc3161/asn1/der.ts';
import { der, OID, type SigningIdentity } from '../../src/shared/rfc3161/index.ts';
import { SCHEMES } from '../../src/shared/rfc3161/issue/sign.ts';
import { randomSerial } from '../../src/shared/runtime/random-octets.ts';
import { createPki, emptyCrl, issueIntermediate, issueSigner } from '../support/certificates.ts';
import { REAL_TOKENS, type RealToken, readReal } from '../support/real-tokens.ts';
import { keys } from '../support/signature-lab.ts';
import { type ListedService, type ListOptions, makeListSigner, makeTrustedList } from '../support/trusted-lists.ts';
import { ask, DAY_MS, LAB_NOW_MS, LAB_POLICY } from '../support/tsa-lab.ts';
import { issueResponseWith, type Seams } from '../support/tsa-seams.ts';
import type { ListFile } from './list-files.ts';

/** A time-stamp, and the trusted lists that say whether it is qualified. */
export interface TokenCase {
  readonly name: string;
  readonly token: Buffer;
  readonly hash: { readonly algorithm: string; readonly digest: Buffer };
  /** The same lists are the same array. */
  readonly lists: readonly Pick<ListFile, 'document' | 'signers'>[];
  /** The trust anchors of an operator, and more certificates. They decide who is trusted, and not who is qualified. */
  readonly anchors: readonly Buffer[];
  readonly intermediates: readonly Buffer[];
  readonly crls: readonly Buffer[];
  /** What our judge must say of a token that was made here: `qualified`, the reason against it, or `refused: ` and a code. */
  readonly expected?: string;
}

/** When all tokens are judged. */
export const judgedAtMs = LAB_NOW_MS;
const genTimeMs = Date.UTC(2026, 10, 1, 12, 0, 0, 250);
const before = '2026-10-01T00:00:00Z';
const after = '2026-11-10T00:00:00Z';
const granted = { type: 'TSA/QTST', name: 'Qualified time-stamps', status: 'granted', since: '2020-01-01T00:00:00Z' };
const accredited = { ...granted, status: 'accredited', since: '2015-01-01T00:00:00Z' };
const withdrawn = { ...granted, status: 'withdrawn' };
const national = { type: 'TSA', status: 'recognisedatnationallevel' };

type Expected = 'qualified' | QualificationReason | `refused: ${string}`;
/** A certificate chain of three. In the lists, `tsu` signs time-stamps, and `ca` certifies it. */
interface Chain {
  readonly root: SigningIdentity;
  readonly ca: SigningIdentity;
  readonly tsu: SigningIdentity;
}
interface Made {
  readonly chain?: Chain;
  readonly timeMs?: number;
  readonly seams?: Seams;
  readonly list?: ListOptions;
  readonly bend?: (token: Buffer) => Buffer;
  /** Instead of the root. */
  readonly anchors?: readonly Buffer[];
}

/** esi4-qtstStatement-1 (EN 319 422 §9.1): the provider itself says that the token is qualified. */
const statement: Seams = {
  fields: (fields) => {
    const { sequence, objectIdentifier, octetString } = der;
    const statements = sequence(sequence(objectIdentifier(OID.qualifiedTimeStamp)));
    return { ...fields, extensions: [sequence(objectIdentifier(OID.qcStatements), octetString(statements))] };
  },
};

const listSigner = makeListSigner(keys['p-256'], SCHEMES.ecdsaSha256, 'ecdsa-sha256');

/** All tokens that are made here. They differ from the first one in one thing each. */
export function madeTokens(): TokenCase[] {
  const { root, intermediate: ca, signer: tsu } = createPki({ algorithm: 'p-256', nowMs: LAB_NOW_MS - 365 * DAY_MS });
  const usual: Chain = { root, ca, tsu };
  const serviceOf = (one: SigningIdentity, changes: Partial<ListedService> = {}): ListedService => ({
    ...granted,
    certificates: [one.certificate],
    ...changes,
  });

  const made = (name: string, expected: Expected, services: readonly ListedService[], how: Made = {}): TokenCase => {
    const { chain = usual, timeMs = genTimeMs, seams = {}, list = {}, bend = (token) => token } = how;
    const asked = ask();
    const profile = { identity: chain.tsu, policies: [LAB_POLICY], accuracy: { seconds: 1 } } as const;
    const answer = issueResponseWith(seams, profile, asked.der, { timeMs, serial: randomSerial() });
    const document = makeTrustedList({ providers: [{ name: 'Provider', services }], signed: listSigner, ...list });
    return {
      name,
      expected,
      token: bend(derOf(parseDer(answer).children[1]!)),
      hash: { algorithm: asked.hash, digest: asked.digest },
      lists: [{ document, signers: [listSigner.certificate] }],
      anchors: how.anchors ?? [chain.root.certificate],
      intermediates: [],
      crls: [chain.root, chain.ca].map((issuer) => emptyCrl(issuer, timeMs)),
    };
  };

  const stranger = issueSigner(ca, { nowMs: LAB_NOW_MS - 365 * DAY_MS });
  const again = issueSigner(ca, {
    key: { privateKey: tsu.privateKey, publicKey: createPublicKey(tsu.privateKey), scheme: tsu.scheme },
    nowMs: LAB_NOW_MS - 100 * DAY_MS,
  });
  const expiredCa = issueIntermediate(root, { algorithm: 'p-256', nowMs: LAB_NOW_MS - 365 * DAY_MS, notAfterMs: genTimeMs - 30 * DAY_MS });
  const underExpired = { root, ca: expiredCa, tsu: issueSigner(expiredCa, { nowMs: LAB_NOW_MS - 365 * DAY_MS }) };
  const old = createPki({ algorithm: 'p-256', nowMs: Date.UTC(2015, 11, 1) });
  const ofOld = { root: old.root, ca: old.intermediate, tsu: old.signer };
  const oldAt = (...time: Parameters<typeof Date.UTC>): Made => ({ chain: ofOld, timeMs: Date.UTC(...time) });
  const sinceEidas = serviceOf(ofOld.tsu, { since: '2016-06-30T22:00:00Z', history: [accredited] });
  const withdrawnAt = (since: string) => serviceOf(tsu, { ...withdrawn, since, history: [granted] });
  /** Withdrawn, and granted again `since` then. */
  const grantedAgain = (since: string, withdrawnSince: string) =>
    serviceOf(tsu, { since, history: [{ ...withdrawn, since: withdrawnSince }, granted] });

  return [
    // The service
    made('signer granted', 'qualified', [serviceOf(tsu)]),
    made('CA granted', 'qualified', [serviceOf(ca)]),
    made('root granted', 'qualified', [serviceOf(root)]),
    made('another certificate of the same name and key granted', 'qualified', [serviceOf(again)]),
    made('not listed', 'service_not_listed', []),
    made('another signer of the same name granted', 'service_other_key', [serviceOf(stranger)]),
    made('certificate only in the history', 'service_other_key', [serviceOf(stranger, { since: before, history: [serviceOf(tsu)] })]),
    made('signer withdrawn, CA granted', 'qualified', [serviceOf(tsu, { status: 'withdrawn' }), serviceOf(ca)]),
    made('signer granted, CA withdrawn', 'qualified', [serviceOf(tsu), serviceOf(ca, { status: 'withdrawn' })]),
    made('listed CA expired before the time-stamp', 'qualified', [serviceOf(expiredCa)], { chain: underExpired }),

    // Its type
    made('type CA/QC', 'service_not_listed', [serviceOf(ca, { type: 'CA/QC' })]),
    made('type TSA', 'service_other_type', [serviceOf(tsu, national)]),
    made('type TSA/TSS-QC, granted', 'service_other_type', [serviceOf(tsu, { type: 'TSA/TSS-QC' })]),
    made('type TSA until after the time-stamp', 'service_not_yet_granted', [
      serviceOf(tsu, { since: after, history: [{ ...granted, ...national }] }),
    ]),
    made('two services with the same signer, one not qualified', 'qualified', [serviceOf(tsu, national), serviceOf(tsu)]),

    // Its history
    made('granted only after the time-stamp', 'service_not_yet_granted', [serviceOf(tsu, { since: after })]),
    made('withdrawn before the time-stamp', 'service_withdrawn', [withdrawnAt(before)]),
    made('withdrawn after the time-stamp', 'qualified', [withdrawnAt(after)]),
    made('withdrawn, and granted again after the time-stamp', 'service_withdrawn', [grantedAgain(after, before)]),
    made('withdrawn and granted again before the time-stamp', 'qualified', [grantedAgain(before, '2026-09-01T00:00:00Z')]),
    made('withdrawn at the very time, and granted again', 'service_withdrawn', [grantedAgain(after, new Date(genTimeMs).toISOString())]),
    made('granted at the very time', 'qualified', [serviceOf(tsu, { since: new Date(genTimeMs).toISOString() })]),
    made('name changed after the time-stamp', 'qualified', [
      serviceOf(tsu, { since: after, name: 'New name', history: [{ ...granted, name: 'Old name' }] }),
    ]),
    made('before 1 July 2016, granted', 'before_eidas', [serviceOf(ofOld.tsu, { since: '2016-01-01T00:00:00Z' })], oldAt(2016, 5, 30, 12)),
    made('before 1 July 2016, accredited', 'before_eidas', [sinceEidas], oldAt(2016, 5, 30, 12)),
    made('granted on 1 July 2016, made in its first hour in Brussels', 'qualified', [sinceEidas], oldAt(2016, 5, 30, 22, 30)),
    made('granted on 1 July 2016, made that day', 'qualified', [sinceEidas], oldAt(2016, 6, 1, 12)),

    // The list
    made('list expired before the time-stamp', 'list_expired', [serviceOf(tsu)], {
      list: { issuedAt: '2026-04-01T00:00:00Z', nextUpdate: before },
    }),
    made('list expired after the time-stamp', 'qualified', [serviceOf(tsu)], {
      list: { issuedAt: '2026-05-20T00:00:00Z', nextUpdate: after },
    }),
    made('list closed', 'qualified', [serviceOf(tsu)], { list: { nextUpdate: null } }),

    // The token
    made('own statement, granted', 'qualified', [serviceOf(tsu)], { seams: statement }),
    made('own statement, not listed', 'service_not_listed', [], { seams: statement }),
    made('own statement, withdrawn before', 'service_withdrawn', [withdrawnAt(before)], { seams: statement }),
    made('altered, granted', 'refused: signature_invalid', [serviceOf(tsu)], {
      bend: (token) => Buffer.concat([token.subarray(0, -1), Buffer.of(token.at(-1)! ^ 1)]),
    }),

    // The anchors
    made('CA granted, the operator trusts the signer itself', 'qualified', [serviceOf(ca)], { anchors: [tsu.certificate] }),
    made('CA granted, the operator trusts another root', 'qualified', [serviceOf(ca)], { anchors: [ofOld.root.certificate] }),
  ];
}

/** The sets of published lists that know TSAs of real tokens. */
export const realSets = ['2023', 'pyhanko'] as const;

/** The tokens of real TSAs, each with each set of lists. */
export const realTokens = (sets: ReadonlyMap<string, readonly ListFile[]>): TokenCase[] =>
  [...sets].flatMap(([set, lists]) =>
    REAL_TOKENS.filter(isFirst).map(({ token, tsa, genTime, anchors, intermediates, imprintAlg, imprint }) => ({
      name: `${set}: ${tsa.replace(/.*?Common Name: ([^,;]+).*/, '$1')}, ${genTime.slice(0, 10)}, ${token.slice(2, 6)}`,
      token: readReal(token),
      hash: { algorithm: imprintAlg, digest: Buffer.from(imprint, 'hex') },
      lists,
      anchors: anchors.map(readReal),
      intermediates: intermediates.map(readReal),
      crls: [],
    })),
  );

const isFirst = ({ token }: RealToken, index: number): boolean => REAL_TOKENS.findIndex((other) => other.token === token) === index;

import { TAG } from '../asn1/der.ts';
import type { RefusalCode } from '../refusal/codes.ts';
import { Refusal, refuse, refusedBy } from '../refusal/refusal.ts';
import type { MessageImprint } from '../tsp/imprint.ts';
import type { TstInfo } from '../tsp/tst-info.ts';
import type {
  Microseconds,
  RecordToken,
  RevocationAnswer,
  TokenClaims,
  Unchecked,
  Verified,
  VerifiedToken,
  VerifyContext,
  VerifyResult,
} from '../tsp/types.ts';
import { checkTime, judgeSigner, type SignerRules, verifyToken } from '../tsp/verify.ts';
import type { DigestAlgorithm } from '../x509/algorithms.ts';
import type { Certificate } from '../x509/certificate.ts';
import { isSameName } from '../x509/name.ts';
import { createTrustStore, type TrustStore, withRevocationLists } from '../x509/trust-store.ts';
import { type Coverage, coverageOf } from './coverage.ts';
import type { ArchiveTimeStampParts } from './encode.ts';
import { type ArchiveTimeStamp, type EvidenceRecord, readEvidenceRecord } from './record.ts';

/** The context for an evidence record (RFC 4998 §5.3). */
export interface EvidenceRecordContext extends VerifyContext {
  /** The document’s digests, one for each known algorithm. If empty, any imprint is accepted. */
  readonly digests?: readonly MessageImprint[];
  /** Additional trust stores for the tokens of renewals, because another TSA may have made these tokens. */
  readonly renewalTrust?: readonly TrustStore[];
  /** The services of trusted lists. They may have made the tokens of renewals too. If their key was revoked, no other trust store counts (V10). */
  readonly listed?: TrustStore | undefined;
}

/**
 * Verifies any kind of proof: a TimeStampToken or TimeStampResp with `verifyToken`, an EvidenceRecord with `verifyEvidenceRecord`. The digests in the
 * context are for records only: a token is accepted with any imprint. Never rejects, whatever the bytes are.
 */
export async function verifyEvidence(given: Uint8Array, context: EvidenceRecordContext): Promise<VerifyResult> {
  return isEvidenceRecord(given) ? verifyEvidenceRecord(given, context) : verifyToken(given, context);
}

/** Returns true if the first member is an INTEGER. In an EvidenceRecord this is the version; a ContentInfo and a TimeStampResp start differently. */
export function isEvidenceRecord(given: Uint8Array): boolean {
  const lengthOctet = given[1] ?? 0;
  return given[0] === TAG.sequence && given[lengthOctet > 0x80 ? 2 + (lengthOctet & 0x7f) : 2] === TAG.integer;
}

/** Returns the algorithms in which a record needs the document’s digest, in the order of its chains. Empty if the record cannot be read. */
export function recordAlgorithms(given: Uint8Array): readonly DigestAlgorithm[] {
  try {
    return [...new Set(readEvidenceRecord(viewOf(given)).chains.map(({ algorithm }) => algorithm))];
  } catch (error) {
    if (error instanceof Refusal) return [];
    throw error;
  }
}

/** Returns the first token (DER) of a record and its hash tree, or undefined if the record cannot be read. Never throws, whatever the bytes are. */
export function firstTimeStampOf(given: Uint8Array): ArchiveTimeStampParts | undefined {
  try {
    const { reducedHashtree, token } = readEvidenceRecord(viewOf(given)).chains[0].timeStamps[0];
    return { reducedHashtree, token: token.opened.bytes };
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

const viewOf = (given: Uint8Array): Buffer => Buffer.from(given.buffer, given.byteOffset, given.length);

/**
 * Verifies the DER of an EvidenceRecord. The first token must cover the document. Each later token must cover all earlier evidence, and must have been
 * made while the previous token was still valid. The last token must be valid now. The result describes the first token, with the document’s hash.
 * Never rejects, whatever the bytes are.
 */
export async function verifyEvidenceRecord(given: Uint8Array, context: EvidenceRecordContext): Promise<VerifyResult> {
  let claims: TokenClaims | undefined;
  try {
    const record = readEvidenceRecord(viewOf(given));
    const digests = context.digests ?? [];
    const coverage = coverageOf(record, digests);
    claims = { imprint: coverage.imprint, genTime: new Date(coverage.timeStamps[0]!.token.tstInfo.genTime.milliseconds) };
    checkOrder(coverage.timeStamps);
    // A later chain may have renewed the record in time, but this can be checked only with the document's digest in the algorithm of this chain.
    const ended = coverage.hasLaterChains ? 'evidence_new_hash_needed' : 'evidence_expired';
    const [first, ...renewals] = await Array.fromAsync(coverage.timeStamps, (timeStamp, i) => {
      const next = coverage.timeStamps[i + 1];
      return judgeTimeStamp(timeStamp, { next, ended, isRenewal: i > 0 }, context);
    });
    return verifiedRecordOf(record, coverage, [first!, ...renewals], digests.length > 0);
  } catch (error) {
    return { ...refusedBy(error), ...(claims && { claims }) };
  }
}

function checkOrder(timeStamps: readonly ArchiveTimeStamp[]): void {
  let before = timeStamps[0]!.token.tstInfo.genTime;
  for (const { token } of timeStamps) {
    const { genTime } = token.tstInfo;
    if (genTime.microseconds < before.microseconds) refuse('evidence_order', `A token of ${genTime.text} follows one of ${before.text}.`);
    before = genTime;
  }
}

/** The place of a token in a record. */
interface TokenPlace {
  readonly next: ArchiveTimeStamp | undefined;
  /** The refusal code if the token has expired and no token follows. */
  readonly ended: RefusalCode;
  readonly isRenewal: boolean;
}

/**
 * Judges one token at the time of the next token, or the last token now (RFC 4998 §5.3). Also checks for which trust stores the record would be valid
 * now if it ended with this token (`holdsAloneBy`): later renewals are not needed then.
 */
async function judgeTimeStamp(
  { token }: ArchiveTimeStamp,
  { next, ended, isRenewal }: TokenPlace,
  context: EvidenceRecordContext,
): Promise<RecordToken> {
  checkTime(token.tstInfo, context);
  const existedBy = next && latestTimeOf(next.token.tstInfo);
  const now = { at: BigInt(Math.floor(context.nowMs)) * 1000n, otherwise: ended } as const;
  const asLast: SignerRules = { isEmbeddingRequired: false, isImprintChecked: true, heldUntil: now };
  const inPlace: SignerRules =
    existedBy === undefined ? asLast : { ...asLast, existedBy, heldUntil: { at: existedBy, otherwise: 'evidence_renewed_late' } };
  const { trust, renewalTrust = [], listed } = context;
  const stores = new Set(isRenewal ? [trust, ...renewalTrust, ...(listed ? [listed] : [])] : [trust]);
  const judgedBy = async (trust: TrustStore, rules: SignerRules) => ({
    trust,
    result: await judgeSigner(token, { ...context, trust }, rules).catch(refusedBy),
  });
  const results = await Promise.all([...stores].map((trust) => judgedBy(trust, inPlace)));
  const trusting = results.flatMap(({ trust, result }) => (result.ok ? [{ trust, result }] : []));
  const refusals = results.flatMap(({ result }) => (result.ok ? [] : [result]));
  const [best] = trusting;
  const isRevoked = (one: (typeof results)[number]) => one.trust === listed && !one.result.ok && one.result.code === 'certificate_revoked';
  if (results.some(isRevoked)) refuse('certificate_revoked', 'The listed certificate of a service that renewed the record was revoked.');
  if (best === undefined) {
    const { code, detail } = refusals.find(({ code }) => code !== 'untrusted_root' && code !== 'trust_store_empty') ?? refusals[0]!;
    refuse(code, detail);
  }
  const trustedBy = trusting.map(({ trust }) => trust);
  if (existedBy === undefined) return { ...best.result, trustedBy, holdsAloneBy: trustedBy };
  const alone = await Promise.all(trustedBy.map((trust) => judgedBy(trust, asLast)));
  const holdsAloneBy = alone.some(isRevoked) ? [] : alone.flatMap(({ trust, result }) => (result.ok ? [trust] : []));
  return { ...best.result, trustedBy, holdsAloneBy };
}

/** Returns the latest time at which a token can have been made: genTime plus accuracy (RFC 3161 §2.4.2). */
const latestTimeOf = ({ genTime, accuracy = 0n }: TstInfo): Microseconds => genTime.microseconds + accuracy;

function verifiedRecordOf(
  { der, hasInformation }: EvidenceRecord,
  { imprint, hasLaterChains }: Coverage,
  tokens: readonly [RecordToken, ...RecordToken[]],
  isImprintChecked: boolean,
): Verified {
  const { trustedBy: _, holdsAloneBy: __, ...first } = tokens[0];
  const last = tokens.at(-1)!;
  const ends = last.chain.map(({ notAfter }) => notAfter.getTime());
  const unchecked: readonly (readonly [Unchecked, boolean])[] = [
    ['imprint', !isImprintChecked],
    ['record_information', hasInformation],
    ['later_chains', hasLaterChains],
  ];
  const ofRecord = unchecked.filter(([, isUnchecked]) => isUnchecked).map(([code]) => code);
  const ofTokens = tokens.flatMap(({ unchecked }) => unchecked);
  return {
    ...first,
    imprint,
    token: der,
    record: { tokens, holdsUntil: new Date(Math.min(...ends)) },
    revocation: answersOf(tokens),
    certificatesEndedAt: last.certificatesEndedAt,
    unchecked: [...new Set([...ofRecord, ...ofTokens])],
  };
}

/** Returns one answer for each certificate in the chains of all tokens. If tokens have different answers for it, one that is not `good` is taken. */
function answersOf(tokens: readonly VerifiedToken[]): readonly RevocationAnswer[] {
  const answers = new Map<string, RevocationAnswer>();
  for (const answer of tokens.flatMap(({ revocation }) => revocation)) {
    const { fingerprint } = answer.certificate;
    const known = answers.get(fingerprint);
    if (known === undefined || (known.status === 'good' && answer.status !== 'good')) answers.set(fingerprint, answer);
  }
  return [...answers.values()];
}

/**
 * Judges a token that no trust anchor covers by its own certificates. First, its certificates without an issuer in the token are the anchors. If the
 * token is refused then, all its certificates are anchors, so that the signer's certificate needs no chain. The result proves nothing about the
 * signer. It only shows that the token has no other fault, and where its chain ends.
 *
 * @param reader the reader's trust store: its revocation lists revoke certificates regardless of trust, and its certificates show who signed the lists
 * @param verify judges the token or record with a trust store
 */
export async function verifyByItself(
  given: Uint8Array,
  { nowMs, reader }: { readonly nowMs: number; readonly reader: TrustStore },
  verify: (trust: TrustStore) => Promise<VerifyResult>,
): Promise<VerifyResult> {
  const certificates = await certificatesOf(given, nowMs);
  const isIssuedHere = ({ issuer, subject }: Certificate) =>
    !isSameName(issuer, subject) && certificates.some((other) => isSameName(other.subject, issuer));
  const trustIn = (anchors: readonly Certificate[]) => {
    const own = createTrustStore({ anchors: anchors.map(({ der }) => der) });
    return withRevocationLists(own, reader.crls, [...own.certificates, ...reader.certificates]);
  };
  const chained = await verify(trustIn(certificates.filter((certificate) => !isIssuedHere(certificate))));
  return chained.ok ? chained : verify(trustIn(certificates));
}

/** Returns the certificates that the verifier reads. It reads each of them with `certificateOf` of the trust store, which collects them here. */
async function certificatesOf(given: Uint8Array, nowMs: number): Promise<readonly Certificate[]> {
  const certificates: Certificate[] = [];
  const nobody = createTrustStore({ anchors: [] });
  const certificateOf = (der: Buffer) => {
    const certificate = nobody.certificateOf(der);
    certificates.push(certificate);
    return certificate;
  };
  await verifyEvidence(given, { trust: { ...nobody, certificateOf }, nowMs, acceptGrantedWithMods: true });
  return certificates;
}

import { type Der, derOf, inside, sameDer, TAG } from '../asn1/der.ts';
import { OID } from '../asn1/oids.ts';
import {
  checkAlgorithmProtection,
  checkContentType,
  checkMessageDigest,
  checkSignature,
  checkUnsignedAttributes,
  signatureMarkOf,
  signedAttributesOf,
} from '../cms/signature.ts';
import { type SignedData, signedDataOf } from '../cms/signed-data.ts';
import {
  attestedSignerOf,
  checkNamedChain,
  checkSigningCertificate,
  embeddedOf,
  signerCertificateOf,
  signingCertificatesOf,
} from '../cms/signer.ts';
import type { RefusalCode } from '../refusal/codes.ts';
import { Refusal, refuse, refusedBy } from '../refusal/refusal.ts';
import type { Certificate } from '../x509/certificate.ts';
import { KEY_USAGE_BIT } from '../x509/certificate-extensions.ts';
import { isSameName } from '../x509/name.ts';
import { checkNotEnded, checkRevocation, checkValidity } from '../x509/path-rules.ts';
import { type RevocationStatus, revocationOf } from '../x509/revocation.ts';
import type { MessageImprint } from './imprint.ts';
import { requestOf } from './request.ts';
import { checkSignedForm, type OpenedToken, openResponse, openToken } from './token.ts';
import { type TstInfo, tstInfoOf } from './tst-info.ts';
import {
  DEFAULT_CLOCK_TOLERANCE_MS,
  type Microseconds,
  type ResponseContext,
  type TokenClaims,
  type TokenContext,
  type VerifiedToken,
  type VerifyContext,
  type VerifyResult,
} from './types.ts';
import { verifiedOf } from './verdict.ts';

/** Verifies a TSA's answer to a request that was just sent: a TimeStampResp in DER (RFC 3161 §2.4.2). Never rejects, whatever the bytes are. */
export async function verifyResponse(response: Uint8Array, context: ResponseContext): Promise<VerifyResult> {
  try {
    const request = requestOf(context.request);
    const read = readToken(openResponse(response, context.acceptGrantedWithMods ?? false), request.imprint);
    const { tstInfo } = read;
    checkNonce(tstInfo, request.nonce);
    checkPolicy(tstInfo, request.policy);
    checkTime(tstInfo, context);
    checkWindow(tstInfo, context);
    return await judgeSigner(read, context, { isEmbeddingRequired: request.certReq, isImprintChecked: true, isNew: true });
  } catch (error) {
    return refusedBy(error);
  }
}

/** Verifies a token: a TimeStampToken in DER or BER, or the DER of a whole TimeStampResp (V6). Never rejects, whatever the bytes are. */
export async function verifyToken(token: Uint8Array, context: TokenContext): Promise<VerifyResult> {
  let claims: TokenClaims | undefined;
  try {
    const read = readToken(openToken(token, context.acceptGrantedWithMods ?? false), context.expected);
    const { imprint, genTime } = read.tstInfo;
    claims = { imprint, genTime: new Date(genTime.milliseconds) };
    checkTime(read.tstInfo, context);
    return await judgeSigner(read, context, { isEmbeddingRequired: false, isImprintChecked: context.expected !== undefined });
  } catch (error) {
    return { ...refusedBy(error), ...(claims && { claims }) };
  }
}

/** A token that has a correct form but is not verified yet. */
export interface ReadToken {
  readonly opened: OpenedToken;
  readonly signed: SignedData;
  readonly tstInfo: TstInfo;
}

/**
 * Reads a token and its TSTInfo. `expected`: the required imprint.
 *
 * @throws Refusal
 */
export function readToken(opened: OpenedToken, expected: MessageImprint | undefined): ReadToken {
  const signed = signedDataOf(opened.contentInfo);
  return { opened, signed, tstInfo: tstInfoOf(signed.eContent, expected) };
}

/** Rules for a token that are not part of the context. */
export interface SignerRules {
  /** Whether the signer's certificate must be in the token (refusal 32). */
  readonly isEmbeddingRequired: boolean;
  readonly isImprintChecked: boolean;
  /** Whether the token is the answer to a request that was just sent. Its signature is always verified, and not remembered. */
  readonly isNew?: boolean;
  /** The time at which the token existed according to another verified proof. Undefined: there is no such proof. */
  readonly existedBy?: Microseconds | undefined;
  /** The chain must still be valid at the time `at`. If it is not, `otherwise` is the code of the refusal. */
  readonly heldUntil?: { readonly at: Microseconds; readonly otherwise: RefusalCode } | undefined;
}

/**
 * Identifies the signer, verifies the signature, and checks that the signer may sign time-stamps. Does not depend on the request.
 *
 * The checks go from the outside of a token to its inside, and cheap checks run first. Each has its own code. The token's signature is verified in the
 * thread pool of Node.js, so it does not block this thread.
 *
 * @throws Refusal
 */
export async function judgeSigner(
  { opened, signed, tstInfo }: ReadToken,
  { trust, nowMs }: VerifyContext,
  { isEmbeddingRequired, isImprintChecked, isNew = false, existedBy, heldUntil }: SignerRules,
): Promise<VerifiedToken> {
  const { signer: signerInfo } = signed;
  checkSignedForm(opened, signerInfo.signedAttributes);
  const embedded = embeddedOf(signed.certificates, (certificate) => {
    checkSignedForm(opened, certificate);
    return trust.certificateOf(derOf(certificate));
  });
  const signer = signerCertificateOf(signerInfo.sid, embedded, trust.certificates, isEmbeddingRequired);
  const attributes = signedAttributesOf(signerInfo);
  checkContentType(attributes);
  checkMessageDigest(attributes, signed);
  checkAlgorithmProtection(attributes, signerInfo);
  checkUnsignedAttributes(signerInfo);
  const named = signingCertificatesOf(attributes);
  // A batch has one signature for thousands of stamps, so a signature over the same octets with the same certificate is not verified again.
  const mark = isNew ? undefined : signatureMarkOf(signerInfo, signer);
  if (mark === undefined || !trust.knowsSignature(mark)) {
    await checkSignature(signerInfo, signer, attestedSignerOf(named, embedded.certificates));
  }
  checkSigningCertificate(named, signer);
  checkPurpose(signer);
  if (tstInfo.tsa !== undefined) checkTsaName(tstInfo.tsa, signer);
  const known = [...embedded.certificates, ...trust.certificates];
  const times = { genTime: tstInfo.genTime.microseconds, existedBy };
  const { crls, certificates, namedKeysOf } = trust;
  const lists = { times, nowMs, lists: crls, configured: certificates, embedded: embedded.certificates, namedKeysOf };
  let revocation: readonly RevocationStatus[] = [];
  const chain = chainOrUnreadable(embedded.unreadable, () =>
    trust.chainOf(signer, embedded.certificates, (candidate) => {
      checkValidity(candidate, times.genTime, trust.isNamedKey);
      revocation = revocationOf(candidate, lists);
      checkRevocation(revocation, times);
      if (heldUntil !== undefined) checkNotEnded(candidate, heldUntil.at, heldUntil.otherwise, namedKeysOf);
      checkNamedChain(named, candidate, known);
    }),
  );
  if (mark !== undefined) trust.noteSignature(mark);
  const { bytes: token, grantedWithMods } = opened;
  const { unusedParts } = signed;
  return verifiedOf({ tstInfo, chain, revocation, unusedParts, token, grantedWithMods, isImprintChecked }, trust, nowMs);
}

/**
 * Checks the purpose of the signer's certificate (RFC 3161 §2.3): its extended key usage is critical and contains only time-stamping, it is not a CA
 * certificate, and its key usage allows only signing (refusals 37–40).
 */
function checkPurpose(signer: Certificate): void {
  const { basicConstraints, keyUsage, extendedKeyUsage } = signer.extensions;
  if (extendedKeyUsage === undefined) refuse('eku_missing', 'The signer’s certificate has no extended key usage.');
  const { purposes, critical } = extendedKeyUsage;
  if (!purposes.includes(OID.timeStamping))
    refuse('eku_missing', 'The extended key usage of the signer’s certificate does not include time-stamping.');
  if (purposes.length > 1) refuse('eku_other_purpose', `The signer’s certificate is for ${purposes.join(', ')}.`);
  if (!critical) refuse('eku_not_critical', 'The extended key usage of the signer’s certificate is not critical.');
  if (basicConstraints?.ca) refuse('signer_is_ca', 'The signer’s certificate is that of a CA.');
  // Purpose and key usage must fit together (RFC 5280 §4.2.1.12). These two key usages fit time-stamping.
  const signs: readonly number[] = [KEY_USAGE_BIT.digitalSignature, KEY_USAGE_BIT.contentCommitment];
  if (keyUsage !== undefined && (keyUsage.size === 0 || [...keyUsage].some((bit) => !signs.includes(bit)))) {
    refuse('signer_key_usage', 'The key usage of the signer’s certificate is not signing alone.');
  }
}

/** Checks that `tsa` in the TSTInfo is one of the names in the signer's certificate (RFC 3161 §2.4.2, refusal 45). */
function checkTsaName(tsa: Der, signer: Certificate): void {
  const isSubject = tsa.tag === TAG.contextConstructed(4) && isSameName(derOf(inside(tsa, 'tsa')), signer.subject);
  if (!isSubject && !signer.extensions.subjectAltName.some((name) => sameDer(name, tsa))) {
    refuse('tsa_name_mismatch', 'TSTInfo.tsa is not a name of the signer’s certificate.');
  }
}

/** Runs `find`. If no chain is found, an unreadable certificate may be the missing link, so its fault is thrown as the better reason. */
function chainOrUnreadable<T>(unreadable: Refusal | undefined, find: () => T): T {
  try {
    return find();
  } catch (error) {
    if (unreadable !== undefined && error instanceof Refusal && error.code === 'untrusted_root') throw unreadable;
    throw error;
  }
}

// The statements of a token are compared with the request and the clock (RFC 3161 §2.2, §2.4.2).

/** Checks the nonce (refusals 19 and 20). A token with a nonce is not an answer to a request without a nonce. */
function checkNonce(tstInfo: TstInfo, sent: bigint | undefined): void {
  if (sent === undefined && tstInfo.nonce !== undefined) refuse('nonce_unexpected', 'The request had no nonce, the token has one.');
  if (sent === undefined) return;
  if (tstInfo.nonce === undefined) refuse('nonce_missing', 'The request had a nonce, the token has none.');
  if (tstInfo.nonce !== sent) refuse('nonce_mismatch', 'The nonce of the token is different.');
}

/** Checks that the policy is the one that the request asked for (refusal 21). */
function checkPolicy(tstInfo: TstInfo, asked: string | undefined): void {
  if (asked !== undefined && tstInfo.policy !== asked)
    refuse('policy_mismatch', `The policy is ${tstInfo.policy}; the request asked for ${asked}.`);
}

/** Checks that genTime is not in the future (refusal 23), and that the accuracy is good enough for the context. */
export function checkTime(tstInfo: TstInfo, context: VerifyContext): void {
  const { maxAccuracySeconds } = context;
  const accuracySeconds = accuracySecondsOf(tstInfo, context);
  if (maxAccuracySeconds !== undefined && (accuracySeconds === undefined || accuracySeconds > maxAccuracySeconds)) {
    const found = accuracySeconds === undefined ? 'not stated' : `${accuracySeconds} s`;
    refuse('accuracy_too_coarse', `The accuracy is ${found}; ${maxAccuracySeconds} s are accepted.`);
  }
  if (tstInfo.genTime.milliseconds > context.nowMs + toleranceMsOf(context)) {
    refuse('gen_time_future', `genTime is ${tstInfo.genTime.text}, and now is ${new Date(context.nowMs).toISOString()}.`);
  }
}

function accuracySecondsOf({ accuracy }: TstInfo, { policyAccuracySeconds }: VerifyContext): number | undefined {
  return accuracy === undefined ? policyAccuracySeconds : Number(accuracy) / 1e6;
}

/** A stated accuracy counts only up to this limit, because a TSA whose time is wrong by more than a minute has a wrong clock. */
const MAX_ACCURACY_MARGIN_SECONDS = 60;

/** Checks that genTime is between request and receipt (refusal 22). The clock tolerance and the TSA's accuracy extend this window on both sides. */
function checkWindow(tstInfo: TstInfo, context: VerifyContext & { readonly sentAtMs: number; readonly receivedAtMs: number }): void {
  const { milliseconds, text } = tstInfo.genTime;
  const accuracySeconds = Math.min(accuracySecondsOf(tstInfo, context) ?? 0, MAX_ACCURACY_MARGIN_SECONDS);
  const marginMs = toleranceMsOf(context) + accuracySeconds * 1000;
  if (milliseconds < context.sentAtMs - marginMs || milliseconds > context.receivedAtMs + marginMs) {
    refuse('gen_time_outside_window', `genTime is ${text}, and the request was sent at ${new Date(context.sentAtMs).toISOString()}.`);
  }
}

function toleranceMsOf({ clockToleranceMs }: VerifyContext): number {
  return clockToleranceMs ?? DEFAULT_CLOCK_TOLERANCE_MS;
}

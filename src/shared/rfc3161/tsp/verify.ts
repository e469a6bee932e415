import { contentsOf, type Der, derOf, parseDer, TAG } from '../asn1/der.ts';
import { checkAlgorithmProtection, checkContentType, checkMessageDigest, checkSignature } from '../cms/signature.ts';
import { attributesOf, type SignedData, signedDataOf } from '../cms/signed-data.ts';
import { signerCertificateOf } from '../cms/signer.ts';
import { type CertificateId, checkNamedChain, checkSigningCertificate, signingCertificatesOf } from '../cms/signing-certificate.ts';
import { Refusal, refusedBy } from '../refusal/refusal.ts';
import type { Certificate } from '../x509/certificate.ts';
import { type Chain, checkAt, checkCompany } from '../x509/chain.ts';
import { nameText } from '../x509/name.ts';
import { requestOf } from './request.ts';
import { type GrantedToken, grantedTokenOf } from './response.ts';
import { checkNonce, checkPolicy, checkTime, checkWindow } from './statement.ts';
import { checkPurpose, checkTsaName } from './tsa-certificate.ts';
import { type TstInfo, tstInfoOf } from './tst-info.ts';
import type { ResponseContext, SignerIdentity, TokenContext, Verified, VerifyContext, VerifyResult } from './types.ts';

/** The verifier: named checks from the outside of a token to its inside, cheap ones before costly ones, each with a code of its own. */

/** Judges a TSA's answer to a request that was just sent: DER TimeStampResp (RFC 3161 §2.4.2). Never throws, whatever the bytes. */
export function verifyResponse(response: Uint8Array, context: ResponseContext): VerifyResult {
  try {
    const request = requestOf(context.request);
    const granted = grantedTokenOf(parseDer(response), context.acceptGrantedWithMods ?? false);
    const signed = signedDataOf(granted.token);
    const tstInfo = tstInfoOf(signed.eContent, request.imprint);
    checkNonce(tstInfo, request.nonce);
    checkPolicy(tstInfo, request.policy);
    checkTime(tstInfo, context);
    checkWindow(tstInfo, context);
    return judge(granted, signed, tstInfo, context, request.certReq);
  } catch (error) {
    return refusedBy(error);
  }
}

/** Judges a stored or raw token: DER TimeStampToken, or a whole TimeStampResp. Never throws, whatever the bytes. */
export function verifyToken(token: Uint8Array, context: TokenContext): VerifyResult {
  try {
    const granted = openToken(parseDer(token), context);
    const signed = signedDataOf(granted.token);
    const tstInfo = tstInfoOf(signed.eContent, context.expected);
    checkTime(tstInfo, context);
    return judge(granted, signed, tstInfo, context, false);
  } catch (error) {
    return refusedBy(error);
  }
}

/** A TimeStampResp starts with a SEQUENCE, its status; a ContentInfo with an OBJECT IDENTIFIER. */
function openToken(element: Der, context: VerifyContext): GrantedToken {
  if (element.children[0]?.tag === TAG.sequence) return grantedTokenOf(element, context.acceptGrantedWithMods ?? false);
  return { token: element, grantedWithMods: false };
}

/** Who signed the token, and whether he may: the same whoever asks. */
function judge(
  granted: GrantedToken,
  signed: SignedData,
  tstInfo: TstInfo,
  context: VerifyContext,
  isEmbeddingRequired: boolean,
): VerifyResult {
  const { trust } = context;
  const embedded = signed.certificates.map((certificate) => trust.certificateOf(derOf(certificate)));
  const signer = signerCertificateOf(signed.signer.sid, embedded, trust.certificates, isEmbeddingRequired);
  const attributes = attributesOf(signed.signer);
  checkContentType(attributes);
  checkMessageDigest(attributes, signed);
  checkAlgorithmProtection(attributes, signed.signer);
  const named = signingCertificatesOf(attributes);
  checkSignature(signed.signer, signer, embedded);
  checkSigningCertificate(named, signer);
  checkPurpose(signer);
  if (tstInfo.tsa !== undefined) checkTsaName(tstInfo.tsa, signer);
  const chain = chainAt(tstInfo, signer, embedded, named, context);
  checkCompany(embedded, chain, trust.certificates);
  return verifiedOf(granted, tstInfo, chain);
}

/** A chain in which every certificate is good at genTime (refusals 41–44). Of several, one is enough. */
function chainAt(
  tstInfo: TstInfo,
  signer: Certificate,
  embedded: readonly Certificate[],
  named: readonly (readonly CertificateId[])[],
  { trust }: VerifyContext,
): Chain {
  const refusals: Refusal[] = [];
  for (const chain of trust.chainsOf(signer, embedded)) {
    try {
      checkAt(chain, tstInfo.genTime.microseconds, trust.crls, trust.certificates);
      checkNamedChain(named, chain);
      return chain;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      refusals.push(error);
    }
  }
  throw refusals[0] ?? new Refusal('untrusted_root', 'No chain leads to a trust anchor.');
}

function verifiedOf({ token, grantedWithMods }: GrantedToken, tstInfo: TstInfo, chain: Chain): Verified {
  const { genTime, imprint } = tstInfo;
  return {
    ok: true,
    genTime: new Date(genTime.milliseconds),
    genTimeText: genTime.text,
    genTimeMicroseconds: genTime.microseconds,
    accuracyMicroseconds: tstInfo.accuracy,
    serial: tstInfo.serial.toString(),
    policy: tstInfo.policy,
    imprint,
    nonce: tstInfo.nonce,
    ordering: tstInfo.ordering,
    extensions: tstInfo.extensions,
    signer: identityOf(chain[0]),
    chain: chain.map((certificate) => certificate.der),
    anchorFingerprint: chain.at(-1)!.fingerprint,
    token: derOf(token),
    grantedWithMods,
  };
}

const identities = new WeakMap<Certificate, SignerIdentity>();

/** The same for every token of a signer, so made once. */
function identityOf(certificate: Certificate): SignerIdentity {
  let identity = identities.get(certificate);
  if (identity === undefined) {
    identity = {
      subject: nameText(certificate.subject),
      issuer: nameText(certificate.issuer),
      serialHex: contentsOf(parseDer(certificate.serialNumber))
        .toString('hex')
        .replace(/^0+(?=.)/, ''),
      fingerprint: certificate.fingerprint,
    };
    identities.set(certificate, identity);
  }
  return identity;
}

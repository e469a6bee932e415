import type { KeyObject } from 'node:crypto';
import { looksLikeMockToken, mockProviderName, readMockToken } from '../domain/mock-token.ts';
import { isQualified, notQualified, type Qualification } from '../domain/qualification.ts';
import { type ReasonCode, verdictOf } from '../domain/reasons.ts';
import { type Imprint, sha256Imprint } from '../domain/stamp.ts';
import { bytesOfTokenText, hexImprintOf, rfc3339Of } from '../domain/token.ts';
import {
  createTrustStore,
  type TokenClaims,
  type TrustStore,
  type Verified,
  type VerifiedToken,
  type VerifyResult,
  verifyByItself,
  verifyEvidence,
  withRevocationLists,
} from '../rfc3161/index.ts';
import type { Clock } from '../runtime/timers.ts';
import type { ListIndex } from './lists/index.ts';
import { qualificationOfEvidence, qualificationOfToken } from './qualification.ts';
import type { TrustedProvider, TrustSettings } from './trusted-providers.ts';

/**
 * Decides whether a token is valid and whether it is qualified, for the service and for the command (V2). A worker judges a TSA's answer to its
 * own request without it, because it also compares the answer with the request.
 */
export interface TokenJudge {
  /**
   * Judges anything that may be a token: a mock token, a TimeStampToken, a TimeStampResp or an EvidenceRecord, as octets or as their base64. Never
   * rejects because of its contents.
   *
   * @throws TrustMaterialError if one of `crls` cannot be read
   */
  judge(token: string | Uint8Array, about?: AboutToken): Promise<Judgement>;
}

/** What is known about a token from elsewhere. */
export interface AboutToken {
  /** The provider in the record of the stamp. If it is configured, only its trust anchors count for the token, or the first token of a record. */
  readonly provider?: string | undefined;
  /**
   * The hash of the document, and its hashes in the algorithms of later chains of a record. They are used for evidence records only, because a record
   * may cover several documents. The imprint of a token is compared by the caller.
   */
  readonly imprints?: readonly Imprint[];
  /** Revocation lists, DER, that count beside the configured ones. */
  readonly crls?: readonly Uint8Array[];
}

export type Judgement =
  | TrustedToken
  | {
      readonly ok: false;
      readonly code: ReasonCode;
      readonly detail?: string;
      readonly cause?: unknown;
      /** The contents of a correct token that no trust anchor covers. Its chain has certificates of the token only. */
      readonly stated?: Verified;
      /** The statement of a token that is not verified: it can only show that the token is for another document. */
      readonly claims?: TokenClaims;
      /** What the trusted lists say, if a list knows the service but does not grant it. */
      readonly qualification?: Qualification;
    };

/** The contents of a trusted token, and the provider. It is a mock token, or a token or record of RFC 3161. */
export type TrustedToken = TrustedContents & (MockToken | Rfc3161Token);

interface TrustedContents {
  readonly ok: true;
  /** RFC 3339 in UTC. */
  readonly issuedAt: string;
  readonly imprint: Imprint;
  /**
   * The name of the provider. If no stamp of ours has the token, it is undefined if only `TRUST_ANCHORS_FILE` or a trusted list covers the token, or if
   * its policy is another one.
   */
  readonly provider: string | undefined;
  /** Whether a provider with this name is configured. If not, the name comes only from the record of the stamp. */
  readonly isProviderKnown: boolean;
  /** Whether the token is trusted only because a trusted list grants its service. */
  readonly isTrustedByList: boolean;
  readonly qualification: Qualification;
}

interface MockToken {
  /** The id of the stamp. Only mock tokens carry it. */
  readonly tokenId: string;
  readonly tst: undefined;
  readonly verified: undefined;
}

interface Rfc3161Token {
  readonly tokenId: undefined;
  /** The TimeStampToken or the EvidenceRecord (RFC 4998), unchanged. */
  readonly tst: Buffer;
  /** The other contents of the token, and its signer. For an evidence record, those of its first token. */
  readonly verified: Verified;
}

/** What a token states about its document. */
interface Stated {
  readonly imprint: Imprint;
  /** A verified token that is no evidence record may be for the root of a batch, and so for any file (S14). */
  readonly mayBeOfBatch: boolean;
}

/** Returns what a token states. Undefined: it is not known, or the token is not valid. */
export function statedBy(judgement: Judgement): Stated | undefined {
  const verified = judgement.ok ? judgement.verified : judgement.stated;
  const mayBeOfBatch = verified !== undefined && verified.record === undefined;
  if (judgement.ok) return { imprint: judgement.imprint, mayBeOfBatch };
  const stated = verified ?? (verdictOf(judgement.code) === 'not_valid' ? undefined : judgement.claims);
  return stated && { imprint: hexImprintOf(stated), mayBeOfBatch };
}

/** Every DER structure of RFC 3161 starts with a SEQUENCE. */
const sequenceTag = 0x30;

export function createTokenJudge(deps: {
  trust: TrustSettings;
  lists: () => ListIndex;
  /** Undefined: mock tokens cannot be verified here. */
  mockKey?: () => Promise<KeyObject>;
  clock: Clock;
}): TokenJudge {
  return {
    judge: async (token, { provider, imprints = [], crls = [] } = {}) => {
      const trust = withGivenLists(deps.trust, crls);
      const bytes = typeof token === 'string' ? bytesOfTokenText(token) : Buffer.from(token);
      if (bytes === undefined) return { ok: false, code: 'not_base64' };
      const isMock = provider === mockProviderName;
      if (looksLikeMockToken(bytes)) {
        if (deps.mockKey === undefined || (provider !== undefined && !isMock)) return { ok: false, code: 'mock_not_rfc3161' };
        return judgeMock(bytes, await deps.mockKey());
      }
      if (isMock || bytes[0] !== sequenceTag) return { ok: false, code: 'unknown_format' };
      const lists = deps.lists();
      const listed = lists.isEmpty ? undefined : lists.trustWith(trust.extraTrust);
      const named = trust.providers.filter(({ settings }) => settings.name === provider);
      const isNamed = named.length > 0;
      const candidates = isNamed ? named : trust.providers;
      return judgeEvidence({ bytes, imprints, trust, lists, listed, nowMs: deps.clock(), name: provider, isNamed, candidates });
    },
  };
}

interface Evidence {
  readonly bytes: Buffer;
  readonly imprints: readonly Imprint[];
  readonly trust: TrustSettings;
  readonly lists: ListIndex;
  /** The services of the lists as trust anchors. Undefined: there is no list. */
  readonly listed: TrustStore | undefined;
  readonly nowMs: number;
  /** The name of the provider in the record of the stamp. */
  readonly name: string | undefined;
  /** Whether the recorded provider is configured. Then nobody else makes the token, or the first token of a record, valid. */
  readonly isNamed: boolean;
  /** The provider with this name; all providers if there is no name, or no provider with this name is configured any more. */
  readonly candidates: readonly TrustedProvider[];
}

/**
 * Judges an RFC 3161 token or an evidence record:
 *
 * 1. Trust sources verify it in a fixed order: the trust anchors of the providers, `TRUST_ANCHORS_FILE` (or the anchors of the command), the services
 *    of the trusted lists.
 * 2. If one of them finds a revoked certificate, it is not valid.
 * 3. The first source whose policy and status it fits decides. The status in a TSA's answer is not signed, so it is judged after the signature.
 * 4. If no source trusts it, it is not proved, or it has a fault of its own.
 * 5. Otherwise it is valid, and may be qualified.
 */
async function judgeEvidence(evidence: Evidence): Promise<Judgement> {
  const findings = await verifyBySources(evidence);
  const [revoked] = findings.flatMap(({ result }) => (!result.ok && result.code === 'certificate_revoked' ? [result] : []));
  if (revoked) return revoked;
  const fit = fitPolicy(evidence, findings);
  switch (fit.kind) {
    case 'untrusted':
      return judgeUnproved(evidence, findings);
    case 'refused':
      return { ok: false, code: fit.code };
    case 'fits': {
      const { result, provider, isProviderKnown, isTrustedByList } = fit;
      return {
        ok: true,
        tokenId: undefined,
        issuedAt: rfc3339Of(result.genTimeText),
        imprint: hexImprintOf(result),
        provider,
        isProviderKnown,
        isTrustedByList,
        qualification: await qualify(evidence, findings, fit),
        tst: result.token,
        verified: result,
      };
    }
  }
}

/** What one trust source says: the trust anchors of `provider`, the trusted lists, or otherwise `TRUST_ANCHORS_FILE`. */
interface Finding {
  readonly provider?: TrustedProvider;
  readonly isByList?: boolean;
  readonly result: VerifyResult;
}

/**
 * Verifies with the sources. `TRUST_ANCHORS_FILE` is asked only if no provider trusts the token. If the recorded provider is configured, the lists
 * decide only about revocation and qualification of the first token.
 *
 * Each provider's trust store has the certificates and revocation lists of all providers. The certificates field is outside the token's signature, so
 * anyone can remove a certificate from it. If several roots certify a CA, only configured certificates are sure to show every path
 * (docs/operators/providers.md).
 */
async function verifyBySources(evidence: Evidence): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for (const provider of evidence.candidates) {
    const result = await verifyBy(evidence, provider.trust);
    findings.push({ provider, result });
    // An encoding error is the same for every source, so the others need not be tried.
    if (!result.ok && result.code.startsWith('der_')) return findings;
  }
  if (!evidence.isNamed && !findings.some(({ result }) => result.ok))
    findings.push({ result: await verifyBy(evidence, evidence.trust.extraTrust) });
  if (evidence.listed) findings.push({ isByList: true, result: await verifyBy(evidence, evidence.listed) });
  return findings;
}

/**
 * Verifies with one trust store. The tokens of renewals may come from any trusted TSA: only the first token of a record decides to which provider the
 * record belongs. A renewal that only the lists cover must be granted itself.
 */
async function verifyBy(evidence: Evidence, store: TrustStore): Promise<VerifyResult> {
  const { trust, lists, listed } = evidence;
  const renewalTrust = [...trust.providers.map((provider) => provider.trust), trust.extraTrust];
  const result = await verifyEvidence(evidence.bytes, { ...contextOf(evidence), trust: store, renewalTrust, listed });
  const [, ...renewals] = (result.ok && result.record?.tokens) || [];
  const isGranted = renewals.every((token) => token.trustedBy.some((trust) => trust !== listed) || isGrantedBy(lists, token));
  if (isGranted) return result;
  return { ok: false, code: 'untrusted_root', detail: 'No trusted list grants the service that renewed the record.' };
}

const contextOf = ({ imprints, nowMs }: Evidence) => ({
  nowMs,
  acceptGrantedWithMods: true,
  digests: imprints.map(({ algorithm, digest }) => ({ algorithm, digest: Buffer.from(digest, 'hex') })),
});

/** Whether a trusted list grants the service that signed a token, at its genTime. */
const isGrantedBy = (lists: ListIndex, token: VerifiedToken): boolean => isQualified(qualificationOfToken(token, [], lists, token.genTime));

/** The source that makes the token valid. */
interface Fit {
  readonly kind: 'fits';
  readonly result: Verified;
  readonly provider: string | undefined;
  readonly isProviderKnown: boolean;
  readonly isTrustedByList: boolean;
  /** The providers to whose trust anchors and policy the token leads. */
  readonly providers: readonly TrustedProvider[];
}

/** `refused`: a source trusts the token, but the token does not fit its policy or status. `untrusted`: no source trusts it. */
type PolicyFit = Fit | { readonly kind: 'refused'; readonly code: ReasonCode } | { readonly kind: 'untrusted' };

/** Chooses the first source whose policy and status the token fits. */
function fitPolicy(evidence: Evidence, findings: readonly Finding[]): PolicyFit {
  const { name, isNamed } = evidence;
  const trusting = findings.flatMap(({ provider, result }) => (provider && result.ok ? [{ provider, result }] : []));
  const ofPolicy = trusting.filter(({ provider, result }) => policyFits(provider, result));
  const isProviderKnown = name === undefined || isNamed;
  const first = ofPolicy.find(({ provider, result }) => statusFits(result, provider));
  if (first) {
    const providers = isProviderKnown ? ofPolicy.map(({ provider }) => provider) : [];
    const provider = name ?? first.provider.settings.name;
    return { kind: 'fits', result: first.result, provider, isProviderKnown, isTrustedByList: false, providers };
  }
  const ofStranger = { kind: 'fits', isProviderKnown: false, providers: [] } as const;
  // The token is trusted, but its policy is not that of the provider. A stamp of this provider is then refused. A token from a client is valid, but it
  // is not attributed to this provider.
  const otherPolicy = trusting.find(({ provider, result }) => !policyFits(provider, result) && statusFits(result, provider));
  if (otherPolicy && isNamed) return { kind: 'refused', code: 'policy_mismatch' };
  if (otherPolicy) return { ...ofStranger, result: otherPolicy.result, provider: undefined, isTrustedByList: false };
  if (trusting.length > 0) return { kind: 'refused', code: 'granted_with_mods' };
  if (isNamed) return { kind: 'untrusted' };
  for (const { isByList = false, result } of findings) {
    if (!result.ok || (isByList && !isGrantedBy(evidence.lists, result))) continue;
    if (!statusFits(result)) return { kind: 'refused', code: 'granted_with_mods' };
    return { ...ofStranger, result, provider: name, isTrustedByList: isByList };
  }
  return { kind: 'untrusted' };
}

const policyFits = ({ settings }: TrustedProvider, { policy }: VerifiedToken): boolean =>
  settings.policyOid === undefined || settings.policyOid === policy;

/** Returns false for a grantedWithMods answer (the TSA granted something different from the request), unless its provider accepts them (refusal 4). */
const statusFits = ({ grantedWithMods }: Verified, provider?: TrustedProvider): boolean =>
  !grantedWithMods || provider?.settings.acceptGrantedWithMods === true;

/** Judges a token that no source trusts. If it has a fault whomever one trusts, that is the answer. */
async function judgeUnproved(evidence: Evidence, findings: readonly Finding[]): Promise<Judgement> {
  // Apart from a revocation, only one refusal by the lists is about the token: a service that is no CA certified the signer.
  const refusals = findings.flatMap(({ isByList, result }) => (result.ok || (isByList && result.code !== 'issuer_not_ca') ? [] : [result]));
  const fault = refusals.find(({ code }) => verdictOf(code) === 'not_valid');
  if (fault) return fault;
  const refusal = refusals.find(({ code }) => code !== 'untrusted_root' && code !== 'trust_store_empty') ?? refusals[0]!;
  const own = await verifyByItself(evidence.bytes, { nowMs: evidence.nowMs, reader: evidence.trust.extraTrust }, (store) =>
    verifyEvidence(evidence.bytes, { ...contextOf(evidence), trust: store }),
  );
  if (!own.ok) return verdictOf(own.code) === 'not_proved' ? refusal : own;
  if (!statusFits(own) && !evidence.candidates.some((provider) => statusFits(own, provider)))
    return { ok: false, code: 'granted_with_mods' };
  const said = qualificationBy(evidence, own, []);
  return { ...refusal, stated: own, ...(said.basis === 'list' && !isQualified(said) && { qualification: said }) };
}

/**
 * Decides whether a valid token is qualified. It may lead to the trust anchors of several providers: by the operator's word it is qualified only if all
 * of them are, whatever name the record of the stamp has.
 */
async function qualify(evidence: Evidence, findings: readonly Finding[], { result, providers }: Fit): Promise<Qualification> {
  const own = qualificationBy(evidence, result, providers);
  const listed = findings.find(({ isByList }) => isByList)?.result;
  const said = listed?.ok ? qualificationBy(evidence, listed, []) : undefined;
  // A trust anchor may lead to another chain than the one that the lists know.
  const judged = said && (own.basis !== 'list' || isQualified(said)) ? said : own;
  const isWord = judged.basis === 'operator' && isQualified(judged);
  if (!isWord || !(await leadsToUnqualified(evidence))) return judged;
  return notQualified('provider_not_qualified', judged.isClaimedByToken);
}

/** @param providers the providers to which the first token belongs */
function qualificationBy({ trust, lists, nowMs }: Evidence, verified: Verified, providers: readonly TrustedProvider[]): Qualification {
  const settingsOf = (of: readonly TrustedProvider[]) => of.map(({ settings }) => settings.qualified);
  return qualificationOfEvidence(verified, {
    lists,
    ofFirst: settingsOf(providers),
    ofRenewal: (token) =>
      settingsOf(trust.providers.filter((provider) => token.trustedBy.includes(provider.trust) && policyFits(provider, token))),
    now: new Date(nowMs),
  });
}

/** Returns true if a token also leads to the trust anchors of a provider that was not tried and that the operator does not call qualified. */
async function leadsToUnqualified(evidence: Evidence): Promise<boolean> {
  for (const provider of evidence.trust.providers) {
    if (evidence.candidates.includes(provider) || provider.settings.qualified === true) continue;
    const result = await verifyBy(evidence, provider.trust);
    if (result.ok && policyFits(provider, result)) return true;
  }
  return false;
}

/** Adds revocation lists to each trust store. Whether a chain is revoked is judged each time, so the caches of the stores can stay in use. */
function withGivenLists(trust: TrustSettings, given: readonly Uint8Array[]): TrustSettings {
  if (given.length === 0) return trust;
  const { crls } = createTrustStore({ anchors: [], crls: given });
  const withLists = (store: TrustStore): TrustStore => withRevocationLists(store, [...store.crls, ...crls]);
  return {
    providers: trust.providers.map((provider) => ({ ...provider, trust: withLists(provider.trust) })),
    extraTrust: withLists(trust.extraTrust),
  };
}

function judgeMock(bytes: Buffer, key: KeyObject): Judgement {
  const claims = readMockToken(key, bytes);
  if (!claims) return { ok: false, code: 'mock_token_forged' };
  const { tokenId, hash, timeMs } = claims;
  return {
    ok: true,
    tokenId,
    issuedAt: new Date(timeMs).toISOString(),
    imprint: sha256Imprint(hash),
    provider: mockProviderName,
    isProviderKnown: true,
    isTrustedByList: false,
    qualification: notQualified('mock_provider'),
    tst: undefined,
    verified: undefined,
  };
}

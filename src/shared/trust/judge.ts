import type { KeyObject } from 'node:crypto';
import { rfc3339Of } from '../domain/gen-time.ts';
import { looksLikeMockToken, mockProviderName, readMockToken } from '../domain/mock-token.ts';
import { isQualified, notQualified, type Qualification } from '../domain/qualification.ts';
import { type ReasonCode, verdictOf } from '../domain/reasons.ts';
import { type Imprint, sha256Imprint } from '../domain/stamp.ts';
import { bytesOfTokenText } from '../domain/token-text.ts';
import {
  createTrustStore,
  type EvidenceContext,
  isEvidenceRecord,
  type MessageImprint,
  type RecordToken,
  type RefusedToken,
  type TokenClaims,
  type TrustStore,
  type Verified,
  type VerifyResult,
  verifyByItself,
  verifyEvidence,
} from '../rfc3161/index.ts';
import type { Clock } from '../runtime/clock.ts';
import type { ListIndex } from './lists/index.ts';
import { qualificationOf, qualificationOfEvidence } from './qualification.ts';
import type { TrustedProvider, TrustSettings } from './trusted-providers.ts';

/** The contents of a trusted token, and the provider. */
export interface Vouched {
  readonly ok: true;
  /** Mock tokens carry the id of their stamp; RFC 3161 tokens do not. */
  readonly tokenId: string | undefined;
  /** RFC 3339 in UTC. */
  readonly issuedAt: string;
  readonly imprint: Imprint;
  /** The name of the provider. For a token without a record it is undefined if only `TRUST_ANCHORS_FILE` covers it, or if its policy is another one. */
  readonly provider: string | undefined;
  /** Whether a provider with this name is configured. If not, the name comes only from the record of the stamp. */
  readonly isProviderKnown: boolean;
  readonly qualification: Qualification;
  /** The TimeStampToken or the EvidenceRecord (RFC 4998), unchanged. Undefined for a mock token. */
  readonly tst: Buffer | undefined;
  /** The other contents of the token, and its signer. For an evidence record, those of its first token. Undefined for a mock token. */
  readonly verified: Verified | undefined;
}

export type Judgement =
  | Vouched
  | {
      readonly ok: false;
      readonly code: ReasonCode;
      readonly detail?: string;
      readonly cause?: unknown;
      /** The contents of a correct token that no trust anchor covers. */
      readonly stated?: Verified;
      /** The statement of a token that is not verified: it can only show that the token is for another document. */
      readonly claims?: TokenClaims;
      /** What the trusted lists say, if a list knows the service but does not grant it. */
      readonly qualification?: Qualification;
    };

/** Decides whether a token is valid and whether it is qualified. No other code decides this (V2). */
export interface TokenJudge {
  /**
   * Judges any text. A token is base64 of a mock token, a TimeStampToken, a TimeStampResp or an EvidenceRecord. `provider` is the recorded name: if
   * this provider is configured, only its trust anchors count. An evidence record may cover several hashes: `expected` is the hash to check, and
   * `otherDigests` are digests of the same document in the algorithms of later chains. Both are ignored for other tokens. `crls`: revocation lists,
   * DER, that count beside the configured ones.
   *
   * @throws TrustMaterialError if one of `crls` cannot be read, or was not signed by its issuer
   */
  judge(
    token: string,
    provider?: string,
    expected?: Imprint,
    otherDigests?: readonly Imprint[],
    crls?: readonly Uint8Array[],
  ): Promise<Judgement>;
}

/** Every DER structure of RFC 3161 starts with a SEQUENCE. */
const sequenceTag = 0x30;

interface Presented {
  readonly bytes: Buffer;
  readonly expected: Imprint | undefined;
  readonly otherDigests: readonly Imprint[];
}

const derImprintOf = ({ algorithm, digest }: Imprint): MessageImprint => ({ algorithm, digest: Buffer.from(digest, 'hex') });

interface Voucher {
  readonly provider: string | undefined;
  readonly isProviderKnown: boolean;
  readonly qualification: Qualification;
}

const vouchedBy = (result: Verified, voucher: Voucher): Vouched => ({
  ...voucher,
  ok: true,
  tokenId: undefined,
  issuedAt: rfc3339Of(result.genTimeText),
  imprint: { algorithm: result.imprint.algorithm, digest: result.imprint.digest.toString('hex') },
  tst: result.token,
  verified: result,
});

const policyFits = ({ settings }: TrustedProvider, { policy }: Verified): boolean =>
  settings.policyOid === undefined || settings.policyOid === policy;

/**
 * Returns false only for a grantedWithMods answer (the TSA granted something different from the request) of a provider that does not accept them
 * (refusal 4).
 */
const statusFits = ({ provider, result }: { readonly provider: TrustedProvider; readonly result: Verified }): boolean =>
  !result.grantedWithMods || provider.settings.acceptGrantedWithMods === true;

/** Adds revocation lists to each trust store. The caches of the stores stay in use: whether a chain is revoked is judged each time. */
function withRevocationLists({ providers, extraTrust }: TrustSettings, given: readonly Uint8Array[]): TrustSettings {
  const { crls } = createTrustStore({ anchors: [], crls: given });
  const withLists = (store: TrustStore): TrustStore => ({ ...store, crls: [...store.crls, ...crls] });
  return {
    providers: providers.map((provider) => ({ ...provider, trust: withLists(provider.trust) })),
    extraTrust: withLists(extraTrust),
  };
}

export function createTokenJudge(deps: {
  trust: TrustSettings;
  /** The trusted lists in force. */
  lists: () => ListIndex;
  mockKey: () => Promise<KeyObject>;
  clock: Clock;
}): TokenJudge {
  const { trust, lists, mockKey, clock } = deps;

  async function judgeMock(bytes: Buffer): Promise<Judgement> {
    const read = readMockToken(await mockKey(), bytes);
    if (!read.ok) return { ok: false, code: 'mock_token_forged' };
    const { tokenId, hash, timeMs } = read.claims;
    const issuedAt = new Date(timeMs).toISOString();
    return {
      ok: true,
      tokenId,
      issuedAt,
      imprint: sha256Imprint(hash),
      provider: mockProviderName,
      isProviderKnown: true,
      qualification: notQualified('mock_provider'),
      tst: undefined,
      verified: undefined,
    };
  }

  /** The tokens of renewals may come from any trusted TSA. Only the first token of a record decides which provider the record belongs to. */
  const renewalTrust = [...trust.providers.map((provider) => provider.trust), trust.extraTrust];

  function contextOf({ bytes, expected, otherDigests }: Presented, store: TrustStore, acceptGrantedWithMods: boolean): EvidenceContext {
    const context = { trust: store, nowMs: clock(), acceptGrantedWithMods, renewalTrust };
    if (!isEvidenceRecord(bytes) || expected === undefined) return context;
    return { ...context, expected: derImprintOf(expected), otherDigests: otherDigests.map(derImprintOf) };
  }

  const verifyWith = (presented: Presented, store: TrustStore, acceptGrantedWithMods: boolean): Promise<VerifyResult> =>
    verifyEvidence(presented.bytes, contextOf(presented, store, acceptGrantedWithMods));

  const providersOf = (token: RecordToken, stores: readonly TrustStore[]): readonly TrustedProvider[] =>
    trust.providers.filter((provider) => stores.includes(provider.trust) && policyFits(provider, token));

  /** @param listTrust the services of the lists, if the evidence was verified with them */
  function qualify(verified: Verified, providers: readonly TrustedProvider[], listTrust?: TrustStore): Qualification {
    const index = lists();
    const settingsOf = (of: readonly TrustedProvider[]) => of.map(({ settings }) => settings.qualified);
    return qualificationOfEvidence(verified, {
      lists: index,
      ofFirst: settingsOf(providers),
      ofRenewal: (token, stores) => settingsOf(providersOf(token, stores)),
      holdsAlone: (token) => providersOf(token, token.holdsAloneBy).length > 0 || token.holdsAloneBy.some((store) => store === listTrust),
      now: new Date(clock()),
    });
  }

  /** Returns true if a token also leads to the trust anchors of a provider that is not in `asked` and that the operator does not call qualified. */
  async function leadsToUnqualified(presented: Presented, asked: readonly TrustedProvider[]): Promise<boolean> {
    for (const provider of trust.providers) {
      if (asked.includes(provider) || provider.settings.qualified === true) continue;
      const result = await verifyWith(presented, provider.trust, true);
      if (result.ok && policyFits(provider, result)) return true;
    }
    return false;
  }

  /**
   * Judges an RFC 3161 token or an evidence record with the trust anchors of each possible provider: the named provider, or all providers if none is
   * named or the named provider is not configured any more. Then it tries `TRUST_ANCHORS_FILE` and the services of the trusted lists, but never for a
   * stamp of a configured provider. A service of the lists that was revoked makes the token not valid in any case.
   *
   * A token may lead to trust anchors of several providers. So it is qualified only if all of these providers are, whatever name the stamp's record
   * has, and it is refused if the revocation lists show for one of them that a certificate was revoked. The status in a TSA's answer is not signed,
   * so it is judged last. Each provider's trust store has the certificates and revocation lists of all providers. The certificates field is outside
   * the token's signature too, so anyone can remove a certificate from it. If several roots certify a CA, only configured certificates are sure to
   * show every path (docs/operators/providers.md).
   */
  async function judgeTst(presented: Presented, providerName: string | undefined): Promise<Judgement> {
    const named = trust.providers.filter(({ settings }) => settings.name === providerName);
    const candidates = named.length > 0 ? named : trust.providers;
    const isConfigured = providerName === undefined || named.length > 0;
    const refusals: RefusedToken[] = [];
    const trusting: { provider: TrustedProvider; result: Verified }[] = [];
    for (const provider of candidates) {
      const result = await verifyWith(presented, provider.trust, true);
      if (result.ok) trusting.push({ provider, result });
      else refusals.push(result);
      // An encoding error is the same for every provider, so the others need not be tried.
      if (!result.ok && result.code.startsWith('der_')) return result;
    }
    const listed = await judgeByLists(presented);
    const revoked = [...refusals, listed?.result].find((one) => one?.ok === false && one.code === 'certificate_revoked');
    if (revoked?.ok === false) return revoked;
    /** A trust anchor may lead to another chain than the one that the lists know. */
    const withLists = (own: Qualification): Qualification =>
      listed?.qualification && (own.basis !== 'list' || isQualified(listed.qualification)) ? listed.qualification : own;
    const ofPolicy = trusting.filter(({ provider, result }) => policyFits(provider, result));
    const first = ofPolicy.find(statusFits);
    if (first) {
      const judged = withLists(qualify(first.result, isConfigured ? ofPolicy.map(({ provider }) => provider) : []));
      const isWord = judged.basis === 'operator' && isQualified(judged);
      const qualification =
        isWord && (await leadsToUnqualified(presented, candidates))
          ? notQualified('provider_not_qualified', judged.isClaimedByToken)
          : judged;
      const provider = providerName ?? first.provider.settings.name;
      return vouchedBy(first.result, { provider, isProviderKnown: isConfigured, qualification });
    }
    // The token is trusted, but its policy is not that of the provider. A stamp of this provider is then refused. A token from a client is valid,
    // but it is not attributed to this provider.
    const otherPolicy = trusting.find((each) => !policyFits(each.provider, each.result) && statusFits(each));
    if (otherPolicy && named.length > 0) return { ok: false, code: 'policy_mismatch' };
    const ofStranger = (result: Verified, name?: string) =>
      vouchedBy(result, { provider: name, isProviderKnown: false, qualification: withLists(qualify(result, [])) });
    if (otherPolicy) return ofStranger(otherPolicy.result);
    if (trusting.length > 0) return { ok: false, code: 'granted_with_mods' };
    if (named.length === 0) {
      const extra = await verifyWith(presented, trust.extraTrust, false);
      if (extra.ok) return ofStranger(extra, providerName);
      if (extra.code === 'certificate_revoked') return extra;
      refusals.push(extra);
    }
    // A service that a trusted list grants is a trust anchor too, but never for a stamp of a configured provider.
    const isListed = named.length === 0 && listed?.qualification !== undefined;
    if (isListed && listed.result.ok && isQualified(listed.qualification) && !listed.result.grantedWithMods)
      return ofStranger(listed.result, providerName);
    // A service that is no CA has certified the signer.
    if (listed?.result.ok === false && listed.result.code === 'issuer_not_ca') refusals.push(listed.result);
    const refusal = refusals.find(({ code }) => code !== 'untrusted_root' && code !== 'trust_store_empty') ?? refusals[0]!;
    if (verdictOf(refusal.code) === 'not_valid') return refusal;
    // Not proved by any trust store. If the token is also wrong regardless of trust, that is the answer.
    const own = await verifyByItself(presented.bytes, { nowMs: clock(), reader: trust.extraTrust }, (store) =>
      // Renewals need no other trust store here: `store` has the certificates of all tokens in the record.
      verifyEvidence(presented.bytes, { ...contextOf(presented, store, true), renewalTrust: [] }),
    );
    if (own.ok) return { ...refusal, stated: own, ...(isListed && { qualification: listed.qualification }) };
    return verdictOf(own.code) === 'not_proved' ? refusal : own;
  }

  /**
   * Verifies with the services of the lists as trust anchors, and with our certificates and revocation lists. `qualification`: what the lists say, if
   * they have the service, and if each further token that only they cover is granted itself.
   */
  async function judgeByLists(
    presented: Presented,
  ): Promise<{ readonly result: VerifyResult; readonly qualification?: Qualification } | undefined> {
    const index = lists();
    if (index.isEmpty) return undefined;
    const services = index.trustWith(trust.extraTrust);
    const result = await verifyWith(presented, services, true);
    if (!result.ok) return { result };
    const [, ...renewals] = result.record?.tokens ?? [];
    const areGranted = renewals.every(
      (token) => token.trustedBy.some((store) => store !== services) || isQualified(qualificationOf(token, [], index, new Date(clock()))),
    );
    return areGranted ? { result, qualification: qualify(result, [], services) } : { result };
  }

  return {
    judge: async (token, provider, expected, otherDigests = [], crls = []) => {
      if (crls.length > 0)
        return createTokenJudge({ ...deps, trust: withRevocationLists(trust, crls) }).judge(token, provider, expected, otherDigests);
      const bytes = bytesOfTokenText(token);
      if (bytes === undefined) return { ok: false, code: 'not_base64' };
      if (looksLikeMockToken(bytes))
        return provider === undefined || provider === mockProviderName ? judgeMock(bytes) : { ok: false, code: 'mock_not_rfc3161' };
      if (provider === mockProviderName || bytes[0] !== sequenceTag) return { ok: false, code: 'unknown_format' };
      return judgeTst({ bytes, expected, otherDigests }, provider);
    },
  };
}

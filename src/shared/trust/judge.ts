import type { KeyObject } from 'node:crypto';
import { rfc3339Of } from '../domain/gen-time.ts';
import { looksLikeMockToken, mockProviderName, readMockToken } from '../domain/mock-token.ts';
import type { ReasonCode } from '../domain/reasons.ts';
import { type Imprint, sha256Imprint } from '../domain/stamp.ts';
import { type Refused, type TrustStore, type Verified, type VerifyResult, verifyToken } from '../rfc3161/index.ts';
import type { Clock } from '../runtime/clock.ts';
import type { TrustedProvider, TrustSettings } from './trusted-providers.ts';

/** What a token says, and who vouches for it. */
export interface Vouched {
  readonly ok: true;
  /** Told by a mock token itself; an RFC 3161 token does not know its stamp. */
  readonly tokenId: string | undefined;
  /** RFC 3339 in UTC. */
  readonly issuedAt: string;
  readonly imprint: Imprint;
  /** The configured provider whose anchors it leads to; undefined for `TRUST_ANCHORS_FILE`. */
  readonly provider: string | undefined;
  /** Whether that provider is configured; else its name is what the record says, and nobody vouches for it. */
  readonly isProviderKnown: boolean;
  readonly isQualified: boolean;
  /** DER TimeStampToken of an RFC 3161 token. */
  readonly tst: Buffer | undefined;
  /** What an RFC 3161 token says beside that, and who signed it. */
  readonly verified: Verified | undefined;
  /** Whether there were revocation lists to judge it by. */
  readonly hasRevocationLists: boolean;
}

export type Judgement = Vouched | { readonly ok: false; readonly code: ReasonCode; readonly detail?: string; readonly cause?: unknown };

/** Judges every kind of token by everything that is configured (V2). */
export interface TokenJudge {
  /**
   * Judges any text: canonical base64 of a mock token, a TimeStampToken or a TimeStampResp. `provider`: only the anchors of the
   * provider that the stamp is recorded under; undefined: everything that is configured.
   */
  judge(token: string, provider?: string): Promise<Judgement>;
}

/** Every DER structure of RFC 3161 starts with a SEQUENCE. */
const sequenceTag = 0x30;

interface Voucher {
  readonly trust: TrustStore;
  readonly provider: string | undefined;
  readonly isProviderKnown: boolean;
  readonly isQualified: boolean;
}

const vouchedBy = (result: Verified, { trust, ...voucher }: Voucher): Vouched => ({
  ...voucher,
  ok: true,
  tokenId: undefined,
  issuedAt: rfc3339Of(result.genTimeText),
  imprint: { algorithm: result.imprint.algorithm, digest: result.imprint.digest.toString('hex') },
  tst: result.token,
  verified: result,
  hasRevocationLists: trust.crls.length > 0,
});

const policyFits = ({ settings }: TrustedProvider, { policy }: Verified): boolean =>
  settings.policyOid === undefined || settings.policyOid === policy;

export function createTokenJudge(deps: { trust: TrustSettings; mockKey: () => Promise<KeyObject>; clock: Clock }): TokenJudge {
  const { trust, mockKey, clock } = deps;

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
      isQualified: false,
      tst: undefined,
      verified: undefined,
      hasRevocationLists: false,
    };
  }

  const verifyWith = (bytes: Buffer, store: TrustStore, acceptGrantedWithMods = false): VerifyResult =>
    verifyToken(bytes, { trust: store, nowMs: clock(), acceptGrantedWithMods });

  /**
   * Qualified only where every provider that it may come from is: shared anchors raise no trust. A stamp whose provider is no
   * longer configured is judged by the others, and is not qualified any more. Who knows less overrules nobody: a revocation that
   * one of them knows of is final, and `TRUST_ANCHORS_FILE` has no say about a configured provider's stamps.
   */
  function judgeTst(bytes: Buffer, providerName: string | undefined): Judgement {
    const named = trust.providers.filter(({ settings }) => settings.name === providerName);
    const candidates = named.length > 0 ? named : trust.providers;
    const isConfigured = providerName === undefined || named.length > 0;
    const refusals: Refused[] = [];
    const fitting: { provider: TrustedProvider; result: Verified }[] = [];
    let otherPolicy: { trust: TrustStore; result: Verified } | undefined;
    for (const provider of candidates) {
      const result = verifyWith(bytes, provider.trust, provider.settings.acceptGrantedWithMods);
      if (!result.ok) refusals.push(result);
      else if (policyFits(provider, result)) fitting.push({ provider, result });
      else otherPolicy ??= { trust: provider.trust, result };
    }
    const revoked = refusals.find(({ code }) => code === 'certificate_revoked');
    if (revoked) return revoked;
    const [first] = fitting;
    if (first) {
      const isQualified = isConfigured && fitting.every(({ provider }) => provider.settings.isQualified);
      const { trust, settings } = first.provider;
      return vouchedBy(first.result, { trust, provider: providerName ?? settings.name, isProviderKnown: isConfigured, isQualified });
    }
    // Trusted, but nobody's: the anchors of a provider also issue under policies that it is not configured with (V2).
    if (otherPolicy && named.length > 0) return { ok: false, code: 'policy_mismatch' };
    const unknown = { isProviderKnown: false, isQualified: false };
    if (otherPolicy) return vouchedBy(otherPolicy.result, { trust: otherPolicy.trust, provider: undefined, ...unknown });
    if (named.length === 0) {
      const extra = verifyWith(bytes, trust.extraTrust);
      if (extra.ok) return vouchedBy(extra, { trust: trust.extraTrust, provider: providerName, ...unknown });
      refusals.push(extra);
    }
    return refusals.find(({ code }) => code !== 'untrusted_root' && code !== 'trust_store_empty') ?? refusals[0]!;
  }

  return {
    judge: async (token, provider) => {
      const bytes = Buffer.from(token, 'base64');
      if (token === '' || bytes.toString('base64') !== token) return { ok: false, code: 'not_base64' };
      if (looksLikeMockToken(bytes))
        return provider === undefined || provider === mockProviderName ? judgeMock(bytes) : { ok: false, code: 'mock_not_rfc3161' };
      if (provider === mockProviderName || bytes[0] !== sequenceTag) return { ok: false, code: 'unknown_format' };
      return judgeTst(bytes, provider);
    },
  };
}

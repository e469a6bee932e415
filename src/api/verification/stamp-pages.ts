import { verifyPath } from '../../shared/domain/addresses.ts';
import { adviceOf, reasonOf, verdictOf } from '../../shared/domain/reasons.ts';
import { imprintOfDigest } from '../../shared/domain/stamp.ts';
import { toldToken } from '../../shared/domain/token.ts';
import type { Vouched } from '../../shared/trust/judge.ts';
import type { StampJudgement, VerificationTools } from './stamp-judge.ts';
import { otherFileOf } from './verification.ts';
import type { ProvedStamp, TokenDetails, VerdictShown, VerifyPage } from './verify-view.ts';

function detailsOf({ verified, qualification }: Vouched): TokenDetails | null {
  if (!verified) return null;
  const told = toldToken(verified);
  const { serial, chain, record } = verified;
  return {
    policy: told.policy,
    serial,
    accuracySeconds: told.accuracy_seconds,
    chain: chain.map(({ subject, fingerprint, notBefore, notAfter }) => ({
      subject,
      fingerprint,
      validFrom: notBefore.toISOString(),
      validUntil: notAfter.toISOString(),
      revocation: told.revocation.find(({ sha256 }) => sha256 === fingerprint) ?? null,
    })),
    notChecked: [...told.not_checked, ...(qualification.notChecked ?? [])],
    certificatesEndedAt: told.certificates_ended_at,
    record: record === undefined ? null : { tokens: record.tokens.length, holdsUntil: record.holdsUntil.toISOString() },
  };
}

/** The facts that a page may state about a token that was just verified. */
const provedStampOf = (vouched: Vouched): ProvedStamp => ({
  stampedAt: vouched.issuedAt,
  provider: vouched.isProviderKnown ? (vouched.provider ?? null) : null,
  qualification: vouched.qualification,
  imprint: vouched.imprint,
  details: detailsOf(vouched),
});

/** The verdict as a page shows it. */
export function shownOf(judgement: StampJudgement): VerdictShown {
  if (judgement.ok) return { kind: 'proved', stamp: provedStampOf(judgement) };
  const kind = verdictOf(judgement.code) === 'not_proved' ? 'not_proved' : 'refused';
  const { code, qualification = null } = judgement;
  return { kind, reason: reasonOf(code), advice: adviceOf(code) ?? null, qualification };
}

const downloads = ['tsr', 'tsq', 'token', 'evidence'] as const;

/** The page at `verify_url` (V8). `baseUrl`: the base URL of the service, without a final slash. @throws ServiceError `store_unavailable` */
export async function readStampPage(tools: VerificationTools, tokenId: string, baseUrl: string): Promise<VerifyPage> {
  const { store, stampJudge, clock } = tools;
  const stamp = await store.stamps.find(tokenId);
  const verdict = stamp ? shownOf(await stampJudge.judgeStamp(stamp)) : await absenceOf(tools, tokenId);
  const path = verifyPath(tokenId);
  const isExchanged = stamp !== null && stamp.proofs[0].kind !== 'mock';
  return {
    tokenId,
    address: `${baseUrl}${path}`,
    verdict,
    downloads: isExchanged ? downloads.map((name) => ({ name, url: `${path}/${name}` })) : [],
    isBatched: stamp?.proofs[0].kind === 'leaf',
    shownAt: new Date(clock()).toISOString(),
  };
}

/**
 * The verdict on a pasted token. `verifyFormViewOf` compares its imprint with `hash`. Only an evidence record that covers several hashes is verified for
 * `hash` here, because it can only be verified for one of them.
 */
export async function judgePasted({ stampJudge }: VerificationTools, token: string, hash: string): Promise<VerdictShown> {
  const judgement = await stampJudge.judgeToken(token);
  const expected = !judgement.ok && judgement.code === 'evidence_hash_needed' ? imprintOfDigest(hash) : undefined;
  const judged = expected === undefined ? judgement : await stampJudge.judgeToken(token, { imprints: [expected] });
  // If a token is valid, the page shows that its hash is different. If a token is not valid, its stated hash is compared here.
  const fault = judged.ok || hash === '' ? undefined : otherFileOf(judged, hash, [hash]);
  if (fault === undefined) return shownOf(judged);
  return { kind: 'refused', reason: reasonOf(fault.code), advice: fault.advice ?? null, qualification: null };
}

async function absenceOf({ store: { refusals } }: VerificationTools, tokenId: string): Promise<VerdictShown> {
  const refusal = await refusals.find(tokenId);
  return refusal ? { kind: 'not_made', reason: reasonOf(refusal) } : { kind: 'unknown' };
}

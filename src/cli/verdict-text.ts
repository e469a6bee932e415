import { qualifiedVerdictOf } from '../shared/contract/verify.ts';
import {
  developmentPolicy,
  developmentSentence,
  isQualified,
  laterStatusSentence,
  type Qualification,
  qualifiedSentence,
} from '../shared/domain/qualification.ts';
import { adviceOf, isUnjudged, reasonOf, type Verdict } from '../shared/domain/reasons.ts';
import { hashNameOf, sha256Imprint } from '../shared/domain/stamp.ts';
import { hexImprintOf, rfc3339Of, type TokenShown, tokenShown } from '../shared/domain/token.ts';
import { isEvidenceRecord, isSameName, type TrustStore, type Verified, type VerifiedEvidenceRecord } from '../shared/rfc3161/index.ts';
import { readableFingerprint, readableName } from './anchors.ts';
import { CommandFailure, type ExitCode, exitCodes } from './failure.ts';
import type { OnlineAnswer, OutputJudgement, SubjectJudgement } from './judge.ts';
import { standardInput } from './local-files.ts';
import type { VerifySubject } from './operands.ts';
import { describeStampRecord } from './records.ts';
import { countOf, type Line, withMilliseconds } from './terminal.ts';

/** The result of a check for output: one line of JSON for programs, `line` and `details` for people. */
export interface Result {
  readonly json: object;
  readonly line: string;
  readonly details: readonly Line[];
  readonly verdict: Verdict;
  /**
   * The verdict for the sign before the line. A valid time-stamp does not look like a proof if it is for trials, or if the service does not confirm
   * it.
   */
  readonly sign: Verdict;
  readonly code: ExitCode;
  readonly word: string;
}

const verdictWords: Readonly<Record<Verdict, string>> = { valid: 'valid', not_valid: 'not valid', not_proved: 'not proved' };

/** Makes the result of a check. `reason`: its code. `isTrial`: the time-stamp is valid, but for trials. */
export function resultOf(given: {
  readonly json: object;
  readonly line: string;
  readonly details?: readonly Line[];
  readonly verdict: Verdict;
  readonly reason?: string | undefined;
  readonly isTrial?: boolean;
}): Result {
  const { json, line, details = [], verdict, reason, isTrial = false } = given;
  const sign = isTrial ? 'not_proved' : verdict;
  return { json, line, details, verdict, sign, code: exitCodeOf(verdict, reason), word: verdictWords[verdict] };
}

export function exitCodeOf(verdict: Verdict, reason: string | undefined): ExitCode {
  if (verdict === 'valid') return exitCodes.ok;
  return isUnjudged(reason) ? exitCodes.unjudged : exitCodes.notValid;
}

/** What a verdict about several tokens says beside the verdict about the first. */
export interface More {
  readonly others?: readonly Verified[] | undefined;
  /** The subject of the headline: what existed. */
  readonly what?: string;
  readonly facts?: readonly Line[];
  /** The line about what is missing, instead of those about the token. */
  readonly missing?: string | false;
  readonly notChecked?: readonly string[];
  readonly json?: object;
}

/** Writes a verdict for output. `name`: the name on the command line. */
export function verdictResult(
  name: string,
  subject: VerifySubject,
  judgement: SubjectJudgement,
  trust: TrustStore,
  more: More = {},
): Result {
  const facts = factsOf(subject, judgement, more);
  const result = resultOf({
    json: { file: name, ...jsonOf(subject, judgement, facts), ...more.json },
    line: `${nameShown(name, subject)}: ${headline(subject, judgement, facts.reason, more.what)}`,
    details: linesOf(subject, judgement, trust, facts, more),
    verdict: judgement.verdict,
    reason: judgement.reason,
    isTrial: facts.isTrial,
  });
  return confirmedBy(judgement.online, result);
}

/** The facts that the JSON and the lines of a verdict share. */
interface VerdictFacts {
  readonly reason: string | null;
  /** Null: the time-stamp is not valid, or the lists say nothing. Undefined: no list was given. */
  readonly qualification: Qualification | null | undefined;
  /** Whether the time-stamp is valid, but for trials. */
  readonly isTrial: boolean;
  /** Of all tokens together. */
  readonly tokens: ReturnType<typeof tokensShown>;
  readonly notChecked: readonly string[];
  /** Those of `More` that are not in `notChecked`. They have lines of their own. */
  readonly moreNotChecked: readonly string[];
}

function factsOf(subject: VerifySubject, judgement: SubjectJudgement, { others = [], notChecked: more = [] }: More): VerdictFacts {
  const { verdict, stated } = judgement;
  const verified = [...(stated ? [stated] : []), ...others];
  const tokens = tokensShown(verified.map(tokenShown));
  const qualification = verdict === 'not_valid' ? null : judgement.qualification;
  const notChecked = [
    ...(subject.input === undefined ? ['a file: only the token was verified'] : []),
    ...unreadText(subject.unread ?? []),
    ...tokens.not_checked,
    ...(qualification?.notChecked ?? []),
  ];
  return {
    reason: reasonText(judgement.reason),
    qualification,
    isTrial: verdict === 'valid' && !(qualification && isQualified(qualification)) && verified.some(isDevelopment),
    tokens,
    notChecked,
    moreNotChecked: more.filter((note) => !notChecked.includes(note)),
  };
}

/** The members of the JSON after `file`. */
function jsonOf({ input, stampId }: VerifySubject, judgement: SubjectJudgement, facts: VerdictFacts): object {
  const { verdict, stated, online } = judgement;
  const { reason, qualification, tokens, notChecked, moreNotChecked } = facts;
  const isValid = verdict === 'valid';
  const shown = stated && tokenShown(stated);
  const imprint = stated && hexImprintOf(stated);
  const time = stated === undefined ? null : rfc3339Of(stated.genTimeText);
  const end = shown?.trust_anchor ?? null;
  return {
    verdict,
    valid: isValid,
    reason,
    issued_at: isValid ? time : null,
    claimed_at: isValid ? null : time,
    imprint: imprint ?? null,
    content_sha256: imprint?.algorithm === 'sha256' ? imprint.digest : null,
    // Only without an input the user gave the id on the command line. Any other id comes from a file and is only a claim.
    token_id: (input === undefined && stampId) || null,
    claimed_token_id: (input !== undefined && stampId) || null,
    signer: shown?.signer ?? null,
    policy: shown?.policy ?? null,
    accuracy_seconds: shown?.accuracy_seconds ?? null,
    revocation: tokens.revocation,
    certificates_ended_at: tokens.certificates_ended_at,
    ...(stated?.record && { evidence_record: { tokens: stated.record.tokens.length, holds_until: endOf(stated.record) } }),
    ...(judgement.qualification !== undefined && { qualified: qualification ? qualifiedVerdictOf(qualification) : null }),
    trust_anchor: isValid ? end : null,
    chain_ends_at: isValid ? null : end,
    not_checked: [...notChecked, ...moreNotChecked],
    ...(online && { online: online instanceof CommandFailure ? { error: { message: online.message, ...online.details } } : online }),
  };
}

/** The lines for people below the headline. */
function linesOf(
  subject: VerifySubject,
  judgement: SubjectJudgement,
  trust: TrustStore,
  { qualification, isTrial, notChecked, moreNotChecked }: VerdictFacts,
  { facts = [], missing }: More,
): readonly Line[] {
  const { verdict, online } = judgement;
  const isValid = verdict === 'valid';
  const shownNotChecked = isValid ? notChecked : (qualification?.notChecked ?? []);
  const answer = online && describeOnline(online);
  const ofToken = [
    isTrial && developmentSentence,
    ...detailsOf(subject, judgement, trust),
    qualification && qualifiedSentence(qualification),
    qualification && laterStatusSentence(qualification.listed),
    qualification?.isClaimedByToken && 'the token itself says that it is qualified; this is the claim of its provider',
    shownNotChecked.length > 0 && `not checked: ${withMilliseconds(shownNotChecked.join('; '))}`,
    answer && `the service says: ${isValid ? answer : `${answer.replace(/\.$/, '')} (this proves nothing)`}`,
  ];
  return [...facts, ...(missing ? [missing] : ofToken), ...moreNotChecked.map((note) => `not checked: ${note}`)];
}

/** The name in the line: that of the file beside its stamp, or the shortened name on the command line. */
function nameShown(name: string, { input }: VerifySubject): string {
  if (input !== undefined && input !== name && input !== standardInput) return `${input} (by ${name})`;
  return name.length > 80 ? `${name.slice(0, 77)}...` : name;
}

/** Applies the answer of the service. The answer, or that there is none, counts only for what is valid here. */
function confirmedBy(online: OnlineAnswer | undefined, result: Result): Result {
  if (result.verdict !== 'valid' || online === undefined || (!(online instanceof CommandFailure) && online.valid)) return result;
  const code = online instanceof CommandFailure ? online.exitCode : exitCodes.notValid;
  return { ...result, sign: 'not_proved', code, word: 'not confirmed by the service' };
}

/** Merges the facts of several tokens: each certificate once with its worst status, each phrase once, and the earliest end. */
function tokensShown(tokens: readonly TokenShown[]): Pick<TokenShown, 'revocation' | 'certificates_ended_at' | 'not_checked'> {
  const answers = tokens.flatMap(({ revocation }) => revocation);
  const worstLast = (['good', 'unknown', 'revoked'] as const).flatMap((each) => answers.filter(({ status }) => status === each));
  return {
    revocation: [...new Map([...answers, ...worstLast].map((answer) => [answer.sha256, answer])).values()],
    certificates_ended_at: tokens.flatMap(({ certificates_ended_at: end }) => end ?? []).sort()[0] ?? null,
    not_checked: [...new Set(tokens.flatMap((shown) => shown.not_checked))],
  };
}

/** The phrases for entries that were not read. The list is limited, because other programs may have renewed a container a hundred times. */
function unreadText(entries: readonly string[]): readonly string[] {
  const named = entries.slice(0, 6).map((entry) => `${entry} in the container`);
  return entries.length > named.length ? [...named, `${entries.length - named.length} more of its entries`] : named;
}

const reasonText = (reason: SubjectJudgement['reason']): string | null => {
  if (reason === undefined) return null;
  return reason === 'no_token' ? 'no_token: There is no token to verify here.' : reasonOf(reason);
};

const endOf = ({ holdsUntil }: VerifiedEvidenceRecord): string => holdsUntil.toISOString().replace('.000Z', 'Z');

function headline({ input }: VerifySubject, { verdict, stated }: SubjectJudgement, reason: string | null, what?: string): string {
  if (verdict === 'not_valid') return `NOT VALID, ${reason}`;
  if (verdict === 'not_proved' || stated === undefined) return `NOT PROVED, ${reason}`;
  const existing = what ?? (input === undefined ? contentOf(stated) : undefined);
  return `valid, ${existing === undefined ? '' : `${existing} `}existed at ${timeOf(stated)}`;
}

export const isDevelopment = ({ policy }: Verified): boolean => policy === developmentPolicy;

const timeOf = ({ genTimeText }: Verified): string => withMilliseconds(rfc3339Of(genTimeText));

function contentOf(stated: Verified): string {
  const { algorithm, digest } = hexImprintOf(stated);
  return `content with the ${hashNameOf(algorithm)} ${digest}`;
}

/** The lines about the token: who signed it, and who must be trusted; or what to do about a fault. */
function detailsOf({ record, input, token }: VerifySubject, judgement: SubjectJudgement, trust: TrustStore): readonly Line[] {
  const { verdict, reason, stated, isTokenProved, isTrustedByList, online } = judgement;
  if (reason === 'imprint_mismatch' || reason === 'evidence_imprint_missing') {
    const byToken = stated && `stamped at ${timeOf(stated)}${isTokenProved ? '' : ', as its token says'}`;
    const when = byToken ?? (record ? `${describeStampRecord(record)}, as its record says` : 'stamped');
    const mayBeOfBatch = token !== undefined && !isEvidenceRecord(token);
    const orBatch = mayBeOfBatch ? ', or this is the token of a batch: use the .ers file' : '';
    return [`the file has changed since it was ${when}, or is a different file${orBatch}`];
  }
  if (reason === 'mock_not_rfc3161') {
    const why = 'only its own service can verify a stamp of the mock provider';
    return [{ command: `${why}; --online asks it`, tool: why }];
  }
  if (reason === 'no_token') return [!online && { command: '--online asks the service for it' }];
  const advice = reason && adviceOf(reason);
  if (advice !== undefined) return [advice];
  const last = stated && trust.certificateOf(stated.chain.at(-1)!.der);
  if (stated === undefined || last === undefined) return [];
  const { accuracy_seconds: accuracy } = tokenShown(stated);
  const signed = `signed by ${stated.signer.subject}, policy ${stated.policy}${accuracy === null ? '' : `, accurate to ${accuracy} s`}`;
  const fingerprint = `SHA-256 ${readableFingerprint(last.fingerprint)}`;
  if (verdict === 'valid') {
    const { record } = stated;
    return [
      signed,
      `${isTrustedByList ? 'trusted as a service of the trusted list:' : 'trust anchor'} ${readableName(last.subject)}, ${fingerprint}`,
      record &&
        `an evidence record with ${countOf(record.tokens.length - 1, 'renewal')}, to be renewed before ${withMilliseconds(endOf(record))}`,
    ];
  }
  return [
    `it says: ${input === undefined ? contentOf(stated) : 'this content'} existed at ${timeOf(stated)}; ${signed}`,
    isSameName(last.subject, last.issuer)
      ? `its chain leads to the root ${readableName(last.subject)} (${fingerprint})`
      : `its chain ends at ${readableName(last.subject)} (${fingerprint}); its issuer ${readableName(last.issuer)} is not in the token`,
    {
      command:
        'get the root certificate from the authority and compare its fingerprint with the published one; then "qstamp trust add FILE" or --ca FILE',
      tool:
        'ask your user to get the root certificate (root.pem) from the time-stamping authority, and not from the sender of the file; ' +
        'to compare its fingerprint with the published one; and to run: npx qstamp trust add root.pem',
    },
  ];
}

function describeOnline(online: OnlineAnswer): string {
  if (online instanceof CommandFailure) return `nothing (${online.message})`;
  const { verdict, valid, issued_at, tsp_provider, is_qualified, reason } = online;
  if (!valid) return `${verdict === 'not_proved' ? 'NOT PROVED' : 'NOT VALID'}, ${reason ?? 'no reason given'}`;
  const from = [tsp_provider, is_qualified ? 'qualified' : 'not qualified'].filter(Boolean).join(', ');
  return `valid, existed at ${withMilliseconds(String(issued_at))} (${from})`;
}

/**
 * The verdict on a file and its Merkle proof. The token covers the closing record, but the result is about the file. The place of the file in a
 * workflow is only a claim: anyone can write a closing record and have its hash stamped.
 */
export function outputResult(name: string, { judgement, sha256, proof }: OutputJudgement, trust: TrustStore): Result {
  const { closing_record: seal, sequence_number } = proof;
  const record = judgement.verdict === 'valid' ? seal?.record : undefined;
  const claimed = record ? { workflow_id: record.workflow_id, sequence_number, output_count: record.output_count } : null;
  return verdictResult(name, { input: name, stampId: seal?.stamp.stamp_id }, judgement, trust, {
    facts: [record && `a record stamped then says: output ${sequence_number} of ${record.output_count} of workflow ${proof.workflow_id}`],
    json: { imprint: sha256Imprint(sha256), content_sha256: sha256, claimed },
  });
}

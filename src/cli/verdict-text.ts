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
import { imprintOf, rfc3339Of, type ToldToken, toldToken } from '../shared/domain/token.ts';
import {
  type Certificate,
  isEvidenceRecord,
  isSameName,
  type TrustStore,
  type Verified,
  type VerifiedEvidenceRecord,
} from '../shared/rfc3161/index.ts';
import { readableFingerprint, readableName } from './anchors.ts';
import { CommandFailure, type ExitCode, exitCodes } from './failure.ts';
import type { OnlineAnswer, OutputJudgement, SubjectJudgement } from './judge.ts';
import { standardInput } from './local-files.ts';
import type { VerifySubject } from './operands.ts';
import { describeStampRecord } from './records.ts';
import { countOf, withMilliseconds } from './terminal.ts';

/** A verdict for output: one line of JSON for programs, `line` and `details` for people. */
export interface ToldVerdict {
  readonly json: object;
  readonly line: string;
  readonly details: readonly string[];
  readonly verdict: Verdict;
  /**
   * The verdict for the sign before the line. A valid time-stamp does not look like a proof if it is for trials, or if the service does not confirm
   * it.
   */
  readonly sign: Verdict;
  readonly code: ExitCode;
  /** The verdict for the summary. */
  readonly word: string;
}

/** The exit code for a verdict. `reason`: its code. */
export function exitCodeOf(verdict: Verdict, reason: string | undefined): ExitCode {
  if (verdict === 'valid') return exitCodes.ok;
  return isUnjudged(reason) ? exitCodes.unjudged : exitCodes.notValid;
}

/** The verdicts in words, for a summary. */
const verdictWords: Readonly<Record<Verdict, string>> = { valid: 'valid', not_valid: 'not valid', not_proved: 'not proved' };

/**
 * Writes a verdict for output.
 *
 * @param name the name on the command line
 * @param others further tokens that the verdict depends on
 */
export function tellVerdict(
  name: string,
  subject: VerifySubject,
  judgement: SubjectJudgement,
  trust: TrustStore,
  others: readonly Verified[] = [],
): ToldVerdict {
  const { verdict, stated, online } = judgement;
  const qualification = verdict === 'not_valid' ? null : judgement.qualification;
  const lastDer = stated?.chain.at(-1)?.der;
  const last = lastDer && trust.certificateOf(lastDer);
  const told = stated && toldToken(stated);
  const together = toldTogether([...(told ? [told] : []), ...others.map(toldToken)]);
  const reason = reasonText(judgement.reason);
  const imprint = stated && imprintOf(stated);
  const isValid = verdict === 'valid';
  const time = stated === undefined ? null : rfc3339Of(stated.genTimeText);
  const end = told?.trust_anchor ?? null;
  const notChecked = [
    ...(subject.input === undefined ? ['a file: only the token was verified'] : []),
    ...unreadText(subject.unread ?? []),
    ...together.not_checked,
    ...(qualification?.notChecked ?? []),
  ];
  const shownNotChecked = isValid ? notChecked : (qualification?.notChecked ?? []);
  const json = {
    subject: name,
    verdict,
    valid: isValid,
    reason,
    issued_at: isValid ? time : null,
    claimed_at: isValid ? null : time,
    imprint: imprint ?? null,
    content_sha256: imprint?.algorithm === 'sha256' ? imprint.digest : null,
    // Only without an input the user gave the id on the command line. Any other id comes from a file and is only a claim.
    token_id: (subject.input === undefined && subject.stampId) || null,
    claimed_token_id: (subject.input !== undefined && subject.stampId) || null,
    signer: told?.signer ?? null,
    policy: told?.policy ?? null,
    accuracy_seconds: told?.accuracy_seconds ?? null,
    revocation: together.revocation,
    certificates_ended_at: together.certificates_ended_at,
    ...(stated?.record && { evidence_record: { tokens: stated.record.tokens.length, holds_until: endOf(stated.record) } }),
    ...(judgement.qualification !== undefined && { qualified: qualification ? qualifiedVerdictOf(qualification) : null }),
    trust_anchor: isValid ? end : null,
    chain_ends_at: isValid ? null : end,
    not_checked: notChecked,
    ...(online && { online: online instanceof CommandFailure ? { error: { message: online.message, ...online.details } } : online }),
  };
  const shortName = name.length > 80 ? `${name.slice(0, 77)}...` : name;
  const isFileBeside = subject.input !== undefined && subject.input !== name && subject.input !== standardInput;
  const judged = isFileBeside ? `${subject.input} (by ${name})` : shortName;
  const said = online ? describeOnline(online) : '';
  const isListed = qualification ? isQualified(qualification) : false;
  const isTrial = isValid && !isListed && [...(stated ? [stated] : []), ...others].some(isDevelopment);
  const details = [
    ...(isTrial ? [developmentSentence] : []),
    ...detailsOf(subject, judgement, last),
    ...qualifiedText(qualification),
    ...(shownNotChecked.length > 0 ? [`not checked: ${withMilliseconds(shownNotChecked.join('; '))}`] : []),
    ...(online ? [`the service says: ${isValid ? said : `${said.replace(/\.$/, '')} (this proves nothing)`}`] : []),
  ];
  const line = `${judged}: ${headline(subject, judgement, reason)}`;
  const result = toldVerdict({ json, line, details, verdict, isTrial, code: exitCodeOf(verdict, judgement.reason) });
  // The answer of the service, or that there is none, counts only for what is valid here.
  if (!isValid || online === undefined || (!(online instanceof CommandFailure) && online.valid)) return result;
  const code = online instanceof CommandFailure ? online.exitCode : exitCodes.notValid;
  return { ...result, sign: 'not_proved', code, word: 'not confirmed by the service' };
}

/** Completes a verdict for output. `isTrial`: its time-stamp is valid, but for trials. */
export function toldVerdict({
  isTrial = false,
  ...told
}: Omit<ToldVerdict, 'sign' | 'word'> & { readonly isTrial?: boolean }): ToldVerdict {
  return { ...told, sign: isTrial ? 'not_proved' : told.verdict, word: verdictWords[told.verdict] };
}

/** What trusted lists say, and what the token claims itself. */
function qualifiedText(qualification: Qualification | null | undefined): string[] {
  if (!qualification) return [];
  const { listed, isClaimedByToken } = qualification;
  return [
    qualifiedSentence(qualification),
    ...[laterStatusSentence(listed) ?? []].flat(),
    ...(isClaimedByToken ? ['the token itself says that it is qualified; this is the claim of its provider'] : []),
  ];
}

/** Merges the facts of several tokens: each certificate once with its worst status, each phrase once, and the earliest end. */
function toldTogether(tokens: readonly ToldToken[]): Pick<ToldToken, 'revocation' | 'certificates_ended_at' | 'not_checked'> {
  const answers = tokens.flatMap(({ revocation }) => revocation);
  const worstLast = (['good', 'unknown', 'revoked'] as const).flatMap((each) => answers.filter(({ status }) => status === each));
  return {
    revocation: [...new Map([...answers, ...worstLast].map((answer) => [answer.sha256, answer])).values()],
    certificates_ended_at: tokens.flatMap(({ certificates_ended_at: end }) => end ?? []).sort()[0] ?? null,
    not_checked: [...new Set(tokens.flatMap((told) => told.not_checked))],
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

function headline(subject: VerifySubject, { verdict, stated }: SubjectJudgement, reason: string | null): string {
  if (verdict === 'not_valid') return `NOT VALID, ${reason}`;
  if (verdict === 'not_proved' || stated === undefined) return `NOT PROVED, ${reason}`;
  const what = subject.input === undefined ? `content with the ${imprintText(stated)} ` : '';
  return `valid, ${what}existed at ${timeOf(stated)}`;
}

/** Whether the development TSA made a token. */
export const isDevelopment = ({ policy }: Verified): boolean => policy === developmentPolicy;

/** The time of a token for people. */
export const timeOf = ({ genTimeText }: Verified): string => withMilliseconds(rfc3339Of(genTimeText));

function imprintText(stated: Verified): string {
  const { algorithm, digest } = imprintOf(stated);
  return `${hashNameOf(algorithm)} ${digest}`;
}

function detailsOf(
  subject: VerifySubject,
  { verdict, reason, stated, isTokenProved, isTrustedByList, online }: SubjectJudgement,
  last: Certificate | undefined,
): string[] {
  const { record, input, token } = subject;
  if (reason === 'imprint_mismatch' || reason === 'evidence_imprint_missing') {
    const time = stated && timeOf(stated);
    const byToken = isTokenProved ? `stamped at ${time}` : `stamped at ${time}, as its token says`;
    const when = stated ? byToken : record ? `${describeStampRecord(record)}, as its record says` : 'stamped';
    const changed = `the file has changed since it was ${when}, or is a different file`;
    const mayBeOfBatch = token !== undefined && !isEvidenceRecord(token);
    return [mayBeOfBatch ? `${changed}, or this is the token of a batch: use the .ers file` : changed];
  }
  if (reason === 'mock_not_rfc3161') return ['only its own service can verify a stamp of the mock provider; --online asks it'];
  if (reason === 'no_token') return online ? [] : ['--online asks the service for it'];
  const advice = reason && adviceOf(reason);
  if (advice !== undefined) return [advice];
  if (stated === undefined || last === undefined) return [];
  const { accuracy_seconds: accuracy } = toldToken(stated);
  const signed = `signed by ${stated.signer.subject}, policy ${stated.policy}${accuracy === null ? '' : `, accurate to ${accuracy} s`}`;
  const fingerprint = `SHA-256 ${readableFingerprint(last.fingerprint)}`;
  const renewals =
    stated.record &&
    `an evidence record with ${countOf(stated.record.tokens.length - 1, 'renewal')}, to be renewed before ${withMilliseconds(endOf(stated.record))}`;
  const anchor = isTrustedByList ? 'trusted as a service of the trusted list:' : 'trust anchor';
  if (verdict === 'valid') return [signed, `${anchor} ${readableName(last.subject)}, ${fingerprint}`, ...(renewals ? [renewals] : [])];
  const isRoot = isSameName(last.subject, last.issuer);
  const what = input === undefined ? `content with the ${imprintText(stated)}` : 'this content';
  return [
    `it says: ${what} existed at ${timeOf(stated)}; ${signed}`,
    isRoot
      ? `its chain leads to the root ${readableName(last.subject)} (${fingerprint})`
      : `its chain ends at ${readableName(last.subject)} (${fingerprint}); its issuer ${readableName(last.issuer)} is not in the token`,
    'get the root certificate from the authority and compare its fingerprint with the published one; then "qstamp trust add FILE" or --ca FILE',
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
export function tellOutput(name: string, { judgement, sha256, proof }: OutputJudgement, trust: TrustStore): ToldVerdict {
  const record = proof.closing_record?.record;
  const subject = { input: name, stampId: proof.closing_record?.stamp.stamp_id };
  const told = tellVerdict(name, subject, judgement, trust);
  const isValid = judgement.verdict === 'valid';
  const place = `a record stamped then says: output ${proof.sequence_number} of ${record?.output_count} of workflow ${proof.workflow_id}`;
  const claimed =
    isValid && record
      ? { workflow_id: record.workflow_id, sequence_number: proof.sequence_number, output_count: record.output_count }
      : null;
  return {
    ...told,
    json: { ...told.json, imprint: sha256Imprint(sha256), content_sha256: sha256, claimed },
    details: [...(isValid ? [place] : []), ...told.details],
  };
}

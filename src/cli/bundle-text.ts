import { qualifiedVerdictOf } from '../shared/contract/verify.ts';
import { developmentSentence, qualifiedSentence } from '../shared/domain/qualification.ts';
import { isUnjudged, type ReasonCode, reasonOf, type Verdict } from '../shared/domain/reasons.ts';
import { certificateShown, rfc3339Of, tokenShown } from '../shared/domain/token.ts';
import { BundleFault } from '../shared/proof/bundle.js';
import type * as proof from '../shared/proof/judge-bundle.js';
import { bundleVerdictOf, StampRefused } from '../shared/proof/judge-bundle.js';
import type { TrustStore, Verified } from '../shared/rfc3161/index.ts';
import type { SubjectJudgement, TokenVerdict } from './judge.ts';
import { countOf, withMilliseconds } from './terminal.ts';
import { isDevelopment, type Result, resultOf, verdictResult } from './verdict-text.ts';

export type BundleJudgement = proof.BundleJudgement<TokenVerdict>;

export function brokenBundleResult(name: string, fault: BundleFault | StampRefused): Result {
  const reason = fault instanceof BundleFault ? `${fault.code}: ${fault.message}` : reasonOf(fault.code as ReasonCode);
  return resultOf({
    json: { file: name, verdict: 'not_valid', valid: false, reason, issued_at: null, not_checked: [] },
    line: `${name}: NOT VALID, ${reason}`,
    details: [fault instanceof StampRefused && `of ${fault.what}`],
    verdict: 'not_valid',
  });
}

/** The author of a bundle can write anything there, so it is listed as not checked. */
const unsignedNote = 'output types, stamp ids and README.txt: no signature covers them';

function ownNotes({ notProved, none }: BundleJudgement['own']): string[] {
  const note = (count: number, why: string) => (count > 0 ? [`the own time-stamps of ${countOf(count, 'output')}: ${why}`] : []);
  return [
    ...note(notProved, 'you trust no certificate that confirms them, or they could not be checked'),
    ...note(none, 'there is none in this bundle'),
  ];
}

/**
 * The result for a bundle: the outputs existed at the time of the root's stamp. The list of unchecked facts is for root and closing record together.
 * The facts in the closing record are only claims: anyone can write a record and have it stamped.
 */
export function bundleResult(name: string, judgement: BundleJudgement, trust: TrustStore, moreNotes: readonly string[]): Result {
  const { record, root, closing, own } = judgement;
  const { verdict, missing, reason } = bundleVerdictOf(judgement);
  const isValid = verdict === 'valid';
  const token = closing?.stated;
  const closedAt = token ? rfc3339Of(token.genTimeText) : null;
  const signer = token ? certificateShown(token.signer) : null;
  const confirmed = `e-mail address ${record.confirmed_at === null ? 'not confirmed' : `confirmed ${record.confirmed_at}`}`;
  const claims = `workflow ${record.workflow_id}, tier ${record.tier}, started ${record.created_at}, ${confirmed}, completed ${record.completed_at}`;
  // Root and closing record are stamped within minutes, so the lists usually say the same about both.
  const [ofRoot, ofClosing] = [root, closing].map((one) => one?.qualification && qualifiedSentence(one.qualification));
  const ofSeals: SubjectJudgement = { ...root, stated: root?.stated, verdict, reason };
  return verdictResult(name, { input: name }, ofSeals, trust, {
    others: token && [token],
    what: `${countOf(record.output_count, 'output')} in this order`,
    facts: [
      isValid && withMilliseconds(`a record stamped at ${closedAt} says: ${claims}`),
      ofClosing !== ofRoot && ofClosing && `the time-stamp of the closing record: ${ofClosing}`,
      signer && signer.sha256 !== root?.stated?.signer.fingerprint && `closing record signed by ${signer.subject}`,
    ],
    missing: reason === 'no_token' && `this bundle has no time-stamp of ${missing}`,
    notChecked: [...(closing?.qualification?.notChecked ?? []), ...ownNotes(own), unsignedNote, ...moreNotes],
    json: {
      claimed: isValid ? record : null,
      closing_record_issued_at: isValid ? closedAt : null,
      closing_record_signer: signer,
      ...(closing?.qualification !== undefined && {
        closing_record_qualified: closing.qualification && qualifiedVerdictOf(closing.qualification),
      }),
      own_stamps: { valid: own.valid, not_proved: own.notProved, none: own.none },
    },
  });
}

export interface SearchedBundle {
  readonly name: string;
  /** Undefined if the bundle does not verify. */
  readonly judgement: BundleJudgement | undefined;
}

interface BundlePlace {
  readonly bundle: string;
  readonly judgement: BundleJudgement;
  readonly outputs: readonly proof.FoundOutput<TokenVerdict>[];
  readonly isBriefing: boolean;
}

function placesOf(sha256: string, { name, judgement }: SearchedBundle): readonly BundlePlace[] {
  if (!judgement) return [];
  const outputs = judgement.found.get(sha256) ?? [];
  const isBriefing = judgement.record.briefing_hash === sha256;
  return outputs.length > 0 || isBriefing ? [{ bundle: name, judgement, outputs, isBriefing }] : [];
}

function placeText({ bundle, judgement, outputs, isBriefing }: BundlePlace): string {
  const numbers = outputs.map(({ sequenceNumber }) => sequenceNumber).join(', ');
  const asOutput = `output ${numbers} of ${judgement.record.output_count} in ${bundle}`;
  if (!isBriefing) return asOutput;
  return outputs.length > 0
    ? `${asOutput}, and the briefing, as the record says`
    : `the briefing in ${bundle}, as the record says, and not one of its outputs`;
}

/**
 * The token that proves the time of a file: for an output its own token or that of the root; for the briefing that of the closing record, which
 * contains the briefing's hash.
 */
const tokenOf = ({ judgement: { root, closing }, outputs: [output] }: BundlePlace): Verified | undefined =>
  output ? (output.stamp ?? root?.stated) : closing?.stated;

/** The JSON result for a file. Without `place` the file is in none of the bundles. */
function fileJson(path: string, sha256: string, verdict: Verdict, reason: string | null, place?: BundlePlace) {
  const isValid = verdict === 'valid';
  const token = place && tokenOf(place);
  const shown = token && tokenShown(token);
  const { workflow_id, output_count } = place?.judgement.record ?? {};
  return {
    file: path,
    verdict,
    valid: isValid,
    reason,
    issued_at: isValid && token ? rfc3339Of(token.genTimeText) : null,
    content_sha256: sha256,
    bundle: place?.bundle ?? null,
    sequence_numbers: place?.outputs.map(({ sequenceNumber }) => sequenceNumber) ?? [],
    is_briefing: place?.isBriefing ?? false,
    claimed: isValid ? { workflow_id, output_count } : null,
    ...(place && {
      signer: shown?.signer ?? null,
      revocation: shown?.revocation ?? [],
      certificates_ended_at: shown?.certificates_ended_at ?? null,
    }),
    not_checked: shown?.not_checked ?? [],
  };
}

function placeResult(path: string, sha256: string, place: BundlePlace): Result {
  const { verdict, reason: code } = bundleVerdictOf(place.judgement);
  const isValid = verdict === 'valid';
  const why = isUnjudged(code) ? 'A time-stamp of the bundle could not be checked.' : 'You trust no certificate that confirms the bundle.';
  const reason = isValid ? null : `bundle_not_proved: ${why}`;
  const json = fileJson(path, sha256, verdict, reason, place);
  const token = tokenOf(place);
  const isTrial = isValid && token !== undefined && isDevelopment(token);
  const headline = isValid ? `valid, existed at ${withMilliseconds(json.issued_at ?? '')}; ` : `NOT PROVED, ${reason} It would be `;
  const notChecked = isValid && json.not_checked.length > 0 && `not checked: ${withMilliseconds(json.not_checked.join('; '))}`;
  const details = [isTrial && developmentSentence, notChecked];
  return resultOf({ json, line: `${path}: ${headline}${placeText(place)}`, details, verdict, reason: code, isTrial });
}

export function notFoundResult(path: string, sha256: string, bundles: readonly SearchedBundle[]): Result {
  const broken = bundles.find(({ judgement }) => judgement === undefined);
  const reason = broken
    ? `bundle_not_valid: ${broken.name} is not valid, so it says nothing about this file.`
    : 'not_in_bundle: The file is neither an output nor the briefing of a workflow here, or it has changed.';
  const verdict = 'not_valid';
  return resultOf({ json: fileJson(path, sha256, verdict, reason), line: `${path}: NOT VALID, ${reason}`, verdict });
}

/** The results for a file: one for each bundle that proves it. If no bundle proves it, one for each bundle that contains its hash. */
export function foundResults(path: string, sha256: string, bundles: readonly SearchedBundle[]): readonly Result[] {
  const results = bundles.flatMap((bundle) => placesOf(sha256, bundle)).map((place) => placeResult(path, sha256, place));
  const valid = results.filter(({ verdict }) => verdict === 'valid');
  return valid.length > 0 ? valid : results;
}

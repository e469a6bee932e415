import { developmentPolicy, isQualified, notQualified, type Qualification } from '../domain/qualification.ts';
import { hasQualifiedStatement, type RecordToken, type Verified, type VerifiedToken } from '../rfc3161/index.ts';
import type { ListIndex } from './lists/index.ts';
import type { QualifiedSetting } from './providers-file.ts';

/**
 * Decides whether one verified token is qualified. Where a list knows the service, the list decides, whatever the providers file says. Otherwise the
 * operator's word counts, for tokens that lead to the trust anchors of qualified providers only.
 *
 * @param settings `qualified` of each configured provider whose trust anchors the token leads to
 * @param existedBy the earliest time at which another proof shows that the token existed: the time of the next token over it, or now
 */
export function qualificationOfToken(
  { chain, genTime, extensions, policy }: VerifiedToken,
  settings: readonly QualifiedSetting[],
  lists: ListIndex,
  existedBy: Date,
): Qualification {
  const isClaimedByToken = hasQualifiedStatement(extensions);
  const found = lists.judge(
    chain.map(({ der }) => der),
    genTime,
    existedBy,
  );
  if (found) {
    const { reason, listed, certificateEndedAt: end } = found;
    const ended = `whether the provider still guarded its key: its certificate on the trusted list expired at ${end}, before the time-stamp; the list still decides`;
    return {
      status: reason ? 'not_qualified' : 'qualified',
      basis: 'list',
      reason: reason ?? null,
      listed,
      isClaimedByToken,
      ...(end && { notChecked: [ended] }),
    };
  }
  if (policy === developmentPolicy) return notQualified('development_tsa', isClaimedByToken);
  if (settings.length > 0 && settings.every((qualified) => qualified === true)) {
    return { status: 'qualified', basis: 'operator', reason: null, listed: null, isClaimedByToken };
  }
  if (!lists.isEmpty) return notQualified('service_not_listed', isClaimedByToken);
  return notQualified(
    settings.every((qualified) => qualified === 'from_list') ? 'no_trusted_list' : 'provider_not_qualified',
    isClaimedByToken,
  );
}

/** Who is asked whether the tokens of some evidence are qualified. */
interface QualificationSources {
  readonly lists: ListIndex;
  /** `qualified` of each configured provider to which the first token belongs. */
  readonly ofFirst: readonly QualifiedSetting[];
  /** The same for a token of a renewal. */
  ofRenewal(token: RecordToken): readonly QualifiedSetting[];
  readonly now: Date;
}

/** Decides whether a token or a whole record is qualified, and adds what is unsure about the lists now. */
export function qualificationOfEvidence(verified: Verified, sources: QualificationSources): Qualification {
  const qualification = withoutDoubts(verified, sources);
  const doubts = sources.lists.doubtsAt(sources.now, qualification.listed);
  return doubts.length === 0 ? qualification : { ...qualification, notChecked: [...(qualification.notChecked ?? []), ...doubts] };
}

/**
 * Decides whether a token or a whole record is qualified (V12). A record is qualified if it does not depend on a token that is not. Cut before the
 * first renewal that is not qualified, or even earlier, it must be valid now.
 */
function withoutDoubts(verified: Verified, sources: QualificationSources): Qualification {
  const { lists, ofFirst, ofRenewal, now } = sources;
  const [first, ...renewals] = verified.record?.tokens ?? [];
  const existedBy = (next: VerifiedToken | undefined) => next?.genTime ?? now;
  const own = qualificationOfToken(verified, ofFirst, lists, existedBy(renewals[0]));
  if (!isQualified(own) || first === undefined || first.holdsAloneBy.length > 0) return own;
  for (const [i, token] of renewals.entries()) {
    if (!isQualified(qualificationOfToken(token, ofRenewal(token), lists, existedBy(renewals[i + 1])))) break;
    if (token.holdsAloneBy.length > 0) return own;
  }
  return { ...own, status: 'not_qualified', reason: 'later_time_stamp' };
}

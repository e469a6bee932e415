import { notQualified, type Qualification } from '../domain/qualification.ts';
import { hasQualifiedStatement, type Verified } from '../rfc3161/index.ts';
import type { ListIndex } from './lists/index.ts';
import type { QualifiedSetting } from './providers-file.ts';

/**
 * Decides whether one verified token is qualified. Where a list knows the service, the list decides, whatever the providers file says. Otherwise the
 * operator's word counts, for tokens that lead to the trust anchors of qualified providers only.
 *
 * @param settings `qualified` of each configured provider whose trust anchors the token leads to
 * @param existedBy when the token was first proved to exist otherwise than by its own word: the time of the next token over it, or now
 */
export function qualificationOf(
  { chain, genTime, extensions }: Verified,
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
    const { reason, listed } = found;
    return { status: reason ? 'not_qualified' : 'qualified', basis: 'list', reason: reason ?? null, listed, isClaimedByToken };
  }
  if (settings.length > 0 && settings.every((qualified) => qualified === true)) {
    return { status: 'qualified', basis: 'operator', reason: null, listed: null, isClaimedByToken };
  }
  if (!lists.isEmpty) return notQualified('service_not_listed', isClaimedByToken);
  return notQualified(settings.includes('from_list') ? 'no_trusted_list' : 'provider_not_qualified', isClaimedByToken);
}

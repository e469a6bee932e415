import { type ListedService, QUALIFICATION_REASONS, type Qualification, type QualificationReason } from './qualification.ts';

const countries = new Intl.DisplayNames('en', { type: 'region' });
/** Trusted lists name two countries by other codes than ISO 3166-1. */
const codesOfLists: Readonly<Record<string, string>> = { EL: 'GR', UK: 'GB' };

/** The English name of a country by its code in a trusted list; the code itself if it has none. */
export const countryText = (territory: string): string => countries.of(codesOfLists[territory] ?? territory) ?? territory;

/** The lists mean days as they begin in Brussels, such as 2016-06-30T22:00:00Z. */
const days = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'long', year: 'numeric', timeZone: 'Europe/Brussels' });

/** The day of a time: `1 July 2016`. */
const dayOf = (time: string): string => days.format(new Date(time));

/** The list as people name it: `Sweden’s trusted list no. 61`. */
const listText = ({ territory, listNumber }: ListedService): string => `${countryText(territory)}’s trusted list no. ${listNumber}`;

const serviceText = ({ serviceName, providerName }: ListedService): string => `the service “${serviceName}” of ${providerName}`;

type Said = Omit<Qualification, 'isClaimedByToken'>;

/** The sentence of `qualifiedSentence` in parts, for pages that link the words of the list. `list` is empty if the sentence names no list. */
interface QualifiedParts {
  readonly before: string;
  readonly list: string;
  readonly after: string;
}

/** One sentence that says whether a time-stamp is qualified, and who says so. Every page and every text uses it. */
export function qualifiedSentence(said: Said): string {
  const { before, list, after } = qualifiedParts(said);
  return before + list + after;
}

export function qualifiedParts(said: Said): QualifiedParts {
  const [before, after] = wordsOf(said);
  return { before, list: said.listed && after !== undefined ? listText(said.listed) : '', after: after ?? '' };
}

/** The words before and after those of the list; only the first if the sentence names no list. */
function wordsOf({ status, basis, reason, listed }: Said): readonly [before: string, after?: string] {
  if (status === 'qualified') {
    if (listed) return [`Qualified: ${serviceText(listed)} is listed in `, ` as granted since ${dayOf(String(listed.since))}.`];
    if (basis === 'list') return ['Qualified: a trusted list of the EU grants the service.'];
    return ['Qualified, as claimed by the operator of this service.'];
  }
  if (basis === 'list' && listed && reason) return faultOf(reason, listed);
  const isUnknown = reason === 'no_trusted_list' || reason === 'service_not_listed';
  return [`Not ${isUnknown ? 'known to be ' : ''}qualified. ${QUALIFICATION_REASONS[reason ?? 'provider_not_qualified']}`];
}

function faultOf(reason: QualificationReason, listed: ListedService): readonly [before: string, after?: string] {
  const service = serviceText(listed);
  const not = 'Not qualified: ';
  switch (reason) {
    case 'service_withdrawn':
      return [not, ` has ${service} as ${listed.status} since ${dayOf(String(listed.since))}.`];
    case 'service_not_yet_granted':
      return [not, ` does not have ${service} as granted at the time of the time-stamp yet.`];
    case 'service_other_type':
      return [not, ` has ${service}, but not for qualified time-stamps (its type is ${listed.type}).`];
    case 'service_other_key':
      return [not, ` names ${service}, but with another key.`];
    case 'list_expired':
      return [not, ' had expired at the time of the time-stamp, and no newer list was read.'];
    case 'before_eidas':
      return [`${not}it is older than 1 July 2016; there have been qualified time-stamps only since then.`];
    default:
      return [`${not}its evidence now rests on a later time-stamp that is not qualified.`];
  }
}

/** One more sentence if the status of the service differs at the first proof of existence; null if it does not. */
export function laterStatusSentence(listed: ListedService | null): string | null {
  if (!listed?.atProofOfExistence) return null;
  const { time, status, since } = listed.atProofOfExistence;
  const then = `On ${dayOf(time)}, when the time-stamp is first proved to exist by more than its own word, the list has the service as ${status} since ${dayOf(since)}`;
  return status === 'granted' ? `${then}.` : `${then}; the EU’s validation software (DSS) wants the service to be granted then too.`;
}

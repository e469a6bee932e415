import { type ListedService, QUALIFICATION_REASONS, type Qualification, type QualificationReason } from './qualification.ts';

const countries = new Intl.DisplayNames('en', { type: 'region' });
/** Trusted lists name two countries by other codes than ISO 3166-1. */
const codesOfLists: Readonly<Record<string, string>> = { EL: 'GR', UK: 'GB' };

/** The English name of a country by its code in a trusted list; the code itself if it has none. */
export const countryText = (territory: string): string => countries.of(codesOfLists[territory] ?? territory) ?? territory;

const months = 'January February March April May June July August September October November December'.split(' ');

/** The day of a time, in UTC: `1 July 2016`. */
function dayOf(time: string): string {
  const date = new Date(time);
  return `${date.getUTCDate()} ${months[date.getUTCMonth()]} ${date.getUTCFullYear()}`;
}

/** The list as people name it: `Sweden’s trusted list no. 61`. */
export const listText = ({ territory, listNumber }: Pick<ListedService, 'territory' | 'listNumber'>): string =>
  `${countryText(territory)}’s trusted list no. ${listNumber}`;

const serviceText = ({ serviceName, providerName }: ListedService): string => `the service “${serviceName}” of ${providerName}`;

/** One sentence that says whether a time-stamp is qualified, and who says so. Every page and every text uses it. */
export function qualifiedSentence({ status, basis, reason, listed }: Omit<Qualification, 'isClaimedByToken'>): string {
  if (status === 'qualified') {
    if (listed) return `Qualified: ${serviceText(listed)} is listed in ${listText(listed)} as granted since ${dayOf(listed.since ?? '')}.`;
    return 'Qualified, as claimed by the operator of this service. No trusted list that the service reads has the provider.';
  }
  if (basis === 'list' && listed && reason) return `Not qualified: ${listedFault(reason, listed)}`;
  return `Not qualified. ${QUALIFICATION_REASONS[reason ?? 'provider_not_qualified']}`;
}

function listedFault(reason: QualificationReason, listed: ListedService): string {
  const list = listText(listed);
  switch (reason) {
    case 'service_withdrawn':
      return `${list} has ${serviceText(listed)} as ${listed.status} since ${dayOf(listed.since ?? '')}.`;
    case 'service_not_yet_granted':
      return `${list} grants ${serviceText(listed)} only for a later time.`;
    case 'service_other_type':
      return `${list} has ${serviceText(listed)}, but not for qualified time-stamps (its type is ${listed.type}).`;
    case 'service_other_key':
      return `${list} has ${serviceText(listed)} under this name, but with another key.`;
    case 'list_expired':
      return `${list} had expired at the time of the time-stamp, and no newer list is in force yet.`;
    case 'before_eidas':
      return 'it is older than 1 July 2016; there have been qualified time-stamps only since then.';
    default:
      return `its evidence now rests on a later time-stamp that is not qualified. (${serviceText(listed)} itself is granted in ${list}.)`;
  }
}

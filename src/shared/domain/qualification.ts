import { filled, type Language, localeOf, type SentenceWords } from './language.ts';

/**
 * Whether a time-stamp is qualified (eIDAS, Article 3(34)), and who says so. The trusted list of the provider's country decides where it knows the
 * service. Where no list in force knows it, the operator of this installation may have said so (V12).
 */
export interface Qualification {
  readonly status: 'qualified' | 'not_qualified';
  /** Who says that it is qualified, or that it is not; null if nobody says anything about the provider. */
  readonly basis: QualificationBasis | null;
  /** Null if it is qualified. */
  readonly reason: QualificationReason | null;
  /** Only with the basis `list`. */
  readonly listed: ListedService | null;
  /** Whether the token itself says that it is qualified (EN 319 422 §9.1). It is the claim of the provider. */
  readonly isClaimedByToken: boolean;
  /** What the reader of a verdict should know about the lists, as phrases of `not_checked`. Undefined: nothing. */
  readonly notChecked?: readonly string[];
}

/** A service on a trusted list, at the time of a time-stamp. Times are RFC 3339 in UTC. */
export interface ListedService {
  /** The code of the country, as in the list. */
  readonly territory: string;
  readonly listNumber: number;
  /** SHA-256 of the list's file, in hexadecimal. */
  readonly listSha256: string;
  readonly providerName: string;
  readonly serviceName: string;
  /** Such as `TSA/QTST`. */
  readonly type: string;
  /** Such as `granted`; null if the service had no status yet. */
  readonly status: string | null;
  /** When this status began; null if there was none yet. */
  readonly since: string | null;
  /**
   * Only if it differs: the status at the earliest time at which another proof shows that the time-stamp existed. That is the time of the next
   * time-stamp over it, or now. DSS wants the service to be granted then too.
   */
  readonly atProofOfExistence: { readonly time: string; readonly status: string; readonly since: string } | null;
}

/** `list`: a trusted list says it. `operator`: the operator of this installation says it, and no trusted list in force knows the provider. */
export const qualificationBases = ['list', 'operator'] as const;
type QualificationBasis = (typeof qualificationBases)[number];

/** Why a time-stamp is not qualified. A code never changes its meaning. */
export const QUALIFICATION_REASONS = {
  mock_provider: 'The mock provider made it.',
  development_tsa: 'It is a development time-stamp, for trials: the operator holds the key.',
  provider_not_qualified: 'The operator of the service does not say that the provider is qualified.',
  no_trusted_list: 'No trusted list was read that could say so.',
  service_not_listed: 'None of the trusted lists that were read has the service that signed it.',
  service_other_key: 'A trusted list names the service, but with another key.',
  service_other_type: 'The trusted list has the service, but not as one for qualified time-stamps.',
  service_not_yet_granted: 'The trusted list does not have the service as granted at the time of the time-stamp yet.',
  service_withdrawn: 'The trusted list does not grant the service for the time of the time-stamp.',
  before_eidas: 'It is older than 1 July 2016; qualified time-stamps under eIDAS have existed only since then.',
  list_expired: 'The trusted list had expired at the time of the time-stamp, and no newer list was read.',
  later_time_stamp: 'Its evidence now rests on a later time-stamp that is not qualified.',
} as const;

export type QualificationReason = keyof typeof QUALIFICATION_REASONS;

export const qualificationReasons = Object.keys(QUALIFICATION_REASONS) as [QualificationReason, ...QualificationReason[]];

/** Whether a token is not qualified only until a trusted list is read. */
export const awaitsList = (reason: QualificationReason | null | undefined): boolean =>
  reason === 'no_trusted_list' || reason === 'list_expired';

export const isQualified = ({ status }: Qualification): boolean => status === 'qualified';

/** The policy of the development TSA. Its OID is from the arc for documentation and examples, so it promises nothing. */
export const developmentPolicy = '2.999.3161.1';

export { developmentSentence, meaningPath, notQualifiedSentence } from '../proof/verdict-words.js';

/** The kind of a time-stamp that is for trials, and proves nothing to a third party; null for all others. */
export function trialOf(qualification: Qualification | null): 'mock' | 'development' | null {
  if (qualification?.reason === 'mock_provider') return 'mock';
  return qualification?.reason === 'development_tsa' ? 'development' : null;
}

/** A time-stamp about which no list and no operator says that it is qualified. */
export const notQualified = (reason: QualificationReason, isClaimedByToken = false): Qualification => ({
  status: 'not_qualified',
  basis: null,
  reason,
  listed: null,
  isClaimedByToken,
});

/** Trusted lists name two countries by other codes than ISO 3166-1. */
const codesOfLists: Readonly<Record<string, string>> = { EL: 'GR', UK: 'GB' };

/** The name of a country by its code in a trusted list; the code itself if it has none. */
export const countryText = (territory: string, language = 'en'): string =>
  new Intl.DisplayNames(language, { type: 'region' }).of(codesOfLists[territory] ?? territory) ?? territory;

/** The lists mean days as they begin in Brussels, such as 2016-06-30T22:00:00Z. */
const dayOf = (time: string, language: Language): string =>
  new Date(time).toLocaleDateString(localeOf(language), { dateStyle: 'long', timeZone: 'Europe/Brussels' });

type Said = Omit<Qualification, 'isClaimedByToken'>;

/** One sentence that says whether a time-stamp is qualified, and who says so. Every page and every text uses it. */
export function qualifiedSentence(said: Said): string {
  const { text, list, values } = qualifiedWords(said);
  return filled({ text, values: { ...values, ...(list && { list: filled(list) }) } });
}

/** The sentence in words; `list` are those about the trusted list, which pages link. Values are written for readers of `language`. */
export function qualifiedWords(said: Said, language: Language = 'en'): SentenceWords & { readonly list?: SentenceWords } {
  const { listed } = said;
  const text = textOf(said);
  if (!listed || !text.includes('{list}')) return { text, values: {} };
  const { territory, listNumber, serviceName: service, providerName: provider, status, since, type } = listed;
  return {
    text,
    values: { service, provider, type, status: String(status), since: since === null ? '' : dayOf(since, language) },
    list: {
      text: '{country}’s trusted list no. {number}',
      values: { country: countryText(territory, language), number: String(listNumber) },
    },
  };
}

function textOf({ status, basis, reason, listed }: Said): string {
  if (status === 'qualified') {
    if (listed) return 'Qualified: the service “{service}” of {provider} is listed in {list} as granted since {since}.';
    if (basis === 'list') return 'Qualified: a trusted list of the EU grants the service.';
    return 'Claimed to be qualified: only the operator of this service says so.';
  }
  const sentence = QUALIFICATION_REASONS[reason ?? 'provider_not_qualified'];
  if (basis === 'list' && listed && reason)
    return aboutService[reason] ?? `Not qualified: ${sentence.charAt(0).toLowerCase()}${sentence.slice(1)}`;
  const isUnknown = reason === 'no_trusted_list' || reason === 'service_not_listed';
  return `Not ${isUnknown ? 'known to be ' : ''}qualified. ${sentence}`;
}

/** For a reason that is about one service of a list. */
const aboutService: Readonly<Partial<Record<QualificationReason, string>>> = {
  service_withdrawn: 'Not qualified: {list} has the service “{service}” of {provider} as {status} since {since}.',
  service_not_yet_granted:
    'Not qualified: {list} does not have the service “{service}” of {provider} as granted at the time of the time-stamp yet.',
  service_other_type:
    'Not qualified: {list} has the service “{service}” of {provider}, but not for qualified time-stamps (its type is {type}).',
  service_other_key: 'Not qualified: {list} names the service “{service}” of {provider}, but with another key.',
  list_expired: 'Not qualified: {list} had expired at the time of the time-stamp, and no newer list was read.',
};

/** One more sentence if the status of the service differs at the first proof of existence; null if it does not. */
export function laterStatusWords(listed: ListedService | null, language: Language = 'en'): SentenceWords | null {
  if (!listed?.atProofOfExistence) return null;
  const { time, status, since } = listed.atProofOfExistence;
  const values = { time: dayOf(time, language), status, since: dayOf(since, language) };
  if (status === 'granted') return { text: laterGranted, values };
  return { text: laterStatus, values };
}

export const laterStatusSentence = (listed: ListedService | null): string | null => {
  const words = laterStatusWords(listed);
  return words && filled(words);
};

const laterGranted =
  'On {time}, when the time-stamp is first proved to exist by more than its own word, the list has the service as {status} since {since}.';
const laterStatus =
  'On {time}, when the time-stamp is first proved to exist by more than its own word, the list has the service as {status} since {since}; the EU’s validation software (DSS) wants the service to be granted then too.';

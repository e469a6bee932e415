/** What a trusted list says (ETSI TS 119 612, list versions 5 and 6), and the reasons to refuse one. */
export interface TrustedList {
  /** SHA-256 of the file, in hexadecimal. */
  readonly sha256: string;
  /** TSLVersionIdentifier. */
  readonly version: number;
  readonly kind: 'list_of_lists' | 'country_list';
  /** SchemeTerritory: the code of the country, or `EU` for the list of lists. */
  readonly territory: string;
  readonly sequenceNumber: number;
  /** ISO 8601, UTC. */
  readonly issuedAt: string;
  /** ISO 8601, UTC; null if the scheme is closed and no update will come (clause 5.3.15). */
  readonly nextUpdate: string | null;
  /** SchemeOperatorName, in English if the list has it in English. */
  readonly operatorName: string;
  /** The certificate that signed the list, DER. */
  readonly signer: Uint8Array;
  /** OtherTSLPointer: the lists that this list names, and who signs them. */
  readonly pointers: readonly ListPointer[];
  /**
   * Only of the list of lists: for each announcement of its signers in the Official Journal, newest first, the older lists of lists (pivots) that
   * lead from the announced certificates to the signers of this list, oldest first.
   */
  readonly pivotChains: readonly (readonly string[])[];
  /** The services for time-stamps, in the order of the list. Services of other types are left out. */
  readonly timeStampingServices: readonly TimeStampingService[];
}

export interface ListPointer {
  readonly location: string;
  readonly territory: string;
  readonly kind: TrustedList['kind'];
  readonly mimeType: string;
  /** The certificates of the list's signers, DER. */
  readonly signers: readonly Uint8Array[];
}

export interface TimeStampingService {
  /** The trust service provider, in English if the list has it in English. */
  readonly providerName: string;
  /** The periods of the service: the current one, then its history, newest first. A period ends where the one before it in this list starts. */
  readonly periods: readonly ServicePeriod[];
  /** ServiceDigitalIdentity, which holds for all periods, DER. */
  readonly certificates: readonly Uint8Array[];
}

export interface ServicePeriod {
  /** ServiceTypeIdentifier without the address of ETSI before it, such as `TSA/QTST`. */
  readonly type: string;
  readonly name: string;
  /** ServiceStatus without the address of ETSI before it, such as `granted` or `withdrawn`. */
  readonly status: string;
  /** ISO 8601, UTC. */
  readonly since: string;
}

/** The member states of the EU, and of the EEA, whose lists the list of lists names too. `EL` is Greece. */
const memberStates = 'AT BE BG CY CZ DE DK EE EL ES FI FR HR HU IE IS IT LI LT LU LV MT NL NO PL PT RO SE SI SK'.split(' ');
/** SchemeTerritory of the list of lists. */
export const european = 'EU';
/** The EU's law ended in the United Kingdom at this moment. The list of lists still names its last list from before. */
const unitedKingdomEnd = '2020-12-31T23:00:00.000Z';

/** Whether a country has, or had, a trusted list under eIDAS. */
export const isTerritory = (territory: string): boolean => territory === 'UK' || memberStates.includes(territory);

/** Whether a list with this type, of this territory and time is one under eIDAS. */
export const isEuropean = ({ kind, territory, issuedAt }: Pick<TrustedList, 'kind' | 'territory' | 'issuedAt'>): boolean =>
  kind === 'list_of_lists' ? territory === european : isTerritory(territory) && (territory !== 'UK' || issuedAt < unitedKingdomEnd);

/** Until when a list says anything: its next update, or an earlier end of its scheme. Null: without end. */
export const lastUpdateOf = ({ territory, nextUpdate }: Pick<TrustedList, 'territory' | 'nextUpdate'>): string | null =>
  territory === 'UK' && (nextUpdate === null || nextUpdate > unitedKingdomEnd) ? unitedKingdomEnd : nextUpdate;

/** The largest list that is read. The largest real ones have about 6 MB. */
export const mostListBytes = 16 * 1024 * 1024;

/** Each code has one meaning and never changes it. */
export const LIST_FAULTS = {
  list_too_large: 'The file is larger than 16 MiB, or has more than a million tags.',
  list_malformed: 'The file is not a trusted list of version 5 or 6.',
  list_not_european: 'It is not a list of the EU: its type or its territory is not one of the EU’s.',
  list_has_dtd: 'The file has a document type declaration, which a trusted list must not have.',
  list_unsigned: 'The list has no signature.',
  list_several_signatures: 'The list has more than one signature.',
  list_signature_wrapped: 'The signature does not cover the list itself, or two elements share an id.',
  list_signature_unsupported: 'The signature uses a method outside the accepted profile, or one that is too weak.',
  list_comment_in_value: 'A value of the list has a comment or a processing instruction inside it.',
  list_wrong_signer: 'The list is not signed with a certificate that was named for it.',
  list_wrong_territory: 'The list is that of another country.',
  list_altered: 'The list was changed after it was signed.',
  list_pivot_broken: 'An older list of lists, which names the signers of the current one, is missing or refused.',
  list_number_fell: 'The sequence number is lower than that of the list in force.',
  list_number_reused: 'Another list of this territory has the same sequence number, but its content differs.',
  list_expired: 'A newer list was overdue when the list was fetched.',
  list_unreachable: 'The list could not be fetched.',
} as const;

export type ListFault = keyof typeof LIST_FAULTS;

export class ListRefusal extends Error {
  override readonly name = 'ListRefusal';
  readonly code: ListFault;
  readonly detail: string | undefined;

  /** @param detail what was found, in one sentence */
  constructor(code: ListFault, detail?: string) {
    super(`${code}: ${LIST_FAULTS[code]}${detail === undefined ? '' : ` ${detail}`}`);
    this.code = code;
    this.detail = detail;
  }
}

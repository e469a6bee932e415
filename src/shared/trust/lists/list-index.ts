import type { ListedService, QualificationReason } from '../../domain/qualification.ts';
import {
  type Certificate,
  certificatesIn,
  createTrustStore,
  isIssuerOf,
  isOfCa,
  isSameName,
  TrustMaterialError,
  type TrustStore,
  withRevocationLists,
} from '../../rfc3161/index.ts';
import { stateOf } from './choose-lists.ts';
import { lastUpdateOf, type ServicePeriod, type TimeStampingService, type TrustedList } from './trusted-list.ts';

/** A service of this type issues qualified time-stamps (ETSI TS 119 612 §5.5.1.1). */
const qualifiedType = 'TSA/QTST';
/** Since 1 July 2016, as the day begins in Brussels, there are qualified time-stamps (eIDAS, Article 52(2)). */
const eidasStart = '2016-06-30T22:00:00.000Z';

const longestChain = 8;

/** What the lists in force say about the signer of a time-stamp. */
export interface ListedJudgement {
  /** Undefined: qualified. */
  readonly reason: QualificationReason | undefined;
  readonly listed: ListedService;
  /** The end of the certificate on the list, if it was before genTime. RFC 3339. */
  readonly certificateEndedAt: string | null;
}

export type ListIndex = ReturnType<typeof createListIndex>;

interface Entry {
  readonly list: TrustedList;
  readonly service: TimeStampingService;
  readonly certificate: Certificate;
}

/**
 * Prepares the lists of countries among these lists for finding the service that signed a time-stamp. Services whose certificate cannot be read are left
 * out: they have signed no time-stamp that can be verified.
 *
 * @param older lists that decide about services that no list of `lists` knows, or that only an expired one knows
 */
export function createListIndex(lists: readonly TrustedList[], older: readonly TrustedList[] = []) {
  const groups = [lists, older].map((group) => group.filter(({ kind }) => kind === 'country_list'));
  const countries = groups.flat();
  const listOfLists = lists.find(({ kind }) => kind === 'list_of_lists');
  const isForQualified = ({ periods }: TimeStampingService) => periods.some(({ type }) => type === qualifiedType);
  const anchors = countries.flatMap(entriesOf).flatMap(({ service, certificate }) => (isForQualified(service) ? [certificate] : []));
  const { certificateOf } = createTrustStore({ anchors: [], namedKeys: anchors });
  const judges = groups.map((group) => judgeBy(group.flatMap(entriesOf)));
  const made = new WeakMap<TrustStore, TrustStore>();
  /** The trust stores for readers with the same certificates, who may have different revocation lists. */
  const shared = new WeakMap<TrustStore['certificates'], TrustStore>();
  return {
    isEmpty: countries.length === 0,
    /** The list of lists among them. */
    listOfLists: listOfLists ? { number: listOfLists.sequenceNumber, sha256: listOfLists.sha256 } : null,
    /**
     * The services for qualified time-stamps as trust anchors: names and keys. The certificates of `reader` help to build chains, and its revocation
     * lists count: the trusted lists have none.
     */
    trustWith: (reader: TrustStore): TrustStore => {
      const known = made.get(reader);
      if (known) return known;
      const { certificates } = reader;
      const withoutLists =
        shared.get(certificates) ??
        createTrustStore({ anchors: [], namedKeys: anchors, intermediates: certificates.map(({ der }) => der) });
      shared.set(certificates, withoutLists);
      const store = withRevocationLists(withoutLists, reader.crls);
      made.set(reader, store);
      return store;
    },
    /** What is unsure now about the list of lists, and about the list that has the service. */
    doubtsAt: (now: Date, listed: ListedService | null): readonly string[] => {
      const deciding = countries.find(({ sha256 }) => sha256 === listed?.listSha256);
      const isFuture = deciding && Date.parse(deciding.issuedAt) > now.getTime();
      return [
        ...(listOfLists ? doubtsAbout(listOfLists, now) : []),
        ...(isFuture
          ? [
              `whether list no. ${deciding.sequenceNumber} of ${deciding.territory} is in force: it is dated in the future, ${deciding.issuedAt}`,
            ]
          : []),
      ];
    },
    /**
     * Judges by the key and the name of the signer, or of a CA above it, which may also be above the end of the chain. A listed certificate that is
     * not that of a CA counts only for the signer itself. Returns undefined if no list knows any of them.
     *
     * @param chain DER, from the signer upwards
     * @param existedBy the earliest time at which another proof shows that the time-stamp existed
     */
    judge: (chain: readonly Buffer[], genTime: Date, existedBy: Date): ListedJudgement | undefined => {
      const certificates = chain.map((der) => certificateOf(der));
      const found = judges.flatMap((judge) => judge(certificates, genTime, existedBy) ?? []);
      const known = found.filter(({ reason }) => reason !== 'service_other_key');
      return known.find(({ reason }) => reason !== 'list_expired') ?? known[0] ?? found[0];
    },
  };
}

/** Judges a chain by the services on some lists. */
function judgeBy(entries: readonly Entry[]) {
  const byKey = Map.groupBy(entries, ({ certificate }) => keyOf(certificate));
  const cas = entries.map(({ certificate }) => certificate).filter(isOfCa);
  return (certificates: readonly Certificate[], genTime: Date, existedBy: Date): ListedJudgement | undefined => {
    const ofSubject = (one: Certificate) => (entry: Entry) => isSameName(entry.certificate.subject, one.subject);
    const entriesFor = (one: Certificate) =>
      (byKey.get(keyOf(one)) ?? []).filter((entry) => ofSubject(one)(entry) && (one === certificates[0] || isOfCa(entry.certificate)));
    /** Those whose certificate had not ended come first: then nothing is unsure. */
    const judgedBy = (some: readonly Certificate[]) =>
      some
        .flatMap(entriesFor)
        .map((entry) => judgeEntry(entry, genTime, existedBy))
        .toSorted((a, b) => Number(a.certificateEndedAt !== null) - Number(b.certificateEndedAt !== null));
    const isGrant = ({ reason }: ListedJudgement) => reason === undefined;
    const granted = judgedBy(certificates).find(isGrant);
    if (granted) return granted;
    const judged = judgedBy(continued(certificates, cas));
    if (judged.length > 0) return judged.find(isGrant) ?? judged[0];
    const namesake = certificates.flatMap((one) => entries.filter(ofSubject(one)))[0];
    return namesake && { ...judgeEntry(namesake, genTime, existedBy), reason: 'service_other_key' };
  };
}

function doubtsAbout({ sequenceNumber, issuedAt, nextUpdate }: TrustedList, now: Date): readonly string[] {
  const list = `the list of lists no. ${sequenceNumber}`;
  if (Date.parse(issuedAt) > now.getTime()) return [`whether ${list} is in force: it is dated in the future, ${issuedAt}`];
  if (stateOf(nextUpdate, now.getTime()) !== 'expired') return [];
  return [`whether other certificates may sign the trusted lists now: ${list} has expired, a newer one was due at ${nextUpdate}`];
}

/** Continues a chain with the listed CAs that certified its end. A configured trust anchor may be below the CA that a list grants. */
function continued(chain: readonly Certificate[], cas: readonly Certificate[]): readonly Certificate[] {
  const top = chain.at(-1);
  const isNew = (one: Certificate) => !chain.some(({ fingerprint }) => fingerprint === one.fingerprint);
  const above = top && chain.length < longestChain ? cas.find((one) => isNew(one) && isIssuerOf(one, top)) : undefined;
  return above ? continued([...chain, above], cas) : chain;
}

function judgeEntry({ list, service, certificate: { notAfterMs } }: Entry, genTime: Date, existedBy: Date): ListedJudgement {
  const time = genTime.toISOString();
  const period = periodAt(service.periods, time);
  const proved = periodAt(service.periods, existedBy.toISOString());
  const { name, type } = period ?? service.periods.at(-1)!;
  const differs = proved !== undefined && proved.status !== period?.status;
  return {
    reason: reasonNotQualified(list, service, period, time),
    certificateEndedAt: notAfterMs < genTime.getTime() ? new Date(notAfterMs).toISOString() : null,
    listed: {
      territory: list.territory,
      listNumber: list.sequenceNumber,
      listSha256: list.sha256,
      providerName: service.providerName,
      serviceName: name,
      type,
      status: period?.status ?? null,
      since: period ? firstOf(service.periods, period).since : null,
      atProofOfExistence: differs
        ? { time: existedBy.toISOString(), status: proved.status, since: firstOf(service.periods, proved).since }
        : null,
    },
  };
}

function reasonNotQualified(
  list: TrustedList,
  { periods }: TimeStampingService,
  period: ServicePeriod | undefined,
  time: string,
): QualificationReason | undefined {
  if (time < eidasStart) return 'before_eidas';
  if (!periods.some(({ type }) => type === qualifiedType)) return 'service_other_type';
  const end = lastUpdateOf(list);
  if (end !== null && time > end) return 'list_expired';
  if (period && isGranted(period)) return undefined;
  const wasGranted = periods.some((one) => isGranted(one) && one.since <= time);
  if (period === undefined || (!wasGranted && periods.some(isGranted))) return 'service_not_yet_granted';
  return period.type !== qualifiedType ? 'service_other_type' : 'service_withdrawn';
}

const isGranted = ({ type, status }: ServicePeriod): boolean => type === qualifiedType && status === 'granted';

/** Periods are in order, newest first. */
const periodAt = (periods: readonly ServicePeriod[], time: string): ServicePeriod | undefined => periods.find(({ since }) => since <= time);

/** A list begins a new period for every change, for example of a name. Returns the first of the periods before this one with the same status. */
function firstOf(periods: readonly ServicePeriod[], period: ServicePeriod): ServicePeriod {
  const older = periods.slice(periods.indexOf(period));
  const end = older.findIndex(({ type, status }) => type !== period.type || status !== period.status);
  return older.at(end === -1 ? -1 : end - 1)!;
}

const keyOf = ({ subjectPublicKeyInfo }: Certificate): string => subjectPublicKeyInfo.toString('latin1');

/** Parsing the thousand certificates of all countries takes 200 ms, so a list is parsed once. */
const knownEntries = new WeakMap<TrustedList, readonly Entry[]>();

function entriesOf(list: TrustedList): readonly Entry[] {
  const known = knownEntries.get(list);
  if (known) return known;
  const entries = list.timeStampingServices.flatMap((service) =>
    service.certificates.flatMap((der) => readable(der).map((certificate) => ({ list, service, certificate }))),
  );
  knownEntries.set(list, entries);
  return entries;
}

function readable(der: Uint8Array): readonly Certificate[] {
  try {
    return certificatesIn(der);
  } catch (error) {
    if (error instanceof TrustMaterialError) return [];
    throw error;
  }
}

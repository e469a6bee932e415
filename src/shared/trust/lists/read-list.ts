import { createHash } from 'node:crypto';
import type { XmlDocument, XmlElement } from 'libxml2-wasm';
import { rootName, type Signers, verifySignedXml } from './signed-xml.ts';
import {
  isEuropean,
  type ListPointer,
  ListRefusal,
  type ServicePeriod,
  type TimeStampingService,
  type TrustedList,
} from './trusted-list.ts';
import { elements, isElement, only, parseXml } from './xml.ts';

/** What the addresses of types and statuses begin with, now and before eIDAS. Others are kept as they are. */
const typeAddress = /^http:\/\/uri\.etsi\.org\/TrstSvc\/Svctype\//;
const statusAddress = /^http:\/\/uri\.etsi\.org\/TrstSvc\/(TrustedList|eSigDir-1999-93-EC-TrustedList)\/Svcstatus\//;
const versions = ['5', '6'];
/** The types of lists under eIDAS (ETSI TS 119 612 §5.3.3). Third countries have others, such as `CClist`. */
const kinds: ReadonlyMap<string, TrustedList['kind']> = new Map([
  ['http://uri.etsi.org/TrstSvc/TrustedList/TSLType/EUgeneric', 'country_list'],
  ['http://uri.etsi.org/TrstSvc/TrustedList/TSLType/EUlistofthelists', 'list_of_lists'],
]);
/** Announcements reset the pivots. There were five pivots from 2019 to 2026. */
const mostPivots = 32;
/** The addresses that the list of lists gives for announcements of its signers in the Official Journal. */
const officialJournal = /^https?:\/\/eur-lex\.europa\.eu\//;

/**
 * Reads a trusted list: verifies its signature, then reads what the signature covers, and nothing else.
 *
 * @throws ListRefusal
 */
export function readTrustedList(document: Uint8Array, signers: Signers): TrustedList {
  const { octets, signer } = verifySignedXml(document, signers);
  const xml = parseXml(octets);
  try {
    return { sha256: createHash('sha256').update(document).digest('hex'), signer, ...contentOf(xml) };
  } finally {
    xml.dispose();
  }
}

function contentOf(xml: XmlDocument): Omit<TrustedList, 'sha256' | 'signer'> {
  const { root } = xml;
  if (!isElement(root, 'tsl', rootName)) throw malformed('The root is another element.');
  const scheme = only(root, 'tsl:SchemeInformation', malformed);
  const version = textOf(scheme, 'tsl:TSLVersionIdentifier');
  if (!versions.includes(version)) throw malformed(`Its version is ${version}.`);
  const sequenceNumber = textOf(scheme, 'tsl:TSLSequenceNumber');
  if (!/^\d{1,9}$/.test(sequenceNumber)) throw malformed('The sequence number is not a number.');
  const nextUpdate = only(scheme, 'tsl:NextUpdate', malformed);
  const territory = territoryOf(scheme);
  const issuedAt = timeOf(scheme, 'tsl:ListIssueDateTime');
  const type = typeOfList(scheme);
  const kind = kinds.get(type);
  if (kind === undefined || !isEuropean({ kind, territory, issuedAt }))
    throw new ListRefusal('list_not_european', `It is of ${territory}, issued at ${issuedAt}, and of type ${type}.`);
  return {
    version: Number(version),
    kind,
    territory,
    sequenceNumber: Number(sequenceNumber),
    issuedAt,
    nextUpdate: nextUpdate.firstChild === null ? null : timeOf(nextUpdate, 'tsl:dateTime'),
    operatorName: nameOf(scheme, 'tsl:SchemeOperatorName'),
    pointers: elements(scheme, 'tsl:PointersToOtherTSL/tsl:OtherTSLPointer').flatMap(pointerOf),
    pivotChains: kind === 'list_of_lists' ? pivotChainsOf(scheme) : [],
    timeStampingServices: elements(root, 'tsl:TrustServiceProviderList/tsl:TrustServiceProvider').flatMap(timeStampingServicesOf),
  };
}

/** The list of lists names its pivots, newest first, above the announcement in the Official Journal that they follow. */
function pivotChainsOf(scheme: XmlElement): string[][] {
  const chains: string[][] = [];
  const pivots: string[] = [];
  for (const uri of elements(scheme, 'tsl:SchemeInformationURI/tsl:URI')) {
    const address = uri.content.trim();
    if (officialJournal.test(address)) chains.push([...pivots]);
    else if (address.endsWith('.xml')) pivots.unshift(address);
    if (pivots.length + chains.length > mostPivots) throw malformed(`It names more than ${mostPivots} pivots.`);
  }
  return chains.length > 0 ? chains : [pivots];
}

/** Returns nothing for a pointer to a list of another type. */
function pointerOf(pointer: XmlElement): readonly ListPointer[] {
  const information = 'tsl:AdditionalInformation/tsl:OtherInformation';
  const kind = kinds.get(typeOfList(pointer, `${information}/`));
  if (kind === undefined) return [];
  return [
    {
      location: textOf(pointer, 'tsl:TSLLocation'),
      territory: textOf(pointer, `${information}/tsl:SchemeTerritory`),
      kind,
      mimeType: textOf(pointer, `${information}/more:MimeType`),
      signers: certificatesOf(pointer, 'tsl:ServiceDigitalIdentities/tsl:ServiceDigitalIdentity'),
    },
  ];
}

function timeStampingServicesOf(provider: XmlElement): TimeStampingService[] {
  const providerName = nameOf(provider, 'tsl:TSPInformation/tsl:TSPName');
  return elements(provider, 'tsl:TSPServices/tsl:TSPService').flatMap((service) => {
    const current = only(service, 'tsl:ServiceInformation', malformed);
    const all = [current, ...elements(service, 'tsl:ServiceHistory/tsl:ServiceHistoryInstance')];
    if (!all.some((one) => /^TSA(\/|$)/.test(typeOf(one)))) return [];
    const [present, ...history] = all.map(periodOf) as [ServicePeriod, ...ServicePeriod[]];
    const periods = [present, ...history.sort((a, b) => b.since.localeCompare(a.since))];
    if (periods.some(({ since }) => since > present.since)) throw malformed(`The history of ${present.name} is newer than its status.`);
    return { providerName, periods, certificates: certificatesOf(current, 'tsl:ServiceDigitalIdentity') };
  });
}

const periodOf = (period: XmlElement): ServicePeriod => ({
  type: typeOf(period),
  name: nameOf(period, 'tsl:ServiceName'),
  status: textOf(period, 'tsl:ServiceStatus').replace(statusAddress, '').replace(/\/$/, ''),
  since: timeOf(period, 'tsl:StatusStartingTime'),
});

/** `http://uri.etsi.org/TrstSvc/Svctype/TSA/QTST` is `TSA/QTST`. */
const typeOf = (period: XmlElement): string => textOf(period, 'tsl:ServiceTypeIdentifier').replace(typeAddress, '').replace(/\/$/, '');

const typeOfList = (parent: XmlElement, path = ''): string => textOf(parent, `${path}tsl:TSLType`).replace(/\/$/, '');

function territoryOf(scheme: XmlElement): string {
  const territory = textOf(scheme, 'tsl:SchemeTerritory');
  if (!/^[A-Z]{2}$/.test(territory)) throw malformed('SchemeTerritory is not the code of a country.');
  return territory;
}

/** Names are given in several languages. English is taken if there, because every list must have it (clause 5.1.4). */
function nameOf(parent: XmlElement, path: string): string {
  const [name] = [...elements(parent, `${path}/tsl:Name[@xml:lang="en"]`), ...elements(parent, `${path}/tsl:Name`)];
  if (!name) throw malformed(`${path.replace(/.*:/, '')} is missing.`);
  return name.content.trim().replace(/\s+/g, ' ');
}

function textOf(parent: XmlElement, path: string): string {
  const element = only(parent, path, malformed);
  if (elements(element, '*').length > 0) throw malformed(`${element.name} is not a text.`);
  return element.content.trim();
}

function timeOf(parent: XmlElement, path: string): string {
  const text = textOf(parent, path);
  // V8 misreads fractions of more than nine digits.
  const time = Date.parse(text.replace(/(\.\d{3})\d+/, '$1'));
  const [, day = ''] = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.exec(text) ?? [];
  // `Date` takes 30 February for 2 March.
  const isDay = day !== '' && !Number.isNaN(time) && new Date(day).toISOString().startsWith(day);
  if (!isDay) throw malformed(`${path.replace(/.*:/, '')} is not a time with a time zone.`);
  return new Date(time).toISOString();
}

const certificatesOf = (parent: XmlElement, path: string): Buffer[] =>
  elements(parent, `${path}/tsl:DigitalId/tsl:X509Certificate`).map(({ content }) => Buffer.from(content, 'base64'));

const malformed = (detail: string) => new ListRefusal('list_malformed', detail);

import { createHash } from 'node:crypto';
import { type XmlDocument, XmlElement } from 'libxml2-wasm';
import { parseXml, rootName, type Signers, verifySignedXml } from './signed-xml.ts';
import { type ListPointer, ListRefusal, type ServicePeriod, type TimeStampingService, type TrustedList } from './trusted-list.ts';

const namespaces = {
  tsl: 'http://uri.etsi.org/02231/v2#',
  more: 'http://uri.etsi.org/02231/v2/additionaltypes#',
};
const versions = ['5', '6'];
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
  if (root.name !== rootName || root.namespaceUri !== namespaces.tsl) throw malformed('The root is another element.');
  const [scheme] = elements(root, 'tsl:SchemeInformation');
  if (!scheme) throw malformed('SchemeInformation is missing.');
  const version = textOf(scheme, 'tsl:TSLVersionIdentifier');
  if (!versions.includes(version)) throw malformed(`Its version is ${version}.`);
  const sequenceNumber = textOf(scheme, 'tsl:TSLSequenceNumber');
  if (!/^\d{1,9}$/.test(sequenceNumber)) throw malformed('The sequence number is not a number.');
  const [nextUpdate] = elements(scheme, 'tsl:NextUpdate');
  if (!nextUpdate) throw malformed('NextUpdate is missing.');
  return {
    version: Number(version),
    kind: kindOf(scheme),
    territory: territoryOf(scheme),
    sequenceNumber: Number(sequenceNumber),
    issuedAt: timeOf(scheme, 'tsl:ListIssueDateTime'),
    nextUpdate: elements(nextUpdate, '*').length === 0 ? null : timeOf(nextUpdate, 'tsl:dateTime'),
    operatorName: nameOf(scheme, 'tsl:SchemeOperatorName'),
    pointers: elements(scheme, 'tsl:PointersToOtherTSL/tsl:OtherTSLPointer').map(pointerOf),
    pivotChains: pivotChainsOf(elements(scheme, 'tsl:SchemeInformationURI/tsl:URI').map(({ content }) => content.trim())),
    timeStampingServices: elements(root, 'tsl:TrustServiceProviderList/tsl:TrustServiceProvider').flatMap(timeStampingServicesOf),
  };
}

/** The list of lists names its pivots, newest first, above the announcement in the Official Journal that they follow. */
function pivotChainsOf(addresses: readonly string[]): string[][] {
  const chains: string[][] = [];
  const pivots: string[] = [];
  for (const address of addresses) {
    if (officialJournal.test(address)) chains.push([...pivots]);
    else if (address.endsWith('.xml')) pivots.unshift(address);
  }
  return chains.length > 0 ? chains : [pivots];
}

function pointerOf(pointer: XmlElement): ListPointer {
  const information = 'tsl:AdditionalInformation/tsl:OtherInformation';
  return {
    location: textOf(pointer, 'tsl:TSLLocation'),
    territory: textOf(pointer, `${information}/tsl:SchemeTerritory`),
    kind: kindOf(pointer, `${information}/`),
    mimeType: textOf(pointer, `${information}/more:MimeType`),
    signers: certificatesOf(pointer, 'tsl:ServiceDigitalIdentities/tsl:ServiceDigitalIdentity'),
  };
}

function timeStampingServicesOf(provider: XmlElement): TimeStampingService[] {
  const providerName = nameOf(provider, 'tsl:TSPInformation/tsl:TSPName');
  return elements(provider, 'tsl:TSPServices/tsl:TSPService').flatMap((service) => {
    const [current] = elements(service, 'tsl:ServiceInformation');
    if (!current) throw malformed(`A service of ${providerName} has no ServiceInformation.`);
    const all = [current, ...elements(service, 'tsl:ServiceHistory/tsl:ServiceHistoryInstance')];
    if (!all.some((one) => /^TSA(\/|$)/.test(typeOf(one)))) return [];
    const identity = 'tsl:ServiceDigitalIdentity';
    return {
      providerName,
      periods: all.map(periodOf).sort((a, b) => b.since.localeCompare(a.since)),
      certificates: certificatesOf(current, identity),
      subjectNames: elements(current, `${identity}/tsl:DigitalId/tsl:X509SubjectName`).map(({ content }) => content.trim()),
    };
  });
}

const periodOf = (period: XmlElement): ServicePeriod => ({
  type: typeOf(period),
  name: nameOf(period, 'tsl:ServiceName'),
  status: textOf(period, 'tsl:ServiceStatus').replace(/\/$/, '').replace(/.*\//, ''),
  since: timeOf(period, 'tsl:StatusStartingTime'),
});

/** `http://uri.etsi.org/TrstSvc/Svctype/TSA/QTST` is `TSA/QTST`. */
const typeOf = (period: XmlElement): string =>
  textOf(period, 'tsl:ServiceTypeIdentifier')
    .replace(/\/$/, '')
    .replace(/.*\/Svctype\//i, '');

const kindOf = (parent: XmlElement, path = ''): TrustedList['kind'] =>
  /listofthelists$/i.test(textOf(parent, `${path}tsl:TSLType`)) ? 'list_of_lists' : 'country_list';

function territoryOf(scheme: XmlElement): string {
  const territory = textOf(scheme, 'tsl:SchemeTerritory');
  if (!/^[A-Z]{2}$/.test(territory)) throw malformed('SchemeTerritory is not the code of a country.');
  return territory;
}

/** Names are given in several languages. English is taken if there, because every list must have it (clause 5.1.4). */
function nameOf(parent: XmlElement, path: string): string {
  const [name] = [...elements(parent, `${path}/tsl:Name[@xml:lang="en"]`), ...elements(parent, `${path}/tsl:Name`)];
  if (!name) throw malformed(`${lastOf(path)} is missing.`);
  return name.content.trim().replace(/\s+/g, ' ');
}

function textOf(parent: XmlElement, path: string): string {
  const [found] = elements(parent, path);
  if (!found) throw malformed(`${lastOf(path)} is missing.`);
  return found.content.trim();
}

function timeOf(parent: XmlElement, path: string): string {
  const text = textOf(parent, path);
  const time = Date.parse(text);
  const [, day = ''] = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.exec(text) ?? [];
  // `Date` takes 30 February for 2 March.
  const isDay = day !== '' && !Number.isNaN(time) && new Date(day).toISOString().startsWith(day);
  if (!isDay) throw malformed(`${lastOf(path)} is not a time with a time zone.`);
  return new Date(time).toISOString();
}

const certificatesOf = (parent: XmlElement, path: string): Buffer[] =>
  elements(parent, `${path}/tsl:DigitalId/tsl:X509Certificate`).map(({ content }) => Buffer.from(content, 'base64'));

const elements = (parent: XmlElement, path: string): XmlElement[] =>
  parent.find(path, namespaces).filter((node) => node instanceof XmlElement);

const lastOf = (path: string): string => path.replace(/.*:/, '');

const malformed = (detail: string) => new ListRefusal('list_malformed', detail);

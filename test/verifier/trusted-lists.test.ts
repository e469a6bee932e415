import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { SCHEMES } from '../../src/shared/rfc3161/issue/sign.ts';
import { readTrustedList } from '../../src/shared/trust/lists/read-list.ts';
import { ListRefusal } from '../../src/shared/trust/lists/trusted-list.ts';
import { hostileLists, type ListCase } from '../support/hostile-lists.ts';
import { keys, lab } from '../support/signature-lab.ts';
import { type ListedService, type ListOptions, makeListSigner, makeTrustedList, OFFICIAL_JOURNAL } from '../support/trusted-lists.ts';

/** `taken`, or the code of the refusal. */
function answerTo({ document, signers }: Pick<ListCase, 'document' | 'signers'>): string {
  try {
    readTrustedList(document, signers);
    return 'taken';
  } catch (error) {
    if (error instanceof ListRefusal) return error.code;
    throw error;
  }
}

const signer = makeListSigner(keys['p-256'], SCHEMES.ecdsaSha256, 'ecdsa-sha256');
const read = (options: ListOptions) => readTrustedList(makeTrustedList({ signed: signer, ...options }), [signer.certificate]);

const service = (changes: Partial<ListedService> = {}): ListedService => ({
  type: 'TSA/QTST',
  name: 'Time-stamps',
  status: 'granted',
  since: '2020-01-01T00:00:00Z',
  ...changes,
});
const servicesOf = (...services: ListedService[]) => read({ providers: [{ name: 'Provider', services }] }).timeStampingServices;

describe('the signature of a trusted list', async () => {
  it.each(hostileLists())('$code: $name', (one) => {
    expect(answerTo(one)).toBe(one.code);
  });

  it('can be checked with the embedded certificate', () => {
    const document = makeTrustedList({ signed: signer });
    expect(Buffer.from(readTrustedList(document, 'embedded').signer)).toEqual(signer.certificate);
    expect(() => readTrustedList(Buffer.from(document.toString().replace('>SE<', '>XX<')), 'embedded')).toThrow('list_altered');
  });
});

describe('only lists of the EU are read', () => {
  const beforeSigning = (xml: string) => xml.replace('TSLType/EUgeneric', 'TSLType/CClist');
  const endOfUk = { territory: 'UK', issuedAt: '2020-12-31T22:59:59Z' };
  const countries = 'AT BE BG CY CZ DE DK EE EL ES FI FR HR HU IE IS IT LI LT LU LV MT NL NO PL PT RO SE SI SK'.split(' ');

  it.each<[string, ListOptions]>([
    ...countries.map((territory): [string, ListOptions] => [territory, { territory }]),
    ['the list of lists', { kind: 'list_of_lists', territory: 'EU' }],
    ['the last list of the United Kingdom', { ...endOfUk, nextUpdate: null }],
  ])('%s', (_, options) => {
    expect(read(options).territory).toBe(options.territory);
  });

  it.each<[string, ListOptions]>([
    ['a third country', { territory: 'UA' }],
    ['Greece by its ISO code', { territory: 'GR' }],
    ['a later list of the United Kingdom', { ...endOfUk, issuedAt: '2020-12-31T23:00:00Z' }],
    ['a list of a country that names the EU', { territory: 'EU' }],
    ['a list of lists of a country', { kind: 'list_of_lists', territory: 'SE' }],
    ['a list of lists of a third country', { kind: 'list_of_lists', territory: 'PE' }],
    ['another type', { beforeSigning }],
    ['another list of lists', { kind: 'list_of_lists', beforeSigning: (xml) => xml.replace('TSLType/EUlist', 'TSLType/CClist') }],
    ['a type of another place', { beforeSigning: (xml) => xml.replace('http://uri.etsi.org/TrstSvc/TrustedList/TSLType/', 'urn:x/') }],
  ])('not: %s', (_, options) => {
    expect(() => read(options)).toThrow('list_not_european');
  });

  it('leaves out pointers to lists of another type', () => {
    const pointers = [{ territory: 'ZZ', location: 'https://lists.example/zz.xml', signers: [] }];
    const { pointers: found } = read({ kind: 'list_of_lists', pointers, beforeSigning });
    expect(found).toEqual([]);
  });
});

describe('what a trusted list says', () => {
  it('has a number, a territory, a signer and times in UTC', () => {
    const said = { version: 6, territory: 'AT', sequenceNumber: 42, nextUpdate: '2027-04-30T12:00:00.000Z' };
    const document = makeTrustedList({ ...said, issuedAt: '2026-11-01T01:30:00+01:00', signed: signer });
    expect(readTrustedList(document, [signer.certificate])).toMatchObject({
      ...said,
      sha256: createHash('sha256').update(document).digest('hex'),
      kind: 'country_list',
      issuedAt: '2026-11-01T00:30:00.000Z',
      operatorName: 'Office of Tests',
      signer: signer.certificate,
      ...{ pointers: [], timeStampingServices: [] },
    });
  });

  it('has names in English, or in the first language if there is no English', () => {
    const name = { fr: 'Prestataire', de: 'Anbieter' };
    const services = [service({ name: { el: 'Χρονοσφραγίδες', en: 'Time-stamps' } })];
    const operatorName = { de: 'Amt für Prüfungen', en: 'Office of Tests & Trials' };
    const list = read({ operatorName, providers: [{ name, services }] });
    expect(list.operatorName).toBe('Office of Tests & Trials');
    expect(list.timeStampingServices).toMatchObject([{ providerName: 'Prestataire', periods: [{ name: 'Time-stamps' }] }]);
  });

  it('has the services for time-stamps of all providers, in order, and no others', () => {
    const types = ['CA/QC', 'TSA', 'TSA/QTST', 'TSA/TSS-QC', 'TSA/TSS-AdESQCandQES', 'TSAlike', 'Certstatus/OCSP/QC', 'unspecified'];
    const services = types.map((type) => service({ type, history: [service({ type: 'unspecified', since: '2016-07-01T00:00:00Z' })] }));
    const providers = [
      { name: 'First', services },
      { name: 'Second', services: [service()] },
    ];
    const found = read({ providers }).timeStampingServices;
    expect(found.map(({ providerName, periods }) => `${providerName} ${periods[0]?.type}`)).toEqual([
      'First TSA',
      'First TSA/QTST',
      'First TSA/TSS-QC',
      'First TSA/TSS-AdESQCandQES',
      'Second TSA/QTST',
    ]);
  });

  it('has the periods of a service, newest first, also if the list has another order', () => {
    const old = service({ type: 'TSA/TSS-QC', status: 'undersupervision', since: '2014-05-01T00:00:00Z' });
    const granted = service({ since: '2016-07-01T00:00:00Z', name: 'Old name' });
    const withdrawn = service({ status: 'withdrawn', since: '2021-03-01T00:00:00Z' });
    const periods = [
      { type: 'TSA/QTST', name: 'Time-stamps', status: 'withdrawn', since: '2021-03-01T00:00:00.000Z' },
      { type: 'TSA/QTST', name: 'Old name', status: 'granted', since: '2016-07-01T00:00:00.000Z' },
      { type: 'TSA/TSS-QC', name: 'Time-stamps', status: 'undersupervision', since: '2014-05-01T00:00:00.000Z' },
    ];
    expect(servicesOf({ ...withdrawn, history: [granted, old] })).toMatchObject([{ periods }]);
    expect(servicesOf({ ...withdrawn, history: [old, granted] })).toMatchObject([{ periods }]);
  });

  it('has the certificates of a service; those in its history are not added', () => {
    const [current, earlier] = [lab.pki.signer.certificate, lab.signer().certificate];
    const history = [service({ certificates: [earlier], since: '2016-07-01T00:00:00Z' })];
    const [found] = servicesOf(service({ certificates: [current], history }));
    expect(found?.certificates.map((der) => Buffer.from(der))).toEqual([current]);
  });

  it('has the lists that a list of lists points to, with their signers', () => {
    const [first, second] = [lab.pki.signer.certificate, lab.pki.root.certificate];
    const pdf = { territory: 'AT', location: 'https://lists.example/at.pdf', signers: [], mimeType: 'application/pdf' };
    const { kind, pointers } = read({
      kind: 'list_of_lists',
      territory: 'EU',
      pointers: [
        { territory: 'EU', location: 'https://lists.example/eu.xml', kind: 'list_of_lists', signers: [second] },
        { territory: 'AT', location: 'https://lists.example/at.xml?a=1&b=2', signers: [first, second] },
        pdf,
      ],
    });
    const mimeType = 'application/vnd.etsi.tsl+xml';
    expect(kind).toBe('list_of_lists');
    expect(pointers).toEqual([
      { territory: 'EU', location: 'https://lists.example/eu.xml', kind: 'list_of_lists', mimeType, signers: [second] },
      { territory: 'AT', location: 'https://lists.example/at.xml?a=1&b=2', kind: 'country_list', mimeType, signers: [first, second] },
      { ...pdf, kind: 'country_list' },
    ]);
  });

  it('has the pivots since each announcement in the Official Journal, oldest first', () => {
    const [newer, older] = ['https://lists.example/pivot-2.xml', 'https://lists.example/pivot-1.xml'];
    const chains = (...pivots: string[]) => read({ kind: 'list_of_lists', pivots }).pivotChains;
    expect(chains()).toEqual([[]]);
    expect(chains(newer, 'https://lists.example/explanation.html', older)).toEqual([[older, newer]]);
    expect(chains(`${OFFICIAL_JOURNAL}&newer`, newer, older)).toEqual([[], [older, newer]]);
    expect(chains(newer, `${OFFICIAL_JOURNAL}&newer`, older)).toEqual([[newer], [older, newer]]);
  });

  it('has whole values where the XML has them in pieces, and values without the white space around them', () => {
    const providers = [{ name: 'Provider', services: [service({ certificates: [signer.certificate] })] }];
    const afterSigning = (xml: string) => xml.replace('Svcstatus/granted', '<![CDATA[Svcstatus]]>/gr&#97;nted');
    const [inPieces, spaced] = [read({ providers, nextUpdate: null, afterSigning }), read({ providers, beforeSigning: addSpace })];
    expect(inPieces.nextUpdate).toBeNull();
    expect(spaced).toMatchObject({ ...read({ providers }), sha256: spaced.sha256 });
    expect(inPieces.timeStampingServices).toEqual(spaced.timeStampingServices);
  });

  it('has only elements of its own namespace and place', () => {
    const decoys = '<x:SchemeTerritory xmlns:x="urn:x">XX</x:SchemeTerritory><Other><SchemeTerritory>XX</SchemeTerritory></Other>';
    expect(read({ beforeSigning: (xml) => xml.replace('<TSLVersionIdentifier>', `${decoys}$&`) }).territory).toBe('SE');
  });
});

const addSpace = (xml: string): string => xml.replace(/>([^<>\s][^<>]*)</g, '>\n\t $1 \n<');

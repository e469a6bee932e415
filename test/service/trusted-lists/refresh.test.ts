import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { openStore, type Store } from '../../../src/shared/store/store.ts';
import type { ListSource, ListSources } from '../../../src/shared/trust/list-sources.ts';
import { stateOf } from '../../../src/shared/trust/lists/index.ts';
import { refreshTrustedLists } from '../../../src/workers/trusted-lists/index.ts';
import { temporaryFolder } from '../../support/cli.ts';
import { type ListServer, newListSigner, startListServer } from '../../support/list-server.ts';
import { startProxy } from '../../support/proxy.ts';
import { freshStore } from '../../support/servers.ts';
import { type ListedPointer, makeTrustedList } from '../../support/trusted-lists.ts';

const commission = newListSigner('Commission');
const successor = newListSigner('Successor');
const sweden = newListSigner('Sweden');
const belgium = newListSigner('Belgium');
const stranger = newListSigner('Stranger');

let server: ListServer;
let store: Store;
let sources: ListSources;

beforeEach(async () => {
  server = await startListServer();
  const opened = openStore(freshStore(), pino({ level: 'silent' }));
  store = opened;
  onTestFinished(() => opened.close());
  sources = { listOfLists: { addresses: [`${server.url}/eu.xml`], signers: [commission.certificate] }, lists: [] };
});

const pointer = (territory: string, signer: typeof sweden, of: Partial<ListedPointer> = {}): ListedPointer => ({
  territory,
  location: `${server.url}/${territory.toLowerCase()}.xml`,
  signers: [signer.certificate],
  ...of,
});
/** The pointer of the list of lists to itself, which names its signers. */
const own = (signer: typeof commission) => pointer('EU', signer, { kind: 'list_of_lists' });

function publishListOfLists(sequenceNumber: number, of: Partial<Parameters<ListServer['publish']>[2]> = {}, signer = commission): Buffer {
  const pointers = [own(commission), pointer('SE', sweden), pointer('BE', belgium)];
  return server.publish('/eu.xml', signer, { kind: 'list_of_lists', territory: 'EU', sequenceNumber, pointers, ...of });
}
const publish = (territory: string, signer: typeof sweden, sequenceNumber: number, since = '2020-01-01T00:00:00Z') =>
  server.publish(`/${territory.toLowerCase()}.xml`, signer, {
    territory,
    sequenceNumber,
    providers: [{ name: 'A provider', services: [{ type: 'TSA/QTST', name: 'Stamps', status: 'granted', since }] }],
  });

/** Refreshes, and returns for each country the number in force and the code of the refusal. */
async function refresh(): Promise<Record<string, readonly [number: number | undefined, code?: string]>> {
  await refreshTrustedLists(sources, { store, clock: Date.now, log: pino({ level: 'silent' }) });
  const lists = await store.trustedLists.readInForce();
  return Object.fromEntries(
    lists.map(({ territory, list, refusal }) => [territory, refusal ? [list?.sequenceNumber, refusal.code] : [list?.sequenceNumber]]),
  );
}

describe('the list of lists', () => {
  test('leads to the lists of the countries, which are kept as they were signed', async () => {
    publishListOfLists(10, {
      pointers: [own(commission), pointer('SE', sweden), pointer('AT', stranger, { mimeType: 'application/pdf' })],
    });
    const document = publish('SE', sweden, 7);
    expect(await refresh()).toEqual({ EU: [10], SE: [7] });
    const { sha256 = '' } = (await store.trustedLists.findInForce('SE')) ?? {};
    const kept = await store.trustedLists.findXml(sha256);
    expect(kept?.xml).toEqual(document);
    expect(kept?.said.timeStampingServices).toMatchObject([{ providerName: 'A provider', periods: [{ status: 'granted' }] }]);
    expect(kept?.said.signer).toEqual(sweden.certificate);
  });

  test('is fetched through the proxy of HTTP_PROXY', async () => {
    publishListOfLists(10, { pointers: [own(commission)] });
    const proxy = await startProxy();
    vi.stubEnv('HTTP_PROXY', proxy.url);
    onTestFinished(() => void vi.unstubAllEnvs());
    const place = server.url.replace('127.0.0.1', 'lists.example');
    sources = { listOfLists: { addresses: [`${place}/eu.xml`], signers: [commission.certificate] }, lists: [] };
    expect(await refresh()).toEqual({ EU: [10] });
    expect(proxy.seen).toEqual([expect.stringContaining(new URL(place).host)]);
  });

  test('may change its signers by pivots, which are followed from the oldest', async () => {
    const pivots = [`${server.url}/pivot-2.xml`, `${server.url}/pivot-1.xml`];
    const pivot = { kind: 'list_of_lists', territory: 'EU' } as const;
    server.publish('/pivot-1.xml', commission, { ...pivot, sequenceNumber: 1, pointers: [own(stranger)] });
    server.publish('/pivot-2.xml', stranger, { ...pivot, sequenceNumber: 2, pointers: [own(successor)] });
    publishListOfLists(3, { pivots, pointers: [own(successor)] }, successor);
    expect(await refresh()).toEqual({ EU: [3] });

    server.publish('/pivot-2.xml', belgium, { ...pivot, sequenceNumber: 2, pointers: [own(successor)] });
    publishListOfLists(4, { pivots, pointers: [own(successor)] }, successor);
    expect(await refresh()).toEqual({ EU: [3, 'list_pivot_broken'] });
    server.files.delete('/pivot-2.xml');
    expect(await refresh()).toEqual({ EU: [3, 'list_unreachable'] });
    // If it is the newest pivot itself, the old signers have signed it.
    publishListOfLists(5, { pivots: [`${server.url}/eu.xml`], pointers: [own(successor)] });
    expect(await refresh()).toEqual({ EU: [5] });
  });

  test('leads to no pivot on another server, not even by a redirect', async () => {
    const elsewhere = await startListServer();
    const pivot = { kind: 'list_of_lists', territory: 'EU', sequenceNumber: 1, pointers: [own(successor)] } as const;
    elsewhere.publish('/pivot-1.xml', commission, pivot);
    publishListOfLists(3, { pivots: [`${elsewhere.url}/pivot-1.xml`], pointers: [own(successor)] }, successor);
    expect(await refresh()).toEqual({ EU: [undefined, 'list_pivot_broken'] });

    server.files.set('/pivot-1.xml', `${elsewhere.url}/pivot-1.xml`);
    publishListOfLists(4, { pivots: [`${server.url}/pivot-1.xml`], pointers: [own(successor)] }, successor);
    expect(await refresh()).toEqual({ EU: [undefined, 'list_unreachable'] });
  });

  test('is not taken from a signer who is not in the Official Journal, nor is a list of a country taken for it', async () => {
    publishListOfLists(3, {}, stranger);
    expect(await refresh()).toEqual({ EU: [undefined, 'list_wrong_signer'] });
    server.publish('/eu.xml', commission, { territory: 'SE' });
    expect(await refresh()).toEqual({ EU: [undefined, 'list_malformed'] });
  });

  test('is the newest of several addresses, and refused if two have its number and different contents', async () => {
    const europe = { kind: 'list_of_lists', territory: 'EU', pointers: [own(commission)] } as const;
    const at = (path: string, sequenceNumber: number, issuedAt = '2026-11-01T00:00:00Z') =>
      server.publish(path, commission, { ...europe, sequenceNumber, issuedAt });
    const addresses = ['none', 'old', 'eu', 'old'].map((name) => `${server.url}/${name}.xml`);
    sources = { ...sources, listOfLists: { addresses, signers: [commission.certificate] } };
    at('/old.xml', 2);
    at('/eu.xml', 3);
    expect(await refresh()).toEqual({ EU: [3] });
    at('/old.xml', 4, '2026-11-02T00:00:00Z');
    at('/eu.xml', 4, '2026-11-03T00:00:00Z');
    expect(await refresh()).toEqual({ EU: [3, 'list_number_reused'] });
  });

  test('needs no pivot if the given certificates signed it, and leads only to lists of the EU', async () => {
    const pointers = [own(commission), pointer('SE', sweden), pointer('UA', stranger)];
    publishListOfLists(3, { pivots: [`${server.url}/gone.xml`], pointers });
    publish('SE', sweden, 7);
    expect(await refresh()).toEqual({ EU: [3], SE: [7] });
  });

  test('decides which countries are in force', async () => {
    publishListOfLists(3);
    publish('SE', sweden, 7);
    publish('BE', belgium, 8);
    expect(await refresh()).toEqual({ BE: [8], EU: [3], SE: [7] });
    publishListOfLists(4, { pointers: [own(commission), pointer('BE', belgium)] });
    expect(await refresh()).toEqual({ BE: [8], EU: [4] });
    // Its number is not forgotten meanwhile.
    publishListOfLists(5);
    publish('SE', sweden, 6);
    expect(await refresh()).toEqual({ BE: [8], EU: [5], SE: [7, 'list_number_fell'] });
  });
});

describe('the last good list stays in force', () => {
  beforeEach(async () => {
    publishListOfLists(3);
    publish('BE', belgium, 8);
    publish('SE', sweden, 7);
    await refresh();
    // Nothing has changed.
    expect(await refresh()).toEqual({ BE: [8], EU: [3], SE: [7] });
  });

  const put = (content: Parameters<typeof server.files.set>[1]) => void server.files.set('/se.xml', content);
  const publishOther = (of: object) => server.publish('/se.xml', sweden, { territory: 'SE', sequenceNumber: 8, ...of });

  test.each<[string, string, () => unknown]>([
    ['the number fell', 'list_number_fell', () => publish('SE', sweden, 6)],
    ['the same number has another content', 'list_number_reused', () => publish('SE', sweden, 7, '2021-01-01T00:00:00Z')],
    ['another signer', 'list_wrong_signer', () => publish('SE', stranger, 8)],
    ['the list of another country', 'list_wrong_territory', () => publishOther({ territory: 'DK' })],
    ['no signature', 'list_unsigned', () => put(makeTrustedList({ territory: 'SE', sequenceNumber: 8 }))],
    ['a newer list was overdue', 'list_expired', () => publishOther({ nextUpdate: '2026-01-01T00:00:00Z' })],
    ['a page of an error', 'list_malformed', () => put(Buffer.from('<html><body>Maintenance</body></html>'))],
    ['more than 16 MiB', 'list_too_large', () => put(Buffer.alloc(16 * 1024 * 1024 + 1, ' '))],
    ['an error of the server', 'list_unreachable', () => put(503)],
  ])('%s: %s', async (_, code, change) => {
    change();
    expect(await refresh()).toEqual({ BE: [8], EU: [3], SE: [7, code] });
    publish('SE', sweden, 9);
    expect(await refresh()).toEqual({ BE: [8], EU: [3], SE: [9] });
  });

  test('if the list of lists cannot be fetched; the countries are refreshed by the last good one', async () => {
    server.files.delete('/eu.xml');
    publish('SE', sweden, 9);
    expect(await refresh()).toEqual({ BE: [8], EU: [3, 'list_unreachable'], SE: [9] });
  });
});

describe('a single list', () => {
  const source = (of: Pick<ListSource, 'place'>): ListSource => ({ territory: 'SE', signers: [sweden.certificate], ...of });

  test('needs no list of lists, and may be a file', async () => {
    const file = join(temporaryFolder(), 'se.xml');
    writeFileSync(file, publish('SE', sweden, 7));
    sources = { listOfLists: undefined, lists: [source({ place: { file } })] };
    expect(await refresh()).toEqual({ SE: [7] });
    sources = { listOfLists: undefined, lists: [source({ place: { file: `${file}.gone` } })] };
    expect(await refresh()).toEqual({ SE: [7, 'list_unreachable'] });
  });

  test('replaces the one of its country on the list of lists', async () => {
    publishListOfLists(3, { pointers: [own(commission), pointer('SE', stranger)] });
    server.files.set('/own.xml', publish('SE', sweden, 7));
    publish('SE', stranger, 8);
    sources = { ...sources, lists: [source({ place: { address: `${server.url}/own.xml` } })] };
    expect(await refresh()).toEqual({ EU: [3], SE: [7] });
  });
});

test('seven days before the next update a list is due; after it, it has expired', () => {
  const now = Date.parse('2026-11-21T12:00:00Z');
  const states = ['2026-11-28T12:00:00.000Z', '2026-11-28T11:59:59.999Z', '2026-11-21T12:00:00.000Z', '2026-11-21T11:59:59.999Z', null];
  expect(states.map((nextUpdate) => stateOf(nextUpdate, now))).toEqual(['current', 'due_soon', 'due_soon', 'expired', 'closed']);
});

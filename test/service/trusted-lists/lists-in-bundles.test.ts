import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pemOf } from '../../../src/shared/rfc3161/index.ts';
import { type Bundle, type BundleLab, runScript, startBundleLab, unzip, zipped } from '../../support/bundle-lab.ts';
import { folderWith, jsonLines, runOperator } from '../../support/cli.ts';
import { type ListServer, newListSigner, startListServer } from '../../support/list-server.ts';
import { eventually, randomHash, stampInternal, verifyById } from '../../support/requests.ts';
import { type ListedService, makeTrustedList } from '../../support/trusted-lists.ts';
import { providersSettings, type RunningTsa, startTsa } from '../../support/tsa-service.ts';

const commission = newListSigner('Commission');
const sweden = newListSigner('Sweden');
const stranger = newListSigner('Stranger');
const folder = mkdtempSync(join(tmpdir(), 'qstamp-lists-'));
const pins = join(folder, 'eu.pem');
const sentence = 'Qualified: the service “X” of Y is listed in Sweden’s trusted list no. 61 as granted since 1 July 2016.';

const ends: (() => void | Promise<void>)[] = [];
let lab: BundleLab;
let path: string;
let files: Bundle;
/** A TSA that the list knows and does not grant. */
let withdrawn: RunningTsa;
let list: Buffer;
let server: ListServer;
const fetched = async (query: string) => Buffer.from(await (await lab.service.fetch(`${path}.zip${query}`)).arrayBuffer());
const grantedTo = ({ pki }: RunningTsa): ListedService => ({
  type: 'TSA/QTST',
  name: 'X',
  status: 'granted',
  since: '2016-07-01T00:00:00Z',
  certificates: [pki.intermediate.certificate],
});
const withdrawnFrom = (tsa: RunningTsa): ListedService => ({ ...grantedTo(tsa), status: 'withdrawn', since: '2020-01-01T00:00:00Z' });
const listOf = (sequenceNumber: number, ...services: readonly ListedService[]) =>
  makeTrustedList({
    territory: 'SE',
    sequenceNumber,
    signed: sweden,
    providers: [{ name: 'Y', services }],
  });

beforeAll(async () => {
  const tsa = await startTsa({ onEnd: (close) => void ends.push(close) });
  withdrawn = await startTsa({ onEnd: (close) => void ends.push(close) });
  list = listOf(61, grantedTo(tsa), withdrawnFrom(withdrawn));
  server = await startListServer((close) => void ends.push(close));
  server.files.set('/se.xml', list);
  const pointers = [{ territory: 'SE', location: `${server.url}/se.xml`, signers: [sweden.certificate] }];
  server.publish('/eu.xml', commission, { kind: 'list_of_lists', territory: 'EU', sequenceNumber: 3, pointers });
  writeFileSync(pins, pemOf('CERTIFICATE', commission.certificate));
  const more = { TRUSTED_LIST_URLS: `${server.url}/eu.xml`, LOTL_SIGNERS_FILE: pins };
  lab = await startBundleLab((close) => void ends.push(close), { qualified: 'from_list' }, tsa, more);
  await untilInForce(61);
  // Workers and API take the list from the store some seconds later.
  await eventually(async () => {
    const { body } = await stampInternal(lab.service, { hash: randomHash() });
    return body.is_qualified === true && (await verifyById(lab.service, body.token_id)).body.is_qualified === true;
  });
  const { workflow, files: plain } = await lab.completed(['a', 'b']);
  path = `/workflow/${workflow.id}/evidence`;
  files = plain;
});
afterAll(async () => {
  for (const end of ends.reverse()) await end();
  rmSync(folder, { recursive: true });
});

async function untilInForce(number: number): Promise<void> {
  await eventually(async () => {
    const status = (await (await lab.service.fetch('/api/v1/status')).json()) as { trusted_lists: { sequence_number: number }[] };
    return status.trusted_lists[1]?.sequence_number === number;
  });
}

const inFolder = (zip: Uint8Array, more: Record<string, string | Uint8Array> = {}) =>
  folderWith({
    'bundle.zip': zip,
    'root.pem': lab.tsa.pki.rootPem,
    'se.pem': pemOf('CERTIFICATE', sweden.certificate),
    'eu.pem': pemOf('CERTIFICATE', commission.certificate),
    'stranger.pem': pemOf('CERTIFICATE', stranger.certificate),
    ...more,
  });

test('check-providers says where the providers file contradicts the list in force', async () => {
  const { tsa, service } = lab;
  const other = await startTsa();
  const settings = (entries: Parameters<typeof providersSettings>[0]) => ({ ...service.settings, ...providersSettings(entries) });
  const entries = [
    { tsa: withdrawn, qualified: true },
    { tsa, qualified: false },
    { tsa, qualified: 'from_list' },
    { tsa: other, qualified: true },
  ];
  const { code, stdout } = await runOperator(['check-providers'], settings(entries));
  expect([code, stdout.split('\n').filter((line) => line.startsWith('  qualified'))]).toEqual([
    0,
    [
      expect.stringMatching(/no, although the providers file says yes: .* as withdrawn since 1 January 2020\.$/),
      expect.stringMatching(/yes, although the providers file says no: .* as granted since 1 July 2016\.$/),
      expect.stringMatching(/ yes: .* as granted since 1 July 2016\.$/),
      expect.stringMatching(/no, although the providers file says yes: .*, but with another key\.$/),
    ],
  ]);
  const [first] = jsonLines(await runOperator(['check-providers', '--json'], settings(entries.slice(0, 1))));
  expect(first).toMatchObject({ is_qualified: false, qualified: { basis: 'list', service_status: 'withdrawn' } });
});

describe('the evidence of a workflow with ?lists=1', () => {
  test('has the list under which its stamps are qualified, also when a newer list does not have the service any more', async () => {
    const zip = await fetched('?lists=1');
    const withLists = await unzip(zip);
    expect([...withLists.keys()].filter((name) => !files.has(name))).toEqual(['trusted-lists/SE-61.xml', 'trusted-lists/EU-3.xml']);
    expect(String(withLists.get('trusted-lists/SE-61.xml'))).toBe(String(list));
    expect(String(withLists.get('README.txt'))).toContain(sentence);
    expect(String(files.get('README.txt'))).not.toContain('Qualified:');
    expect([...(await unzip(await fetched('?lists=0')))]).toEqual([...files]);
    expect((await lab.service.fetch(`${path}.zip?lists=2`)).status).toBe(422);

    const document = async (query = '') => (await lab.service.fetch(`${path}.json${query}`)).json();
    const qualified = { status: 'qualified', basis: 'list', list_number: 61, sentence };
    expect(await document()).toMatchObject({ root: { stamp: { qualified } }, closing_record: { stamp: { qualified } } });
    expect(await document()).not.toHaveProperty('trusted_lists');
    const [named] = ((await document('?lists=1')) as { trusted_lists: { address: string }[] }).trusted_lists;
    expect(named).toMatchObject({ territory: 'SE', list_number: 61 });
    expect(await (await lab.service.fetch(named!.address)).text()).toBe(String(list));

    server.files.set('/se.xml', listOf(62));
    expect((await runOperator(['refresh-lists'], lab.service.settings)).code).toBe(0);
    await untilInForce(62);
    await eventually(async () => (await fetched('?lists=1')).equals(zip));

    const { run } = inFolder(zip, { 'newer.xml': listOf(62), a: 'a' });
    const shown = await run(['verify', 'bundle.zip', 'a', '--list-signers', 'se.pem']);
    expect(shown).toMatchObject({ code: 0, stderr: '' });
    expect(shown.stdout).toContain(sentence);
    const byNewer = await run(['verify', '--json', 'bundle.zip', '--list-signers', 'se.pem', '--trusted-list', 'newer.xml']);
    expect(jsonLines(byNewer)).toMatchObject([
      { verdict: 'valid', qualified: { status: 'qualified', list_number: 61 }, closing_record_qualified: { list_number: 61 } },
    ]);
  });

  test('are judged by the same rules as given lists, together with them', async () => {
    const withLists = await unzip(await fetched('?lists=1'));
    const verdictOn = async (lists: Record<string, Buffer>, more: Record<string, Buffer>, signers: string) => {
      const zip = await zipped(
        new Map([...withLists, ...Object.entries(lists).map(([name, one]) => [`trusted-lists/${name}`, one] as const)]),
      );
      const given = Object.keys(more).flatMap((file) => ['--trusted-list', file]);
      return (await inFolder(zip, more).run(['verify', 'bundle.zip', ...given, '--list-signers', signers])).stdout;
    };
    const withdrawnLater = { 'SE-62.xml': listOf(62, withdrawnFrom(lab.tsa)) };
    expect(await verdictOn({}, {}, 'se.pem')).toContain(sentence);
    // The newest list of a country decides.
    expect(await verdictOn(withdrawnLater, { 'older.xml': list }, 'se.pem')).toMatch(/^bundle\.zip: NOT PROVED.*no\. 62 .* as withdrawn/s);
    // A list with the same number and another content is refused, and so is the other one.
    const reused = await verdictOn({}, { 'other.xml': listOf(61, withdrawnFrom(lab.tsa)) }, 'se.pem');
    for (const name of ['trusted-lists/SE-61.xml', 'other.xml']) expect(reused).toContain(`not checked: ${name}: list_number_reused: `);
    expect(reused).not.toContain('Qualified: ');
    // The newest list of lists names the signers.
    const pointers = [{ territory: 'SE', location: `${server.url}/se.xml`, signers: [stranger.certificate] }];
    const newer = makeTrustedList({ kind: 'list_of_lists', sequenceNumber: 4, signed: commission, pointers });
    expect(await verdictOn({ 'EU-4.xml': newer }, {}, 'eu.pem')).toContain('trusted-lists/SE-61.xml: list_wrong_signer: ');
  });

  test('without signers, or with those of a stranger, the lists in a bundle prove nothing', async () => {
    const zip = await fetched('?lists=1');
    const { run } = inFolder(zip);
    const unasked = await run(['verify', 'bundle.zip', '--ca', 'root.pem']);
    expect(unasked.code).toBe(0);
    expect(unasked.stdout).toContain('not checked: the trusted lists in this bundle: give --list-signers');
    expect(unasked.stdout).not.toContain('Qualified');
    const strange = await run(['verify', 'bundle.zip', '--list-signers', 'stranger.pem']);
    expect(strange.code).toBe(1);
    expect(strange.stdout).toContain('not checked: trusted-lists/SE-61.xml: list_wrong_signer: ');
    const others = new Map([...(await unzip(zip)), ['trusted-lists/notes.txt', Buffer.from('')]]);
    const unknown = await inFolder(await zipped(others)).run(['verify', 'bundle.zip', '--ca', 'root.pem']);
    expect(unknown.stdout).toContain('bundle_malformed: trusted-lists/notes.txt does not belong to a bundle.');
    // `verify.py` does not need the lists.
    expect(await runScript(await unzip(zip))).toMatchObject({ code: 3 });
  });
});

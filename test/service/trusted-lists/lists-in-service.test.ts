import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { StatusResponse } from '../../../src/shared/contract/status.ts';
import { pemOf } from '../../../src/shared/rfc3161/index.ts';
import { loadListSources } from '../../../src/shared/trust/list-sources.ts';
import { jsonLines, runOperator, temporaryFolder } from '../../support/cli.ts';
import { newListSigner, startListServer } from '../../support/list-server.ts';
import { scrape, seriesOf } from '../../support/metrics.ts';
import { eventually } from '../../support/requests.ts';
import { sharedService, startService } from '../../support/service.ts';

const commission = newListSigner('Commission');
const sweden = newListSigner('Sweden');

const fileWith = (content: string, name = 'file'): string => {
  const file = join(temporaryFolder(), name);
  writeFileSync(file, content);
  return file;
};

test('a worker fetches the lists; /status, the metrics and the address of the list show them, also a refused one', async () => {
  const server = await startListServer();
  const pointers = [{ territory: 'SE', location: `${server.url}/se.xml`, signers: [sweden.certificate] }];
  server.publish('/eu.xml', commission, { kind: 'list_of_lists', territory: 'EU', sequenceNumber: 3, nextUpdate: null, pointers });
  const nextUpdate = new Date(Date.now() + 3_600_000).toISOString();
  const document = server.publish('/se.xml', sweden, { territory: 'SE', sequenceNumber: 7, nextUpdate });
  const sha256 = createHash('sha256').update(document).digest('hex');
  const settings = {
    TRUSTED_LIST_URLS: `${server.url}/eu.xml`,
    LOTL_SIGNERS_FILE: fileWith(pemOf('CERTIFICATE', commission.certificate)),
    METRICS_PORT: '0',
  };
  const service = await startService({ settings });
  const listsOf = async () => ((await (await service.fetch('/api/v1/status')).json()) as StatusResponse).trusted_lists;
  await eventually(async () => (await listsOf()).length === 2);
  expect(await listsOf()).toEqual([
    expect.objectContaining({ territory: 'EU', state: 'closed', sequence_number: 3, next_update: null, reason: null }),
    {
      territory: 'SE',
      state: 'due_soon',
      sequence_number: 7,
      issued_at: '2026-11-01T00:00:00.000Z',
      next_update: nextUpdate,
      sha256,
      checked_at: expect.any(String),
      reason: null,
    },
  ]);

  const answer = await service.fetch(`/trusted-lists/${sha256}`);
  expect(Buffer.from(await answer.arrayBuffer())).toEqual(document);
  expect(answer.headers.get('content-type')).toBe('application/vnd.etsi.tsl+xml');
  expect(answer.headers.get('content-disposition')).toBe('attachment; filename="SE-7.xml"');
  expect((await service.fetch(`/trusted-lists/${'0'.repeat(64)}`)).status).toBe(404);
  expect((await service.fetch('/trusted-lists/abc')).status).toBe(422);

  server.publish('/se.xml', commission, { territory: 'SE', sequenceNumber: 8 });
  const outcome = await runOperator(['refresh-lists', '--json'], service.settings);
  expect(outcome).toMatchObject({ code: 1, stderr: '' });
  expect(jsonLines(outcome)).toMatchObject([
    { territory: 'EU', refusal: null },
    { territory: 'SE', list: { sequenceNumber: 7 }, refusal: { code: 'list_wrong_signer' } },
  ]);
  await eventually(async () => (await listsOf())[1]?.reason?.startsWith('list_wrong_signer: '));
  const page = await (await service.fetch('/status')).text();
  expect(page).toContain(`<a href="/trusted-lists/${sha256}">Sweden</a>`);
  expect(page).toMatch(/Sweden: the last refresh.*List no\. 7 stays in force\./);

  const names = ['qstamp_trusted_list_number', 'qstamp_trusted_list_fault'];
  expect(seriesOf(await scrape(service.workers[0]!), ...names)).toEqual({
    'qstamp_trusted_list_number{territory="EU"}': 3,
    'qstamp_trusted_list_number{territory="SE"}': 7,
    'qstamp_trusted_list_fault{territory="SE",code="list_wrong_signer"}': 1,
  });
});

test('a service that is not configured for trusted lists has none, and the command says what to set', async () => {
  const service = await sharedService();
  expect(await (await service.fetch('/api/v1/status')).json()).toMatchObject({ trusted_lists: [] });
  expect(await (await service.fetch('/status')).text()).not.toContain('Trusted lists');
  expect(await runOperator(['refresh-lists'], service.settings)).toEqual({
    code: 2,
    stdout: '',
    stderr: 'qstamp: TRUSTED_LIST_URLS: got nothing; set it, or TRUSTED_LISTS_FILE\n',
  });
});

describe('a wrong setting is one line that names it', () => {
  const none = { TRUSTED_LIST_URLS: undefined, LOTL_SIGNERS_FILE: undefined, TRUSTED_LISTS_FILE: undefined };
  const entry = { territory: 'SE', url: 'https://lists.example/se.xml', signers_file: 'se.pem' };
  const europe = { TRUSTED_LIST_URLS: ['https://lists.example/eu.xml'] };
  const listed = (content: unknown) => () => ({ TRUSTED_LISTS_FILE: fileWith(JSON.stringify(content), 'lists.json') });

  test.each<[what: string, given: () => object, message: RegExp]>([
    ['no signers of the list of lists', () => europe, /^LOTL_SIGNERS_FILE: got nothing;/],
    ['no certificate', () => ({ ...europe, LOTL_SIGNERS_FILE: '/dev/null' }), /^LOTL_SIGNERS_FILE: "\/dev\/null" cannot be used: /],
    ['no such file', () => ({ TRUSTED_LISTS_FILE: '/nowhere.json' }), /^TRUSTED_LISTS_FILE: \/nowhere\.json: cannot be read as JSON/],
    ['not a list', listed({}), / takes a list of entries$/],
    ['empty', listed([]), / takes at least one entry$/],
    ['a country twice', listed([entry, entry]), / takes each country once$/],
    ['the list of lists', listed([{ ...entry, territory: 'EU' }]), / \[0\]\.territory: takes the code of a country with a trusted list of/],
    ['neither address nor file', listed([{ ...entry, url: undefined }]), / \[0\]: takes either "url" or "file"$/],
    ['both', listed([{ ...entry, file: 'se.xml' }]), / \[0\]: takes either "url" or "file"$/],
    ['another protocol', listed([{ ...entry, url: 'ftp://lists.example/se.xml' }]), / \[0\]\.url: takes an address that starts with/],
    ['no signers', listed([{ ...entry, signers_file: undefined }]), / \[0\]\.signers_file: takes the path of a PEM file/],
    ['an unknown member', listed([{ ...entry, signer: 'se.pem' }]), / \[0\]: has an unknown member: "signer"$/],
    ['signers that are none', listed([entry]), / \(SE\)\.signers_file: "se\.pem" cannot be read$/],
  ])('%s', (_, given, message) => {
    expect(() => loadListSources({ ...none, ...given() })).toThrow(message);
  });

  test('paths are relative to the file', () => {
    const file = fileWith(JSON.stringify([{ territory: 'SE', file: 'se.xml', signers_file: 'se.pem' }]), 'lists.json');
    writeFileSync(join(dirname(file), 'se.pem'), `# Sweden\n${pemOf('CERTIFICATE', sweden.certificate)}`);
    const { lists } = loadListSources({ ...none, TRUSTED_LISTS_FILE: file });
    expect(lists).toEqual([{ territory: 'SE', place: { file: join(dirname(file), 'se.xml') }, signers: [sweden.certificate] }]);
  });
});

import { writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { pemOf } from '../../src/shared/rfc3161/index.ts';
import { folderWith, jsonLines } from '../support/cli.ts';
import { newListSigner } from '../support/list-server.ts';
import { makeTrustedList } from '../support/trusted-lists.ts';

const commission = newListSigner('Commission');
const successor = newListSigner('Successor');
const sweden = newListSigner('Sweden');
const stranger = newListSigner('Stranger');

const own = { territory: 'EU', location: 'https://lists.example/eu.xml', kind: 'list_of_lists', signers: [successor.certificate] } as const;
const files = {
  'signers.pem': pemOf('CERTIFICATE', commission.certificate),
  'pivot-1.xml': makeTrustedList({
    kind: 'list_of_lists',
    territory: 'EU',
    pointers: [own, { territory: 'SE', location: 'https://lists.example/se.xml', signers: [stranger.certificate] }],
    signed: commission,
  }),
  'eu.xml': makeTrustedList({
    kind: 'list_of_lists',
    territory: 'EU',
    sequenceNumber: 2,
    pivots: ['https://lists.example/pivot-1.xml'],
    pointers: [own, { territory: 'SE', location: 'https://lists.example/se.xml', signers: [sweden.certificate] }],
    signed: successor,
  }),
  'se.xml': makeTrustedList({
    territory: 'SE',
    sequenceNumber: 48,
    operatorName: 'The office',
    nextUpdate: '2025-01-01T00:00:00Z',
    providers: [
      {
        name: 'A provider',
        services: [
          {
            type: 'TSA/QTST',
            name: 'Stamps',
            status: 'withdrawn',
            since: '2024-01-01T00:00:00Z',
            certificates: [stranger.certificate],
            history: [{ type: 'TSA/QTST', name: 'Stamps', status: 'granted', since: '2018-06-01T00:00:00Z' }],
          },
        ],
      },
    ],
    signed: sweden,
  }),
  'forged.xml': makeTrustedList({ territory: 'SE', sequenceNumber: 49, signed: stranger }),
};

const inFolder = () => {
  const { run, path } = folderWith(files);
  return { path, run: (line: string) => run(['lists', ...line.split(' ').filter(Boolean)]) };
};

describe('qstamp lists', () => {
  test('says what a list says about time-stamping services, newest first, and who signed it', async () => {
    const { code, stdout } = await inFolder().run('--list-signers signers.pem eu.xml se.xml pivot-1.xml');
    expect([code, ...stdout.split('\n').filter((line) => !/signed by|^ {2}operator Office/.test(line))]).toEqual([
      0,
      'eu.xml: list of lists no. 2 (version 5)',
      '  issued 2026-11-01T00:00:00.000Z, next update 2027-05-01T00:00:00.000Z',
      'se.xml: trusted list of SE no. 48 (version 5)',
      '  operator The office',
      '  issued 2026-11-01T00:00:00.000Z, next update 2025-01-01T00:00:00.000Z: EXPIRED',
      '  A provider: Stamps (TSA/QTST)',
      '   withdrawn since 2024-01-01; before, granted since 2018-06-01',
      'pivot-1.xml: list of lists no. 1 (version 5)',
      '  issued 2026-11-01T00:00:00.000Z, next update 2027-05-01T00:00:00.000Z',
      '3 files: 3 read',
      '',
    ]);
    expect(stdout).toMatch(/^ {2}signed by O=qstamp development, CN=Sweden, SHA-256 ([0-9A-F]{2}:){31}[0-9A-F]{2}$/m);
  });

  test('as JSON', async () => {
    const history = [{ status: 'withdrawn' }, { status: 'granted' }];
    expect(jsonLines(await inFolder().run('--json se.xml'))).toMatchObject([
      {
        ...{ file: 'se.xml', territory: 'SE', sequence_number: 48, state: 'expired', signer_checked: false },
        signer: { subject: 'O=qstamp development, CN=Sweden' },
        time_stamping_services: [{ provider_name: 'A provider', history }],
      },
    ]);
  });

  test.each<[what: string, line: string, exitCode: number, says: RegExp]>([
    ['nobody was named', 'forged.xml', 0, /nobody was named who may sign \(--list-signers\)/],
    ['another signer', '--list-signers signers.pem eu.xml pivot-1.xml forged.xml', 1, /^forged\.xml: list_wrong_signer: /m],
    ['a pivot is not given', '--list-signers signers.pem eu.xml', 1, /list_pivot_broken: .*pivot-1\.xml is not among/],
    ['no list', 'signers.pem', 1, /^signers\.pem: list_malformed: /m],
    ['no such file', 'none.xml', 5, /^none\.xml: there is no such file/m],
    ['no file', '', 2, /missing required argument 'FILE'/],
    ['a country without signers', 'eu.xml --signers-of se', 5, /names signers for "se"; codes are capitals/],
    ['signers that are none', '--list-signers se.xml eu.xml', 5, /^.*se\.xml: It has no certificate\./m],
  ])('who may sign: %s', async (_, line, exitCode, says) => {
    const { code, stdout, stderr } = await inFolder().run(line);
    expect([code, stdout + stderr]).toEqual([exitCode, expect.stringMatching(says)]);
  });

  test('prints the signers of a country, with fingerprints, as a file for --list-signers', async () => {
    const { run, path } = inFolder();
    const { stdout } = await run('eu.xml --signers-of SE');
    expect(stdout).toMatch(/^# O=qstamp development, CN=Sweden\n# SHA-256 ([0-9A-F]{2}:){31}[0-9A-F]{2}\n-----BEGIN CERTIFICATE-----\n/);
    writeFileSync(path('sweden.pem'), stdout);
    const codeOf = async (list: string) => (await run(`--list-signers sweden.pem ${list}`)).code;
    expect([await codeOf('se.xml'), await codeOf('forged.xml')]).toEqual([0, 1]);
  });
});

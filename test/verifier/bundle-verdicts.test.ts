import { execFileSync } from 'node:child_process';
import { generateKeyPairSync, type KeyPairKeyObjectResult, sign, X509Certificate } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { objectIdentifier, sequence } from '../../src/shared/rfc3161/asn1/der-writer.ts';
import { OID, SCHEMES, type SignatureScheme, tokenIn } from '../../src/shared/rfc3161/index.ts';
import type { TstInfoFields } from '../../src/shared/rfc3161/issue/encode.ts';
import { anchorForgeries, replacedLater, resealed, sealForgeries } from '../support/bundle-forgeries.ts';
import { type Bundle, type BundleLab, runScript, startBundleLab, withSums, zipped } from '../support/bundle-lab.ts';
import { manipulations, stamps } from '../support/bundle-manipulations.ts';
import { issueSigner } from '../support/certificates.ts';
import { folderWith, jsonLines } from '../support/cli.ts';
import { tries } from '../support/depth.ts';
import { type AskPage, openVerifyPage } from '../support/page-verdict.ts';
import { keys, scheme } from '../support/signature-lab.ts';
import { type Case, createTsaLab, DAY_MS } from '../support/tsa-lab.ts';
import { startTsa } from '../support/tsa-service.ts';

/** One bundle and three judges with the same verdict: `verify.py`, the command, and the page /verify in a browser. */

const ends: (() => void | Promise<void>)[] = [];
const tsaLab = createTsaLab();
let lab: BundleLab;
let askPage: AskPage;
let good: Bundle;
let other: Bundle;
beforeAll(async () => {
  const tsa = await startTsa({ onEnd: (close) => void ends.push(close) });
  // The service also trusts the roots of the laboratories. It knows revocations only from the bundles.
  const rootPem = [tsa, tsaLab].map(({ pki }) => pki.rootPem).join('');
  lab = await startBundleLab((close) => void ends.push(close), {}, { ...tsa, pki: { ...tsa.pki, rootPem } });
  askPage = await openVerifyPage((close) => void ends.push(close));
  [good, other] = (await Promise.all([lab.completed(['a', 'b', 'c'], 'do it'), lab.completed(['x', 'y', 'z'])])).map(
    ({ files }) => files,
  ) as [Bundle, Bundle];
});
afterAll(async () => {
  for (const end of ends.reverse()) await end();
});

/** The verdict of the command for a reader who trusts only this root. */
async function judgedByCommand(zip: Buffer, rootPem: string) {
  const { run } = folderWith({ 'bundle.zip': zip, 'root.pem': rootPem });
  const [command] = jsonLines(await run(['verify', '--json', '--ca', 'root.pem', 'bundle.zip']));
  return command!;
}

/** The verdicts of all three for a reader who trusts only this root. */
async function judged(bundle: Bundle, rootPem = lab.tsa.pki.rootPem) {
  const script = await runScript(new Map([...bundle, ['../root.pem', Buffer.from(rootPem)]]), ['--ca', 'root.pem']);
  const zip = await zipped(bundle);
  return { script, command: await judgedByCommand(zip, rootPem), page: await askPage(lab.service.url, zip) };
}

/** In `npm test` all three judge every third row and each revocation; the command, which is the cheapest, judges each row. */
const isShownToAll = (index: number, code: string) => index % tries(1, 3) === 0 || code === 'certificate_revoked';

/** Judges like `judged`, and expects these three verdicts. */
async function expectVerdicts(
  bundle: Bundle,
  rootPem: string | undefined,
  verdicts: readonly [code: number, command: string, page: string],
) {
  const { script, command, page } = await judged(bundle, rootPem);
  expect([script.code, command.verdict, page.verdict]).toEqual(verdicts);
  return { script, command, page };
}
const allValid = [0, 'valid', 'valid'] as const;
/** Seals without a fault, from the laboratory. */
const usual: Pick<Case, 'make'> = { make: ({ specimen }) => specimen() };

describe('W22: a good bundle holds', () => {
  test.each([0, 1, 7, 130])('of %i outputs', async (count) => {
    const { files } = await lab.completed(Array.from({ length: count }, (_, index) => `output ${index}`));
    const { script, command } = await expectVerdicts(files, undefined, allValid);
    expect(script.output).toMatch(/\nHOLDS: these \d+ outputs, in this order, existed at 20\S+Z\n$/);
    expect(command).toMatchObject({ claimed: { output_count: count } });
  });

  test.each([
    ['seals from the laboratory of the forgeries', usual],
    ['a signer whose certificate was later replaced and revoked', replacedLater],
  ])('with %s', async (_what, seals) => {
    await expectVerdicts(resealed(good, tsaLab, seals), tsaLab.pki.rootPem, allValid);
  });
});

describe('W22: a bundle that was unpacked and packed again holds', () => {
  const inFolder = (files: Bundle) => new Map([...files].map(([name, content]) => [`evidence/${name}`, content] as const));
  const added: Bundle = new Map(
    ['.DS_Store', 'proofs/.DS_Store', '__MACOSX/._README.txt', '__MACOSX/proofs/._1.txt', 'Thumbs.db', 'stamps/desktop.ini'].map((name) => [
      name,
      Buffer.from('of a file manager'),
    ]),
  );
  /** Packs files by a program, in a folder of its own. */
  const packedBy = (files: Bundle, program: string, args: readonly string[]) => {
    const folder = mkdtempSync(join(tmpdir(), 'qstamp-repacked-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    for (const [name, content] of files) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), content);
    }
    const names = [...new Set([...files.keys()].map((name) => name.split('/')[0]!))];
    execFileSync(program, [...args, ...names], { cwd: folder, stdio: 'pipe' });
    return readFileSync(join(folder, 'packed.zip'));
  };
  const zip64 =
    'import os, sys, zipfile\nwith zipfile.ZipFile("packed.zip", "w", zipfile.ZIP_DEFLATED) as z:\n for top in sys.argv[1:]:\n' +
    '  for path, _, names in os.walk(top):\n   for name in names:\n    with z.open(os.path.join(path, name), "w", force_zip64=True) as out: out.write(open(os.path.join(path, name), "rb").read())';

  test.each<[how: string, pack: () => Promise<Buffer> | Buffer, ignored: RegExp]>([
    ['with what file managers add', () => zipped(new Map([...good, ...added])), /\.DS_Store, .*and|__MACOSX/],
    ['in one folder, with what file managers add', () => zipped(inFolder(new Map([...good, ...added]))), /: evidence\/, /],
    ['by zip', () => packedBy(good, 'zip', ['-qr', 'packed.zip']), /: (\w+\/, ){2}\w+\/$/],
    ['by zip as a stream, stored, in one folder', () => packedBy(inFolder(good), 'zip', ['-0qr', '-fd', 'packed.zip']), /: evidence\/, /],
    ['by zip in the format for more than 4 GB', () => packedBy(good, 'zip', ['-qr', '-fz', 'packed.zip']), /: (\w+\/, ){2}\w+\/$/],
    [
      'by Python in one folder, in the format for more than 4 GB',
      () => packedBy(inFolder(good), 'python3', ['-c', zip64]),
      /: evidence\/$/,
    ],
  ])('%s', async (_how, pack, ignored) => {
    const zip = await pack();
    const command = await judgedByCommand(zip, lab.tsa.pki.rootPem);
    expect(command).toMatchObject({ verdict: 'valid', not_checked: expect.arrayContaining([expect.stringMatching(ignored)]) });
    const page = await askPage(lab.service.url, zip);
    expect(page.verdict).toBe('valid');
    expect(page.text).toContain('added by other programs, and not a part of the bundle');
  });

  test('also unpacked: the script ignores what file managers add', async () => {
    const { code } = await runScript(new Map([...good, ...added, ['../root.pem', Buffer.from(lab.tsa.pki.rootPem)]]), ['--ca', 'root.pem']);
    expect(code).toBe(0);
  });

  test('but not with another file, another folder with a file, or two closing records', async () => {
    const approval = Buffer.from('The client approves.');
    for (const files of [
      new Map(good).set('approval.txt', approval),
      new Map([...inFolder(good), ['other/approval.txt', approval] as const]),
      new Map([...good, ...inFolder(good)]),
    ])
      expect((await judgedByCommand(await zipped(files), lab.tsa.pki.rootPem)).verdict).not.toBe('valid');
  });
});

describe('W22: all judges detect forgeries', () => {
  test.each(manipulations.map((row, index) => [...row, index] as const))('if %s', async (_what, code, says, bend, index) => {
    const bundle = bend(good, other);
    const reason = expect.stringMatching(new RegExp(`^${code}`));
    expect(await judgedByCommand(await zipped(bundle), lab.tsa.pki.rootPem)).toMatchObject({ verdict: 'not_valid', reason });
    if (!isShownToAll(index, code)) return;
    const { script } = await expectVerdicts(bundle, undefined, [1, 'not_valid', 'not_valid']);
    expect(script.output).toMatch(says);
    expect(script.output).toMatch(/^[ -~\n]*DOES NOT HOLD: [ -~]*\n$/);
  });

  test.each(sealForgeries.map((forgery, index) => [forgery.name, forgery, index] as const))(
    'by a signer: %s',
    async (_, forgery, index) => {
      const bundle = resealed(good, tsaLab, forgery);
      const { rootPem } = tsaLab.pki;
      expect((await judgedByCommand(await zipped(bundle), rootPem)).reason).toMatch(new RegExp(`^${forgery.code}`));
      if (!isShownToAll(index, forgery.code)) return;
      const { script, page } = await expectVerdicts(bundle, rootPem, [1, 'not_valid', 'not_valid']);
      expect(script.output).toMatch(/^[ -~\n]*\nDOES NOT HOLD: [ -~]*\n$/);
      expect(page.text).toContain(forgery.code);
    },
  );

  /** Seals by this key, below the laboratory's CA. */
  const sealedBy = (pair: KeyPairKeyObjectResult, how: SignatureScheme): Pick<Case, 'make'> => ({
    make: ({ specimen }) => {
      const key = { ...pair, scheme: how };
      return specimen({ profile: { identity: issueSigner(tsaLab.pki.intermediate, { nowMs: Date.now() - DAY_MS, key }) } });
    },
  });
  const { rsa } = keys;
  // The types of Node.js do not have this key yet.
  const mlDsa = generateKeyPairSync('ml-dsa-65' as 'ed25519');
  const byMlDsa = scheme('sha512', sequence(objectIdentifier('2.16.840.1.101.3.4.3.18')), (data, key) => sign(null, data, key));
  const trusting = () => tsaLab.pki.rootPem;

  test('an algorithm that a judge does not know is no fault: it could not check', async () => {
    const unknown = resealed(good, tsaLab, sealedBy(mlDsa, byMlDsa));
    const { script, command, page } = await expectVerdicts(unknown, trusting(), [2, 'not_proved', 'not_proved']);
    expect(script.output).toMatch(/\nCOULD NOT CHECK: [ -~]*algorithm[ -~]*\n$/);
    expect(command.reason).toMatch(/^signature_algorithm_unknown: /);
    expect(page.text).toContain('signature_algorithm_unknown');

    // `openssl ts` knows neither of these, but the verifier does.
    for (const [pair, how] of [[rsa, SCHEMES.rsaPssSha256] as const, [generateKeyPairSync('ed25519'), SCHEMES.ed25519] as const])
      await expectVerdicts(resealed(good, tsaLab, sealedBy(pair, how)), trusting(), [2, 'valid', 'valid']);

    const half = withSums(resealed(good, tsaLab, usual).set('root.tst', unknown.get('root.tst')!));
    await expectVerdicts(half, trusting(), [2, 'not_proved', 'not_proved']);
  });

  test('a time-stamp for another hash is a fault, whatever its algorithm is', async () => {
    const unknown = resealed(good, tsaLab, sealedBy(mlDsa, byMlDsa));
    const swapped = withSums(new Map(unknown).set('closing-record.tst', unknown.get('root.tst')!));
    const { command } = await expectVerdicts(swapped, trusting(), [1, 'not_valid', 'not_valid']);
    expect(command.reason).toMatch(/^imprint_mismatch: /);
    const answer = await lab.service.fetch('/api/v1/verify/v1/raw', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ token: unknown.get('root.tst')!.toString('base64'), hash: 'ab'.repeat(32) }),
    });
    expect(await answer.json()).toMatchObject({ valid: false, reason: expect.stringMatching(/^imprint_mismatch: /) });
  });

  test('an own time-stamp of an unknown hash algorithm is only listed', async () => {
    const sha3 = (info: TstInfoFields) => ({
      ...info,
      imprint: { ...info.imprint, algorithmDer: sequence(objectIdentifier(OID.sha3_256)) },
    });
    const token = tokenIn(tsaLab.specimen({ ask: { nonce: undefined }, seams: { fields: sha3 } }).answer)!.toString('base64');
    const bundle = stamps((a, _, c) => [a, `2 token ${token}`, c])(good, other);
    const { script, command } = await expectVerdicts(bundle, undefined, allValid);
    expect(command.own_stamps).toEqual({ valid: 2, not_proved: 1, none: 0 });
    expect(script.output).toContain('\nNOT CHECKED: the own time-stamp of output 2 uses a hash algorithm that this script does not know\n');
  });

  test.each(anchorForgeries)('by an anchor that is %s: it is not trusted, or the output names it', async (_what, edit) => {
    const forged = resealed(good, tsaLab, usual);
    const anchors = edit(lab.tsa.pki.rootPem, tsaLab.pki.rootPem);
    const { code, output } = await runScript(withSums(new Map(forged).set('certificates/anchors.pem', Buffer.from(anchors, 'latin1'))));
    const name = new X509Certificate(tsaLab.pki.rootPem).fingerprint256;
    expect([code, output.includes(`SHA-256 ${name}`)]).toSatisfy(([exit, isNamed]) => exit === 1 || (exit === 3 && isNamed));
  });
});

describe('W22: the page /verify', () => {
  const said = (files: Readonly<Record<string, string>>, zip: Buffer) => askPage(lab.service.url, zip, files);

  test('shows which output each file is, and what was not checked', async () => {
    const { text } = await said({ 'my b': 'b', brief: 'do it', x: 'x' }, await zipped(good));
    expect(text).toMatch(
      /This bundle is valid\s+The 3 recorded files, in this order, existed no later than 20[\d-]+ [\d:]+ UTC, if you trust the provider tsa-1\./,
    );
    for (const words of [
      'Yes: my b is unchanged since',
      'Yes: brief is the briefing of this record, unchanged.',
      'No: x is not in this record.',
      'Not qualified: it is evidence, but no court has to accept the time automatically. What this means',
    ])
      expect(text).toContain(words);
    expect(text).toContain('the signers of the files’ own time-stamps (3)');
  });

  test('claims nothing about a bundle without time-stamps, a bundle stamped by another authority, or an unreadable zip file', async () => {
    const sealless = withSums(new Map([...good].filter(([name]) => !name.endsWith('.tst'))));
    expect(await said({ b: 'b' }, await zipped(sealless))).toMatchObject({
      verdict: 'not_proved',
      text: expect.stringContaining('no_token'),
    });
    const stranger = resealed(good, createTsaLab(), usual);
    const unknown = await said({ b: 'b' }, await zipped(stranger));
    expect(unknown).toMatchObject({ verdict: 'not_proved', text: expect.stringContaining('untrusted_root') });
    expect(unknown.text).toContain('Not proved: b is recorded as file 2');
    const cut = await said({ b: 'b' }, (await zipped(good)).subarray(0, -100));
    expect(cut).toMatchObject({ verdict: 'not_valid', text: expect.stringContaining('bundle_malformed: It cannot be read') });
  });
});

describe('W22: verify.py, with only Python and OpenSSL', () => {
  const rootPem = () => Buffer.from(lab.tsa.pki.rootPem);
  const beside = (files: Readonly<Record<string, string | Buffer>>, bundle = good) =>
    new Map([
      ...bundle,
      ...Object.entries({ 'root.pem': rootPem(), ...files }).map(([name, content]) => [`../${name}`, Buffer.from(content)] as const),
    ]);

  test('without certificates from the reader, it names those of the bundle and exits with 3', async () => {
    const { code, output } = await runScript(good);
    expect(output).toContain(
      `trusted, as this bundle says: 'subject=CN=Root CA,O=qstamp development', SHA-256 ${new X509Certificate(rootPem()).fingerprint256}\n`,
    );
    expect(output).toMatch(/\nHOLDS IF YOU TRUST the certificates listed above: these 3 outputs, in this order, existed at 20\S+Z\n$/);
    expect(code).toBe(3);
  });

  test.each(['--help', '-h'])('%s alone shows the usage; with anything else, it is the name of a file', async (option) => {
    expect(await runScript(good, [option])).toMatchObject({ code: 0, output: expect.stringMatching(/--ca FILE[\s\S]*Exit 0:/) });
    expect(await runScript(good, ['brief', option])).toMatchObject({ code: 2, output: expect.stringMatching(/\nCOULD NOT CHECK: /) });
  });

  test('reports which output a file is, or that it is the briefing, and what it did not check', async () => {
    const { code, output } = await runScript(beside({ 'my b': 'b', brief: 'do it' }), ['--ca', 'root.pem', 'my b', 'brief']);
    expect(output).toContain("\n'my b' is output 2\n'brief' is the briefing: the task of the agent\n");
    expect(output).toContain(
      '\nNOT CHECKED: output types, stamp ids, README.txt, this script, and files that are not listed: no signature covers them\n',
    );
    expect(output).toContain('\nNOT CHECKED: own time-stamps of outputs (3): who signed them: qstamp verify checks that\n');
    expect(code).toBe(0);
    const unknown = await runScript(beside({ x: 'x' }), ['--ca', 'root.pem', 'x']);
    expect(unknown).toMatchObject({
      code: 1,
      output: expect.stringContaining("\n'x' is NO OUTPUT of this workflow, and not its briefing\n"),
    });
  });

  test.each(['contract.pdf is output 2\nHOLDS', "x' is output 2", 'x\u202e2 tuptuo si', '\x1b[2Jx', `x${' '.repeat(200)}HOLDS`])(
    'no file name can look like an output line: %j',
    async (name) => {
      const { code, output } = await runScript(beside({ [name]: 'x' }), ['--ca', 'root.pem', name]);
      expect(code).toBe(1);
      expect(output).toMatch(/^[ -~\n]*$/);
      expect(output).not.toMatch(/^HOLDS| {3}/m);
      expect(output.match(/.* is NO OUTPUT .*/g)).toEqual([expect.stringMatching(/^(['"]).*\1 is NO OUTPUT/)]);
    },
  );

  test('only reports missing time-stamps as missing, and proves nothing without those of root and record', async () => {
    const stamps = String(good.get('stamps/1.txt')).replace(/^2 .*$/m, '2 none');
    const own = await runScript(beside({}, withSums(new Map(good).set('stamps/1.txt', Buffer.from(stamps)))), ['--ca', 'root.pem']);
    expect(own).toMatchObject({
      code: 0,
      output: expect.stringContaining('\nNOT CHECKED: own time-stamps of outputs (1): there is none in this bundle\n'),
    });
    const sealless = withSums(new Map([...good].filter(([name]) => name !== 'closing-record.tst')));
    expect(await runScript(sealless)).toMatchObject({
      code: 1,
      output: expect.stringContaining('this bundle has no time-stamp of closing-record\n'),
    });
  });

  test('loads no module from the folder of the bundle', async () => {
    const { code } = await runScript(new Map([...good, ['hashlib.py', Buffer.from('raise SystemExit(0)')]]));
    expect(code).toBe(3);
  });

  test('exits with 2 if it cannot check', async () => {
    const noOpenssl = await runScript(good, [], []);
    expect(noOpenssl).toMatchObject({ code: 2, output: expect.stringMatching(/^COULD NOT CHECK: .*openssl/) });
    const noFile = await runScript(good, ['--ca', 'missing.pem']);
    expect(noFile).toMatchObject({ code: 2, output: expect.stringMatching(/\nCOULD NOT CHECK: .*missing.pem/) });
    const noAnchor = await runScript(withSums(new Map(good).set('certificates/anchors.pem', Buffer.from('# nobody\n'))));
    expect(noAnchor).toMatchObject({
      code: 2,
      output: expect.stringContaining('COULD NOT CHECK: no certificate is trusted: give one with --ca, in PEM'),
    });
  });
});

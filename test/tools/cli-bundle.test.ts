import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { verify } from '../../src/cli/commands/verify.ts';
import { workflowBundle } from '../../src/cli/commands/workflow.ts';
import type { InclusionProofShown } from '../../src/shared/contract/workflow-proof.ts';
import { issueCrl, pem } from '../../src/tsa/certificate.ts';
import { createPki, issueSigner } from '../../src/tsa/pki.ts';
import { type Bundle, type BundleLab, startBundleLab, unzip, withSums, zipped } from '../support/bundle-lab.ts';
import { answerFor, folderWith, jsonLines } from '../support/cli.ts';
import { getJson, sha256 } from '../support/requests.ts';
import { sharedService } from '../support/service.ts';
import { completeWorkflow, type StartedWorkflow, stampOutput, startWorkflow } from '../support/workflows.ts';

const ends: (() => void | Promise<void>)[] = [];
let lab: BundleLab;
let good: { readonly workflow: StartedWorkflow; readonly zip: Buffer; readonly files: Bundle };
let other: typeof good;
beforeAll(async () => {
  lab = await startBundleLab((close) => void ends.push(close));
  // The briefing of the other workflow is an output of this workflow.
  [good, other] = await Promise.all([lab.completed(['a', 'b', 'c'], 'do it'), lab.completed(['x', 'y', 'z'], 'a')]);
});
afterAll(async () => {
  for (const end of ends.reverse()) await end();
});

const stranger = createPki({ nowMs: Date.now() - 3_600_000 }).rootPem;
const inFolder = (files: Readonly<Record<string, string | Uint8Array>> = {}) =>
  folderWith([verify, workflowBundle], { 'root.pem': lab.tsa.pki.rootPem, 'other.pem': stranger, b: 'b', x: 'x', ...files });

async function judge(zip: Uint8Array, files: readonly string[] = [], ca = 'root.pem') {
  const outcome = await inFolder({ 'bundle.zip': zip }).run(['verify', '--json', '--ca', ca, 'bundle.zip', ...files]);
  return { ...outcome, said: jsonLines(outcome) };
}

describe('W22: qstamp workflow bundle', () => {
  test('saves the bundle of any workflow by its id, and of the own workflow', async () => {
    const own = JSON.stringify({
      qstamp: 1,
      kind: 'workflow',
      service: lab.service.url,
      workflow_id: good.workflow.id,
      workflow_token: good.workflow.token,
      expires_at: '2030-01-01T00:00:00Z',
    });
    const { run, path } = inFolder({ 'qstamp-workflow.json': own });
    const saved = `workflow-${good.workflow.id}.zip`;
    expect(await run(['workflow', 'bundle'], { url: lab.service.url })).toMatchObject({ code: 0, stdout: expect.stringContaining(saved) });
    expect(readFileSync(path(saved)).equals(good.zip)).toBe(true);
    const named = await run(['workflow', 'bundle', other.workflow.id, '--out', 'other.zip'], { url: lab.service.url });
    expect(named.code).toBe(0);
    expect(readFileSync(path('other.zip')).equals(other.zip)).toBe(true);
    writeFileSync(path('mine.zip'), 'mine');
    const kept = await run(['workflow', 'bundle', other.workflow.id, '--out', 'mine.zip'], { url: lab.service.url });
    expect([kept.code, readFileSync(path('mine.zip'), 'utf8')]).toEqual([5, 'mine']);
    expect((await run(['workflow', 'bundle', crypto.randomUUID()], { url: lab.service.url })).code).toBe(3);
  });
});

describe('W22: qstamp verify BUNDLE.zip FILE..., without the service', () => {
  test('a zip file may be an output, and a file in no bundle is judged by the stamp beside it', async () => {
    const output = await zipped(new Map([['a.txt', Buffer.from('a')]]));
    const { run } = inFolder({ 'bundle.zip': good.zip, 'output.zip': output, stamped: 'stamped', 'stamped.tsr': 'no token' });
    const outcome = await run(['verify', '--json', '--ca', 'root.pem', 'bundle.zip', 'output.zip', 'b', 'stamped']);
    expect(jsonLines(outcome).map(({ subject, reason }) => [subject, String(reason).split(':')[0]])).toEqual([
      ['bundle.zip', 'null'],
      ['output.zip', 'not_in_bundle'],
      ['b', 'null'],
      ['stamped', 'der_truncated'],
    ]);
    const { stdout } = await run(['verify', '--ca', 'root.pem', 'bundle.zip', 'stamped']);
    expect(stdout).toMatch(/stamped: NOT VALID.*\n {2}in no bundle that you named: judged by the stamp beside it\n/);
  });

  test('judges the bundle by the reader’s trust anchors, and gives each file its number', async () => {
    const { code, said } = await judge(good.zip, ['b']);
    expect(code).toBe(0);
    expect(said).toMatchObject([
      {
        subject: 'bundle.zip',
        verdict: 'valid',
        valid: true,
        reason: null,
        issued_at: expect.stringMatching(/^20.*Z$/),
        claimed: { workflow_id: good.workflow.id, output_count: 3, tier: 'standard' },
        own_stamps: { valid: 3, not_proved: 0, none: 0 },
        not_checked: [
          expect.stringContaining('was revoked'),
          expect.stringContaining('was revoked'),
          'output types, stamp ids and README.txt: no signature covers them',
        ],
      },
      { subject: 'b', verdict: 'valid', sequence_numbers: [2], content_sha256: sha256('b'), claimed: { output_count: 3 } },
    ]);
    const { stdout } = await inFolder({ 'bundle.zip': good.zip }).run(['verify', '--ca', 'root.pem', 'bundle.zip', 'b']);
    expect(stdout).toMatch(/^bundle\.zip: valid, 3 outputs in this order existed at 20\S*\n {2}a record stamped at 20/);
    expect(stdout).toMatch(/\n {2}not checked: output types, stamp ids and README\.txt: no signature covers them\n/);
    expect(stdout).toMatch(
      /\nb: valid, existed at 20\S*; output 2 of 3 in bundle\.zip\n {2}not checked: whether CN=Development TSA\S* dev[^\n]*\n2 files: 2 valid\n$/,
    );
    expect(stdout).not.toContain('closing record signed by');
  });

  test('names the file recorded as briefing, which existed when the closing record was stamped', async () => {
    const { run } = inFolder({ 'bundle.zip': good.zip, brief: 'do it' });
    const { code, stdout } = await run(['verify', '--json', '--ca', 'root.pem', 'bundle.zip', 'brief']);
    const [bundle, brief] = jsonLines({ stdout });
    expect([code, brief]).toEqual([0, expect.objectContaining({ verdict: 'valid', is_briefing: true, sequence_numbers: [] })]);
    expect(brief).toMatchObject({ issued_at: bundle?.closing_record_issued_at, claimed: { workflow_id: good.workflow.id } });
    const inWords = await run(['verify', '--ca', 'root.pem', 'bundle.zip', 'brief']);
    expect(inWords.stdout).toMatch(
      /\nbrief: valid, existed at 20\S*; the briefing in bundle\.zip, as the record says, and not one of its outputs\n {2}not checked: /,
    );
  });

  test('without the right trust anchor nothing is proved, whatever certificates the bundle contains', async () => {
    const { run } = inFolder({ 'bundle.zip': good.zip, brief: 'do it' });
    const outcome = await run(['verify', '--json', '--ca', 'other.pem', 'bundle.zip', 'b', 'brief']);
    const unproved = { verdict: 'not_proved', issued_at: null, claimed: null };
    expect([outcome.code, ...jsonLines(outcome)]).toMatchObject([
      1,
      { ...unproved, reason: expect.stringMatching(/^untrusted_root: /) },
      unproved,
      unproved,
    ]);
  });

  test('V9: lists what was not checked for each token that proves a time: those of root, closing record and output', async () => {
    const dayMs = 24 * 3_600_000;
    const nowMs = Date.now();
    const elsewhere = createPki({ nowMs: nowMs - 900 * dayMs });
    const second = issueSigner(elsewhere.intermediate, { nowMs, commonName: 'Second TSA', notAfterMs: nowMs + 10 * dayMs });
    const [notBeforeMs, notAfterMs] = [nowMs - 800 * dayMs, nowMs - 10 * dayMs];
    const ended = issueSigner(elsewhere.intermediate, { nowMs, commonName: 'Ended TSA', notBeforeMs, notAfterMs });
    const own = answerFor('b', { identity: ended, atMs: nowMs - 100 * dayMs }).toString('base64');
    const record = String(good.files.get('closing-record.json'));
    const bent = new Map(good.files)
      .set('closing-record.tst', answerFor(record, { identity: second, atMs: nowMs }))
      .set('stamps/1.txt', Buffer.from(String(good.files.get('stamps/1.txt')).replace(/^2 .*$/m, `2 token ${own}`)));
    const { intermediate, root, rootPem } = lab.tsa.pki;
    const list = { number: 1n, thisUpdateMs: nowMs - 1_000, nextUpdateMs: nowMs + dayMs, revoked: [] };
    const { run } = inFolder({
      'bundle.zip': await zipped(withSums(bent)),
      'both.pem': rootPem + elsewhere.rootPem,
      'lists.pem': [intermediate, root].map((issuer) => pem('X509 CRL', issueCrl(list, issuer))).join(''),
      a: 'a',
      brief: 'do it',
    });
    const line = ['--ca', 'both.pem', '--crl', 'lists.pem', 'bundle.zip', 'a', 'b', 'brief'];
    const names = (common: string) => `CN=${common},O=qstamp development`;
    const unknown = (common: string) =>
      `whether ${names(common)} was revoked: the list with the name of its issuer has no valid signature of the issuer`;
    const ofSecond = [unknown('Second TSA'), unknown('Time-Stamping CA')];

    const outcome = await run(['verify', '--json', ...line]);
    expect(outcome.code).toBe(0);
    const [bundle, a, b, brief] = jsonLines(outcome);
    expect(bundle).toMatchObject({
      signer: { subject: names('Development TSA') },
      closing_record_signer: { subject: names('Second TSA') },
      not_checked: [...ofSecond, 'output types, stamp ids and README.txt: no signature covers them'],
      certificates_ended_at: null,
    });
    expect((bundle!.revocation as { status: string }[]).map(({ status }) => status)).toEqual(['good', 'good', 'unknown', 'unknown']);
    expect(a).toMatchObject({ signer: { subject: names('Development TSA') }, not_checked: [], certificates_ended_at: null });
    const endedAt = new Date(Math.floor(notAfterMs / 1000) * 1000).toISOString().replace('.000', '');
    const stolen = expect.stringContaining(`stolen after its certificate expired at ${endedAt}`);
    const ofOwn = [unknown('Ended TSA'), unknown('Time-Stamping CA'), stolen];
    expect(b).toMatchObject({ signer: { subject: names('Ended TSA') }, not_checked: ofOwn, certificates_ended_at: endedAt });
    expect(b?.revocation).toHaveLength(2);
    expect(brief).toMatchObject({ signer: { subject: names('Second TSA') }, not_checked: ofSecond, certificates_ended_at: null });

    const { stdout } = await run(['verify', ...line]);
    expect(stdout.match(/\n {2}closing record signed by .*/g)).toEqual([`\n  closing record signed by ${names('Second TSA')}`]);
    expect(stdout).toContain(`\n  not checked: ${ofSecond.join('; ')}\n  not checked: output types`);
    expect(stdout).toMatch(
      /\na: valid, .* output 1 of 3 in bundle\.zip\nb: valid, .* output 2 of 3 in bundle\.zip\n {2}not checked: .*stolen after/,
    );
    expect(stdout).toMatch(/\nbrief: valid, .*\n {2}not checked: whether CN=Second TSA,.*\n4 files: 4 valid\n$/);

    const later = vi.spyOn(Date, 'now').mockReturnValue(nowMs + 365 * dayMs);
    onTestFinished(() => later.mockRestore());
    const [ends] = jsonLines(await run(['verify', '--json', ...line]));
    expect(ends).toMatchObject({ verdict: 'valid', certificates_ended_at: expect.stringMatching(/Z$/) });
    expect(ends?.not_checked).toContainEqual(expect.stringContaining(`certificate expired at ${ends?.certificates_ended_at}`));
  });

  test('judges each bundle separately, and looks for a file in all of them, in any argument order', async () => {
    const { run } = inFolder({ 'bundle.zip': good.zip, 'other.zip': other.zip, a: 'a', q: 'q' });
    const { code, stdout } = await run(['verify', '--json', '--ca', 'root.pem', 'x', 'bundle.zip', 'other.zip', 'b', 'a']);
    expect(code).toBe(0);
    expect(jsonLines({ stdout })).toMatchObject([
      { subject: 'bundle.zip', verdict: 'valid', claimed: { workflow_id: good.workflow.id } },
      { subject: 'other.zip', verdict: 'valid', claimed: { workflow_id: other.workflow.id } },
      { subject: 'x', verdict: 'valid', bundle: 'other.zip', sequence_numbers: [1], claimed: { workflow_id: other.workflow.id } },
      { subject: 'b', verdict: 'valid', bundle: 'bundle.zip', sequence_numbers: [2], claimed: { workflow_id: good.workflow.id } },
      { subject: 'a', verdict: 'valid', bundle: 'bundle.zip', sequence_numbers: [1], is_briefing: false },
      { subject: 'a', verdict: 'valid', bundle: 'other.zip', sequence_numbers: [], is_briefing: true },
    ]);
    const nowhere = await run(['verify', '--json', '--ca', 'root.pem', 'bundle.zip', 'other.zip', 'q']);
    expect([nowhere.code, jsonLines(nowhere)[2]]).toMatchObject([
      1,
      { verdict: 'not_valid', reason: expect.stringMatching(/^not_in_bundle: /), sequence_numbers: [] },
    ]);
  });

  test('an invalid or unreadable bundle does not affect a file in another bundle', async () => {
    const bent = await zipped(withSums(new Map(other.files).set('root.bin', Buffer.from('x'))));
    const { run } = inFolder({ 'bundle.zip': good.zip, 'bent.zip': bent, 'rubbish.zip': 'rubbish' });
    const { code, stdout } = await run(['verify', '--json', '--ca', 'root.pem', 'bent.zip', 'bundle.zip', 'b', 'x']);
    expect(code).toBe(1);
    expect(jsonLines({ stdout })).toMatchObject([
      { subject: 'bent.zip', verdict: 'not_valid' },
      { subject: 'bundle.zip', verdict: 'valid' },
      { subject: 'b', verdict: 'valid', bundle: 'bundle.zip' },
      { subject: 'x', verdict: 'not_valid', reason: expect.stringMatching(/^bundle_not_valid: bent\.zip is not valid/) },
    ]);
    const unread = await run(['verify', '--json', '--ca', 'root.pem', 'rubbish.zip', 'bundle.zip', 'b', 'x']);
    expect(jsonLines(unread).map(({ subject, verdict }) => [subject, verdict])).toEqual([
      ['rubbish.zip', undefined],
      ['bundle.zip', 'valid'],
      ['b', 'valid'],
      ['x', undefined],
    ]);
  });

  test('only reports missing time-stamps of the bundle as missing', async () => {
    const stamps = String(good.files.get('stamps/1.txt')).replace(/^2 .*$/m, '2 none');
    const withoutOwn = withSums(new Map(good.files).set('stamps/1.txt', Buffer.from(stamps)));
    const own = await judge(await zipped(withoutOwn));
    expect(own).toMatchObject({ code: 0, said: [{ verdict: 'valid', own_stamps: { valid: 2, none: 1 } }] });
    expect(own.said[0]?.not_checked).toContain('the own time-stamps of 1 output: there is none in this bundle');
    const withoutSeal = withSums(new Map([...good.files].filter(([name]) => name !== 'closing-record.tst')));
    const { run } = inFolder({ 'own.zip': await zipped(withoutOwn), 'seal.zip': await zipped(withoutSeal) });
    const { stdout } = await run(['verify', '--ca', 'root.pem', 'own.zip', 'seal.zip']);
    expect(stdout).toContain('\n  this bundle has no time-stamp of the closing record\n');
    expect(stdout).not.toContain('mock');
  });

  test('a bundle of the mock provider is consistent, but proves nothing', async () => {
    const service = await sharedService();
    const workflow = await startWorkflow(service);
    await stampOutput(service, workflow, { output_hash: sha256('b') });
    await completeWorkflow(service, workflow);
    const zip = Buffer.from(await (await service.fetch(`/workflow/${workflow.id}/evidence.zip`)).arrayBuffer());
    expect(String((await unzip(zip)).get('README.txt'))).toContain('no time-stamp of the Merkle root and of the closing record');
    const { code, said } = await judge(zip, ['b']);
    expect(code).toBe(1);
    expect(said).toMatchObject([
      { verdict: 'not_proved', own_stamps: { valid: 0, none: 1 } },
      { verdict: 'not_proved', sequence_numbers: [1] },
    ]);
  });

  const damaged = () => {
    const zip = Buffer.from(good.zip);
    // The octets follow their name. No block of deflate has this type (RFC 1951 §3.2.3).
    zip[zip.indexOf('verify.py') + 'verify.py'.length] = 0x07;
    return zip;
  };
  const rubbish: [what: string, says: string, make: () => Uint8Array | Promise<Uint8Array>][] = [
    ['an empty file', 'it is not a zip file', () => Buffer.alloc(0)],
    ['a bundle that is cut off', 'not an evidence bundle', () => good.zip.subarray(0, -100)],
    ['another zip file', 'it has no closing-record.json', () => zipped(new Map([['a', Buffer.from('a')]]))],
    ['a damaged file', 'this evidence bundle cannot be used: verify.py is damaged; get it again', damaged],
    ['a file twice', 'is in it more than once', () => zipped(new Map([...good.files, ['README.TXT', Buffer.from('All is well.\n')]]))],
  ];
  test.each(rubbish)('refuses %s in one sentence', async (_what, says, make) => {
    const { code, said, stderr } = await judge(await make());
    expect([code, stderr, said.length]).toEqual([1, '', 1]);
    expect(said[0]?.error).toMatchObject({ message: expect.stringContaining(says) });
  });

  /** A folder with the unpacked bundle in `unpacked`. */
  const unpacked = (more: Readonly<Record<string, string>> = {}, files: Bundle = good.files) => {
    const folder = inFolder();
    for (const [name, content] of [...files, ...Object.entries(more)]) {
      const path = folder.path(`unpacked/${name}`);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, content);
    }
    return folder;
  };

  test('an unpacked bundle is judged like the zip file, also inside a folder', async () => {
    const { run, path } = unpacked({ '.DS_Store': 'x', '__MACOSX/._README.txt': 'x' });
    const { code, stdout } = await run(['verify', '--json', '--ca', 'root.pem', 'unpacked', 'b']);
    expect([code, ...jsonLines({ stdout })]).toMatchObject([
      0,
      { subject: 'unpacked', verdict: 'valid', claimed: { workflow_id: good.workflow.id } },
      { subject: 'b', verdict: 'valid', bundle: 'unpacked', sequence_numbers: [2] },
    ]);
    const names = ['.DS_Store', '__MACOSX/', '__MACOSX/._README.txt', 'certificates/', 'proofs/', 'stamps/'];
    const notChecked = (jsonLines({ stdout })[0]?.not_checked ?? []) as string[];
    const [, added] = /^added by other programs, and not a part of the bundle: (.*)$/m.exec(notChecked.join('\n')) ?? [];
    expect(added?.split(', ').sort()).toEqual(names);
    const outer = await run(['verify', '--json', '--ca', 'root.pem', path('.')]);
    expect(jsonLines(outer).find(({ subject }) => String(subject).endsWith('unpacked'))).toMatchObject({ verdict: 'valid' });
  });

  test.each<[what: string, reason: RegExp, make: () => ReturnType<typeof unpacked>]>([
    ['was changed', /^bundle_changed|^chain/, () => unpacked({ 'outputs.txt': 'x' })],
    ['has another file', /^bundle_malformed: approval\.txt does not belong to a bundle\.$/, () => unpacked({ 'approval.txt': 'x' })],
    [
      'lacks a file',
      /^bundle_malformed: root\.bin is missing\.$/,
      () => unpacked({}, new Map([...good.files].filter(([name]) => name !== 'root.bin'))),
    ],
  ])('an unpacked bundle that %s is not valid', async (_what, reason, make) => {
    const outcome = await make().run(['verify', '--json', '--ca', 'root.pem', 'unpacked']);
    expect([outcome.code, jsonLines(outcome)[0]]).toMatchObject([1, { verdict: 'not_valid', reason: expect.stringMatching(reason) }]);
  });

  test('a stamped zip file is judged by its stamp', async () => {
    const { run } = inFolder({ 'bundle.zip': good.zip, 'bundle.zip.tst': good.files.get('root.tst')! });
    expect(await run(['verify', '--ca', 'root.pem', 'bundle.zip'])).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('imprint_mismatch'),
    });
    expect((await run(['verify', 'missing.zip'])).code).toBe(5);
    expect((await inFolder({ 'bundle.zip': good.zip }).run(['verify', '--online', 'bundle.zip'])).code).toBe(2);
  });
});

describe('W21: qstamp verify --proof, without the service', () => {
  let whole: InclusionProofShown;
  let otherProof: InclusionProofShown;
  let doubled: InclusionProofShown;
  beforeAll(async () => {
    const { workflow: longer } = await lab.completed(['a', 'b', 'c', 'c']);
    const proofOf = async ({ id }: StartedWorkflow, number: number) =>
      (await getJson(lab.service, `/api/v1/workflow/${id}/proof/${number}`)).body as InclusionProofShown;
    [whole, otherProof, doubled] = await Promise.all([proofOf(good.workflow, 2), proofOf(other.workflow, 2), proofOf(longer, 4)]);
  });

  const withProof = (proof: unknown) => inFolder({ 'proof.json': JSON.stringify(proof), a: 'a', c: 'c', y: 'y' });
  async function judgeProof(proof: unknown, file = 'b', ca = 'root.pem') {
    const { code, stdout } = await withProof(proof).run(['verify', '--json', '--ca', ca, '--proof', 'proof.json', file]);
    return { code, result: JSON.parse(stdout) as Record<string, unknown> };
  }

  test('proves that a file existed when a record was stamped; workflow and number from the record are shown as claims', async () => {
    const { record, stamp } = whole.closing_record!;
    const { said } = await judge(good.zip);
    expect(await judgeProof(whole)).toMatchObject({
      code: 0,
      result: {
        verdict: 'valid',
        issued_at: said[0]?.closing_record_issued_at,
        content_sha256: sha256('b'),
        token_id: null,
        claimed_token_id: stamp.stamp_id,
        claimed: { workflow_id: record.workflow_id, sequence_number: 2, output_count: 3 },
      },
    });
    const { stdout } = await withProof(whole).run(['verify', '--ca', 'root.pem', '--proof', 'proof.json', 'b']);
    expect(stdout).toMatch(
      new RegExp(`^b: valid, existed at 20\\S+Z\n {2}a record stamped then says: output 2 of 3 of workflow ${record.workflow_id}\n`),
    );
  });

  // The table of inclusion proofs that do not hold is judged in test/verifier/merkle-refusals.test.ts.
  const seal = () => whole.closing_record!;
  test.each<[what: string, proof: () => unknown, reason: string, file?: string]>([
    ['another file', () => whole, 'inclusion_proof_invalid', 'x'],
    ['a wrong index', () => ({ ...whole, leaf_index: 0, sequence_number: 1 }), 'inclusion_proof_invalid'],
    ['a number that is not that of the leaf', () => ({ ...whole, sequence_number: 3 }), 'inclusion_proof_invalid'],
    ['[A,B,C,C] under the record of [A,B,C]', () => ({ ...doubled, closing_record: seal() }), 'inclusion_proof_invalid', 'c'],
    ["another workflow's proof", () => ({ ...otherProof, closing_record: seal() }), 'inclusion_proof_invalid', 'y'],
    ["another workflow's name", () => ({ ...whole, workflow_id: otherProof.workflow_id }), 'inclusion_proof_invalid'],
    [
      'a record that was changed',
      () => ({ ...whole, closing_record: { ...seal(), record: { ...seal().record, output_count: 4 } } }),
      'imprint_mismatch',
    ],
    [
      "another record's token",
      () => ({ ...whole, closing_record: { ...seal(), stamp: otherProof.closing_record!.stamp } }),
      'imprint_mismatch',
    ],
    ['no token', () => ({ ...whole, closing_record: { ...seal(), stamp: { ...seal().stamp, token: 'AAAA' } } }), ''],
  ])('48: refuses %s', async (_what, proof, reason, file) => {
    const { code, result } = await judgeProof(proof(), file);
    expect([code, result.verdict]).toEqual([1, 'not_valid']);
    expect(result.reason).toMatch(new RegExp(`^${reason}`));
    expect(result).toMatchObject({ claimed: null, issued_at: null });
  });

  test('not proved without a trusted token: an open workflow, an anchor that does not reach the token', async () => {
    expect(await judgeProof({ ...whole, closing_record: null })).toMatchObject({ code: 1, result: { verdict: 'not_proved' } });
    expect(await judgeProof(whole, 'b', 'other.pem')).toMatchObject({ code: 1, result: { verdict: 'not_proved' } });
  });

  test('a file that is not a proof is reported, and nothing is judged', async () => {
    for (const proof of ['rubbish', {}, { ...whole, inclusion_path: ['00'] }, { ...whole, closing_record: { ...seal(), record: {} } }]) {
      const { code, result } = await judgeProof(proof);
      expect([code, JSON.stringify(result)]).toEqual([5, expect.stringContaining('is not an inclusion proof')]);
    }
    const { run } = withProof(whole);
    expect((await run(['verify', '--proof', 'missing.json', 'b'])).code).toBe(5);
    expect((await run(['verify', '--proof', 'proof.json', 'a', 'b'])).code).toBe(2);
    expect((await run(['verify', '--proof', 'proof.json', '--online', 'b'])).code).toBe(2);
  });
});

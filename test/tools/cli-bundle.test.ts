import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { InclusionProofShown } from '../../src/shared/contract/workflow-proof.ts';
import { type Bundle, type BundleLab, startBundleLab, unzip, withSums, zipped } from '../support/bundle-lab.ts';
import { createPki, issueCrl, issueSigner, pem } from '../support/certificates.ts';
import { answerFor, type Files, folderWith, hourMs, jsonLines, pki, stranger } from '../support/cli.ts';
import { getJson, sha256 } from '../support/requests.ts';
import { sharedService } from '../support/service.ts';
import { completeWorkflow, type StartedWorkflow, stampOutput, startWorkflow } from '../support/workflows.ts';

/** `qstamp workflow bundle`, and `qstamp verify` of bundles (W22) and Merkle proofs (W21); invalid bundles are in test/verifier/bundle-verdicts.test.ts. */

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

const bent = (edits: Readonly<Record<string, string | Buffer | undefined>>) => {
  const files = new Map(good.files);
  for (const [name, content] of Object.entries(edits)) content === undefined ? files.delete(name) : files.set(name, Buffer.from(content));
  return zipped(withSums(files));
};
const stampsWith = (line: string) => String(good.files.get('stamps/1.txt')).replace(/^2 .*$/m, line);

const inFolder = (files: Files = {}) => {
  const known = { 'root.pem': lab.tsa.pki.rootPem, 'other.pem': stranger.rootPem, a: 'a', b: 'b', x: 'x', brief: 'do it' };
  return folderWith({ ...known, 'bundle.zip': good.zip, 'other.zip': other.zip, ...files });
};
/** The exit code and what is said about each file; the reason is its code. */
async function judge(line: string, files: Files = {}, ca = 'root.pem') {
  const outcome = await inFolder(files).run(['verify', '--json', '--ca', ca, ...line.split(' ')]);
  const said = jsonLines(outcome).map((one) => ({ ...one, reason: String(one.reason).split(':')[0] }) as Record<string, unknown>);
  return { code: outcome.code, said, verdicts: said.map(({ file, verdict, reason }) => [file, verdict, reason].join(' ')) };
}
const inWords = async (line: string, files: Files = {}) =>
  (await inFolder(files).run(['verify', '--ca', 'root.pem', ...line.split(' ')])).stdout;

test('workflow bundle saves the bundle of any workflow by its id, and of the own workflow, and overwrites nothing', async () => {
  const { workflow } = good;
  const own = { workflow_id: workflow.id, workflow_token: workflow.token, expires_at: '2030-01-01T00:00:00Z' };
  const file = JSON.stringify({ qstamp: 1, kind: 'workflow', service: lab.service.url, ...own });
  const { run, path } = inFolder({ 'qstamp-workflow.json': file, mine: 'mine' });
  const save = async (...line: string[]) => (await run(['workflow', 'bundle', ...line], { url: lab.service.url })).code;
  expect([await save(), await save(other.workflow.id, '--out', 'saved')]).toEqual([0, 0]);
  expect(readFileSync(path(`workflow-${workflow.id}.zip`)).equals(good.zip)).toBe(true);
  expect(readFileSync(path('saved')).equals(other.zip)).toBe(true);
  expect([await save(workflow.id, '--out', 'mine'), await save(crypto.randomUUID())]).toEqual([5, 3]);
  expect(readFileSync(path('mine'), 'utf8')).toBe('mine');
});

test('a bundle is judged by the anchors of the reader, and each file has its number or is the briefing', async () => {
  const { code, said } = await judge('bundle.zip b brief');
  const [bundle, b, brief] = said;
  const claimed = { workflow_id: good.workflow.id, output_count: 3 };
  expect([code, bundle]).toMatchObject([0, { verdict: 'valid', valid: true, claimed, own_stamps: { valid: 3, not_proved: 0, none: 0 } }]);
  const revoked = expect.stringContaining('was revoked');
  expect(bundle?.not_checked).toEqual([revoked, revoked, 'output types, stamp ids and README.txt: no signature covers them']);
  expect(b).toMatchObject({ verdict: 'valid', sequence_numbers: [2], is_briefing: false, content_sha256: sha256('b'), claimed });
  expect(brief).toMatchObject({ verdict: 'valid', sequence_numbers: [], is_briefing: true, claimed });
  expect(brief?.issued_at).toBe(bundle?.closing_record_issued_at);

  const text = await inWords('bundle.zip b brief');
  expect(text).toMatch(/^bundle\.zip: valid, 3 outputs in this order existed at 20\S*\n {2}a record stamped at 20/);
  expect(text).toContain('\n  not checked: output types, stamp ids and README.txt: no signature covers them\n');
  expect(text).toMatch(/\nb: valid, existed at 20\S*; output 2 of 3 in bundle\.zip\n {2}not checked: whether CN=Development TSA/);
  expect(text).toMatch(
    /\nbrief: .* the briefing in bundle\.zip, as the record says, and not one of its outputs\n {2}not[^\n]*\n3 files: 3 valid/,
  );
  expect(text).not.toContain('closing record signed by');

  const unproved = await judge('bundle.zip b brief', {}, 'other.pem');
  const verdicts = ['bundle.zip not_proved untrusted_root', ...['b', 'brief'].map((name) => `${name} not_proved bundle_not_proved`)];
  expect([unproved.code, ...unproved.verdicts]).toEqual([1, ...verdicts]);
  for (const one of unproved.said) expect(one).toMatchObject({ issued_at: null, claimed: null });
});

test('V9: lists what was not checked for each token that proves a time: those of root, closing record and output', async () => {
  const dayMs = 24 * hourMs;
  const nowMs = Date.now();
  const elsewhere = createPki({ nowMs: nowMs - 900 * dayMs });
  const second = issueSigner(elsewhere.intermediate, { nowMs, commonName: 'Second TSA', notAfterMs: nowMs + 10 * dayMs });
  const notAfterMs = Math.floor(nowMs / 1000) * 1000 - 10 * dayMs;
  const ended = issueSigner(elsewhere.intermediate, { nowMs, commonName: 'Ended TSA', notBeforeMs: nowMs - 800 * dayMs, notAfterMs });
  const own = answerFor('b', { identity: ended, atMs: nowMs - 100 * dayMs }).toString('base64');
  const record = String(good.files.get('closing-record.json'));
  const { intermediate, root, rootPem } = lab.tsa.pki;
  const list = { number: 1n, thisUpdateMs: nowMs - 1_000, nextUpdateMs: nowMs + dayMs, revoked: [] };
  const files = {
    'bundle.zip': await bent({
      'closing-record.tst': answerFor(record, { identity: second, atMs: nowMs }),
      'stamps/1.txt': stampsWith(`2 token ${own}`),
    }),
    'root.pem': rootPem + elsewhere.rootPem,
    'lists.pem': [intermediate, root].map((issuer) => pem('X509 CRL', issueCrl(list, issuer))).join(''),
  };
  const line = '--crl lists.pem bundle.zip a b brief';
  const [bundle, ...others] = (await judge(line, files)).said;
  const named = (name: string) => ({ subject: `CN=${name},O=qstamp development` });
  const unknown = (name: string) => expect.stringMatching(`^whether CN=${name},.* was revoked: the list .* has no valid signature`);
  const [ofSecond, ofCa] = [unknown('Second TSA'), unknown('Time-Stamping CA')];
  const endedAt = new Date(notAfterMs).toISOString().replace('.000', '');
  expect(bundle).toMatchObject({
    signer: named('Development TSA'),
    closing_record_signer: named('Second TSA'),
    revocation: [{ status: 'good' }, { status: 'good' }, { status: 'unknown' }, { status: 'unknown' }],
    not_checked: [ofSecond, ofCa, expect.stringMatching(/^output types/)],
    certificates_ended_at: null,
  });
  const stolen = expect.stringContaining(`stolen after its certificate expired at ${endedAt}`);
  expect(others).toMatchObject([
    { signer: named('Development TSA'), not_checked: [], certificates_ended_at: null },
    { signer: named('Ended TSA'), not_checked: [unknown('Ended TSA'), ofCa, stolen], certificates_ended_at: endedAt, revocation: [{}, {}] },
    { signer: named('Second TSA'), not_checked: [ofSecond, ofCa], certificates_ended_at: null },
  ]);
  const text = await inWords(line, files);
  expect(text.match(/\n {2}closing record signed by .*/g)).toEqual(['\n  closing record signed by CN=Second TSA,O=qstamp development']);
  expect(text).toMatch(/\na: valid, .* in bundle\.zip\nb: valid, .* in bundle\.zip\n {2}not checked: .*stolen after/);

  vi.useFakeTimers({ toFake: ['Date'], now: nowMs + 365 * dayMs });
  const [later] = (await judge(line, files).finally(() => vi.useRealTimers())).said;
  expect(later).toMatchObject({ verdict: 'valid', certificates_ended_at: expect.stringMatching(/Z$/) });
  expect(later?.not_checked).toContainEqual(expect.stringContaining(`certificate expired at ${later?.certificates_ended_at}`));
});

test('a file is looked for in all bundles, in any order; one that is not valid or not readable affects no other', async () => {
  const { code, said } = await judge('x bundle.zip other.zip b a');
  const places = said.map(({ file, bundle, sequence_numbers, is_briefing }) => `${file} ${bundle} ${sequence_numbers} ${is_briefing}`);
  const ofBundles = ['bundle.zip', 'other.zip'].map((name) => `${name} undefined undefined undefined`);
  const ofFiles = ['x other.zip 1 false', 'b bundle.zip 2 false', 'a bundle.zip 1 false', 'a other.zip  true'];
  expect([code, ...places]).toEqual([0, ...ofBundles, ...ofFiles]);
  const files = {
    'bent.zip': await bent({ 'root.bin': 'x' }),
    'rubbish.zip': 'rubbish',
    'output.zip': await zipped(new Map([['a.txt', Buffer.from('a')]])),
    stamped: 'stamped',
    'stamped.tsr': 'no token',
  };
  for (const [line, verdicts] of [
    ['bent.zip bundle.zip b x', 'bent.zip not_valid root_mismatch, bundle.zip valid null, b valid null, x not_valid bundle_not_valid'],
    ['rubbish.zip bundle.zip b x', 'rubbish.zip  undefined, bundle.zip valid null, b valid null, x  undefined'],
    ['bundle.zip x output.zip', 'bundle.zip valid null, x not_valid not_in_bundle, output.zip not_valid not_in_bundle'],
    ['bundle.zip stamped', 'bundle.zip valid null, stamped not_valid unknown_format'],
  ] as const)
    expect((await judge(line, files)).verdicts.join(', '), line).toBe(verdicts);
  expect(await inWords('bundle.zip stamped', files)).toContain('\n  in no bundle that you named: judged by the stamp beside it\n');
});

test('a bundle is judged as a bundle even if a stamp is beside it, and the stamp is judged too', async () => {
  const stamped = (name: string, zip: Buffer) => ({ [`in/${name}`]: zip, [`in/${name}.tsr`]: answerFor(zip) });
  const named = `workflow-${good.workflow.id}.zip`;
  const emptied = `workflow-${other.workflow.id}.zip`;
  const plain = await zipped(new Map([['a.txt', Buffer.from('a')]]));
  const files = {
    'stamper.pem': pki.rootPem,
    ...stamped('changed.zip', await bent({ 'root.bin': 'x' })),
    ...stamped('plain.zip', plain),
    ...stamped(named, good.zip.subarray(0, -100)),
    [emptied]: plain,
    [`${emptied}.tsr`]: answerFor(plain),
  };
  const asBundle = 'in/changed.zip not_valid root_mismatch';
  const byStamp = 'in/changed.zip.tsr valid null';
  for (const [line, code, verdicts] of [
    ['in/changed.zip', 1, [asBundle, byStamp]],
    ['in', 1, [asBundle, `in/${named}  undefined`, byStamp, `in/${named}.tsr valid null`, 'in/plain.zip valid null']],
    ['in/plain.zip', 0, ['in/plain.zip valid null']],
    [`${emptied} bundle.zip`, 1, [`${emptied}  undefined`, 'bundle.zip valid null', `${emptied}.tsr valid null`]],
  ] as const)
    expect(await judge(`--ca stamper.pem ${line}`, files), line).toMatchObject({ code, verdicts });
});

test('missing time-stamps are said to be missing, and a bundle of the mock provider proves nothing', async () => {
  const files = {
    'own.zip': await bent({ 'stamps/1.txt': stampsWith('2 none') }),
    'seal.zip': await bent({ 'closing-record.tst': undefined }),
  };
  expect(await judge('own.zip', files)).toMatchObject({ code: 0, said: [{ verdict: 'valid', own_stamps: { valid: 2, none: 1 } }] });
  const text = await inWords('own.zip seal.zip', files);
  expect(text).toContain('\n  not checked: the own time-stamps of 1 output: there is none in this bundle\n');
  expect(text).toContain('\n  this bundle has no time-stamp of the closing record\n');

  const service = await sharedService();
  const workflow = await startWorkflow(service);
  await stampOutput(service, workflow, { output_hash: sha256('b') });
  await completeWorkflow(service, workflow);
  const zip = Buffer.from(await (await service.fetch(`/workflow/${workflow.id}/evidence.zip`)).arrayBuffer());
  expect(String((await unzip(zip)).get('README.txt'))).toContain('no time-stamp of the Merkle root and of the closing record');
  const mock = await judge('mock.zip b', { 'mock.zip': zip });
  expect(mock).toMatchObject({ code: 1, verdicts: ['mock.zip not_proved no_token', 'b not_proved bundle_not_proved'] });
  expect(mock.said).toMatchObject([{ own_stamps: { valid: 0, none: 1 } }, { sequence_numbers: [1] }]);
});

test.each<[what: string, says: string, zip: () => Uint8Array | Promise<Uint8Array>]>([
  ['an empty file', 'it is not a zip file', () => Buffer.alloc(0)],
  ['a bundle that is cut off', 'not an evidence bundle', () => good.zip.subarray(0, -100)],
  ['another zip file', 'it has no closing-record.json', () => zipped(new Map([['a', Buffer.from('a')]]))],
  [
    'a damaged file',
    'this evidence bundle cannot be used: verify.py is damaged; get it again',
    // The octets follow their name. No block of deflate has this type (RFC 1951 §3.2.3).
    () => Buffer.from(good.zip).fill(0x07, good.zip.indexOf('verify.py') + 9, good.zip.indexOf('verify.py') + 10),
  ],
  ['a file twice', 'is in it more than once', () => zipped(new Map([...good.files, ['README.TXT', Buffer.from('All is well.\n')]]))],
])('%s is refused in one sentence', async (_what, says, zip) => {
  const { code, said } = await judge('bad.zip', { 'bad.zip': await zip() });
  expect([code, said]).toMatchObject([1, [{ error: { message: expect.stringContaining(says) } }]]);
});

test('a verify.py that is not ours is named', async () => {
  const zip = await zipped(withSums(new Map(good.files).set('verify.py', Buffer.from('print()'))));
  const { said } = await judge('it.zip', { 'it.zip': zip });
  expect(said[0]).toMatchObject({
    verdict: 'valid',
    not_checked: expect.arrayContaining([expect.stringMatching(/^verify\.py: it is not/)]),
  });
});

test('an unpacked bundle is judged like the zip file, also inside a folder', async () => {
  const unpacked = (more: Files, without = '') => {
    const files = [...good.files].filter(([name]) => name !== without);
    return Object.fromEntries([...files, ...Object.entries(more)].map(([name, content]) => [`unpacked/${name}`, content]));
  };
  const added = unpacked({ '.DS_Store': 'x', '__MACOSX/._README.txt': 'x' });
  const { code, said } = await judge('unpacked b', added);
  expect([code, ...said]).toMatchObject([0, { verdict: 'valid' }, { verdict: 'valid', bundle: 'unpacked', sequence_numbers: [2] }]);
  const addedTo = (judged: (typeof said)[number]) =>
    /added by other programs, and not a part of the bundle: (.*)/.exec((judged.not_checked as string[]).join('\n'))?.[1]?.split(', ');
  expect(addedTo(said[0]!)?.sort()).toEqual(['.DS_Store', '__MACOSX/._README.txt']);
  expect(addedTo((await judge('unpacked', unpacked({}))).said[0]!)).toBeUndefined();
  expect((await judge('.', added)).verdicts).toContain('unpacked valid null');
  for (const files of [unpacked({ 'outputs.txt': 'x' }), unpacked({ 'approval.txt': 'x' }), unpacked({}, 'root.bin')])
    expect((await judge('unpacked', files)).verdicts.join()).toMatch(/^unpacked not_valid (bundle_changed|bundle_malformed)$/);
});

test('W21: --proof proves by a stamped record that a file existed, and refuses every other proof (48)', async () => {
  const proofOf = async ({ id }: StartedWorkflow) =>
    (await getJson(lab.service, `/api/v1/workflow/${id}/proof/2`)).body as InclusionProofShown;
  const [whole, foreign] = [await proofOf(good.workflow), await proofOf(other.workflow)];
  const seal = whole.closing_record!;
  const files = (proof: unknown) => ({ 'proof.json': JSON.stringify(proof), y: 'y' });
  const proved = await judge('--proof proof.json b', files(whole));
  const [bundle] = (await judge('bundle.zip')).said;
  const claimed = { workflow_id: good.workflow.id, sequence_number: 2, output_count: 3 };
  const ids = { token_id: null, claimed_token_id: seal.stamp.stamp_id };
  const stated = { verdict: 'valid', issued_at: bundle?.closing_record_issued_at, content_sha256: sha256('b') };
  expect([proved.code, ...proved.said]).toMatchObject([0, { ...stated, ...ids, claimed }]);
  expect(await inWords('--proof proof.json b', files(whole))).toMatch(
    new RegExp(`^b: valid, existed at 20\\S+Z\n {2}a record stamped then says: output 2 of 3 of workflow ${good.workflow.id}\n`),
  );
  // What an inclusion path proves is in test/verifier/merkle-refusals.test.ts.
  for (const [proof, verdict, file = 'b', ca = 'root.pem'] of [
    [whole, 'not_valid inclusion_proof_invalid', 'x'],
    [{ ...whole, sequence_number: 3 }, 'not_valid inclusion_proof_invalid'],
    [{ ...whole, tree_size: 4 }, 'not_valid inclusion_proof_invalid'],
    [{ ...whole, workflow_id: foreign.workflow_id }, 'not_valid inclusion_proof_invalid'],
    [{ ...foreign, workflow_id: whole.workflow_id, closing_record: seal }, 'not_valid inclusion_proof_invalid', 'y'],
    [{ ...whole, closing_record: { ...seal, record: { ...seal.record, output_count: 4 } } }, 'not_valid imprint_mismatch'],
    [{ ...whole, closing_record: { ...seal, stamp: { ...seal.stamp, token: 'AAAA' } } }, 'not_valid unknown_format'],
    [{ ...whole, closing_record: null }, 'not_proved no_token'],
    [whole, 'not_proved untrusted_root', 'b', 'other.pem'],
  ] as const) {
    const { code, said, verdicts } = await judge(`--proof proof.json ${file}`, files(proof), ca);
    expect([code, ...verdicts]).toEqual([1, `${file} ${verdict}`]);
    expect(said).toMatchObject([{ claimed: null, issued_at: null }]);
  }
  for (const proof of ['rubbish', {}, { ...whole, inclusion_path: ['00'] }, { ...whole, closing_record: { ...seal, record: {} } }]) {
    const { code, said } = await judge('--proof proof.json b', files(proof));
    expect([code, JSON.stringify(said)]).toEqual([5, expect.stringContaining('is not an inclusion proof')]);
  }
  expect((await judge('--proof missing.json b')).code).toBe(5);
  for (const line of ['a b', '--online b']) expect((await judge(`--proof proof.json ${line}`, files(whole))).code).toBe(2);
});

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { evidenceDocument } from '../../src/shared/contract/evidence-bundle.ts';
import { opensslSettingsText } from '../../src/shared/proof/bundle-files.js';
import { pem } from '../../src/tsa/certificate.ts';
import { issueRoot } from '../../src/tsa/pki.ts';
import {
  type Bundle,
  type BundleLab,
  canChangeRoot,
  runScript,
  runScriptInEmptyPlace,
  startBundleLab,
  withSums,
} from '../support/bundle-lab.ts';
import { getJson, sha256 } from '../support/requests.ts';
import { type StartedWorkflow, stampOutput, startWorkflow } from '../support/workflows.ts';

const ends: (() => void | Promise<void>)[] = [];
let lab: BundleLab;
let good: { readonly workflow: StartedWorkflow; readonly zip: Buffer; readonly files: Bundle };
let other: typeof good;
beforeAll(async () => {
  lab = await startBundleLab((close) => void ends.push(close));
  [good, other] = await Promise.all([lab.completed(['a', 'b', 'c'], 'do it'), lab.completed(['x', 'y', 'z'])]);
});
afterAll(async () => {
  for (const end of ends.reverse()) await end();
});

const textOf = (name: string, files: Bundle = good.files) => String(files.get(name));

describe('W22: the bundle of a completed workflow', () => {
  test('has the same bytes each time, and is linked on the page', async () => {
    const response = await lab.service.fetch(`/workflow/${good.workflow.id}/evidence.zip`);
    expect(response.headers.get('content-type')).toBe('application/zip');
    expect(response.headers.get('content-disposition')).toBe(`attachment; filename="workflow-${good.workflow.id}.zip"`);
    expect(Buffer.from(await response.arrayBuffer()).equals(good.zip)).toBe(true);
    const html = await (await lab.service.fetch(`/workflow/${good.workflow.id}`)).text();
    for (const form of ['zip', 'json']) expect(html).toContain(`href="/workflow/${good.workflow.id}/evidence.${form}"`);
  });

  test('holds the closing record as it was stamped, and root.bin whose SHA-256 is the root', async () => {
    const published = await (await lab.service.fetch(`/workflow/${good.workflow.id}/closing-record.json`)).text();
    expect(textOf('closing-record.json')).toBe(published);
    expect(sha256(good.files.get('root.bin')!)).toBe((JSON.parse(published) as { merkle_root: string }).merkle_root);
    expect(good.files.get('root.bin')![0]).toBe(1);
    expect([...good.files.keys()]).toEqual(
      textOf('SHA256SUMS')
        .match(/(?<= )\S+$/gm)!
        .concat('SHA256SUMS'),
    );
  });

  test('as JSON says the same', async () => {
    const { status, body } = await getJson(lab.service, `/workflow/${good.workflow.id}/evidence.json`);
    expect(status).toBe(200);
    const { closing_record, root, outputs, certificates } = evidenceDocument.parse(body);
    expect(closing_record.text).toBe(textOf('closing-record.json'));
    expect([root.stamp, closing_record.stamp].map(({ token }) => token)).toEqual(
      ['root.tst', 'closing-record.tst'].map((name) => good.files.get(name)!.toString('base64')),
    );
    const lines = outputs.map((each) =>
      [each.sequence_number, each.output_hash, each.chain_hash, each.output_type, each.stamp_id].join(' '),
    );
    expect(`${lines.join('\n')}\n`).toBe(textOf('outputs.txt'));
    expect(outputs.map(({ sequence_number, kind, token }) => `${sequence_number} ${kind} ${token}\n`).join('')).toBe(
      textOf('stamps/1.txt'),
    );
    const fingerprints = certificates.map(({ pem }) => sha256(Buffer.from(pem.replace(/-----.*-----|\n/g, ''), 'base64')));
    expect(certificates.map((each) => each.sha256)).toEqual(fingerprints);
    expect(certificates.map(({ role }) => role)).toEqual(['trust_anchor', 'other', 'other']);
  });

  test('is there for a completed workflow only', async () => {
    const open = await startWorkflow(lab.service);
    await stampOutput(lab.service, open);
    for (const form of ['zip', 'json']) {
      const { status, body } = await getJson(lab.service, `/workflow/${open.id}/evidence.${form}`);
      expect([status, body.code]).toEqual([404, 'not_found']);
      const unknown = await getJson(lab.service, `/workflow/${crypto.randomUUID()}/evidence.${form}`);
      expect(unknown.status).toBe(404);
    }
  });
});

describe('W22: verify.sh, where nothing is but sh, openssl and sha256sum', () => {
  test.each([0, 1, 2, 7])('is green for a good bundle of %i outputs', async (count) => {
    const { files } = await lab.completed(Array.from({ length: count }, (_, index) => `output ${index}`));
    const { code, output } = await runScript(files);
    expect(output).toMatch(/\nEVERYTHING THAT WAS CHECKED HOLDS: [^\n]*\n$/);
    expect(code).toBe(0);
  });

  test.runIf(canChangeRoot)('is green in an empty place, and says what it could not check there', async () => {
    const { code, output } = await runScriptInEmptyPlace(new Map([...good.files, ['../b', Buffer.from('b')]]), '/b');
    expect(output).toContain('NOT CHECKED: own time-stamps of outputs: there is no /dev/stdin here');
    expect(output).toMatch(/\n\/b: output 2\n/);
    expect(output).toMatch(/\nEVERYTHING THAT WAS CHECKED HOLDS: [^\n]*\n$/);
    expect(code).toBe(0);
    const red = await runScriptInEmptyPlace(withSums(new Map(good.files).set('root.tst', other.files.get('root.tst')!)));
    expect(red).toMatchObject({ code: 1, output: expect.stringContaining('time-stamp of the Merkle root does not verify') });
  });

  test('tells of a file which output it is, and trusts whom its user names', async () => {
    const root = { 'root.pem': Buffer.from(lab.tsa.pki.rootPem), 'my b': Buffer.from('b'), x: Buffer.from('x') };
    const files = new Map([...good.files, ...Object.entries(root).map(([name, content]) => [`../${name}`, content] as const)]);
    const found = await runScript(files, '--ca', 'root.pem', 'my b');
    expect(found).toMatchObject({ code: 0, output: expect.stringMatching(/\nmy b: output 2, stamped by itself at 20/) });
    expect(found.output).toContain('Trusted, because you say so');
    const notThere = await runScript(files, 'my b', 'x');
    expect(notThere).toMatchObject({ code: 1, output: expect.stringContaining('x: NO OUTPUT of this workflow has its hash') });
  });

  test('tells the briefing, and says what no signature covers and what is not there', async () => {
    const stamps = textOf('stamps/1.txt').replace(/^2 .*$/m, '2 none');
    const files = withSums(new Map(good.files).set('stamps/1.txt', Buffer.from(stamps)));
    const { code, output } = await runScript(new Map([...files, ['../brief', Buffer.from('do it')]]), 'brief');
    expect(output).toContain('\nbrief: the briefing: what the agent was asked to do\n');
    expect(output).toContain(
      '\nNOT CHECKED: output types and stamp ids in outputs.txt, README.txt and this script: no signature covers them\n',
    );
    expect(output).toContain('\nNOT CHECKED: own time-stamps of 1 outputs: there is none in this bundle\n');
    expect(code).toBe(0);
    const unsealed = await runScript(withSums(new Map([...good.files].filter(([name]) => name !== 'closing-record.tst'))));
    expect(unsealed).toMatchObject({
      code: 1,
      output: expect.stringMatching(/\nNOT PROVED: .* no time-stamp of the closing record in this/),
    });
    expect(unsealed.output).not.toContain('mock');
  });

  test('tells the name of a certificate with one blank where it has many, which would fill a line', async () => {
    const commonName = `x${' '.repeat(60)}EVERYTHING`;
    const { certificate } = issueRoot({ algorithm: 'p-256', nowMs: Date.now(), commonName });
    const anchors = textOf('certificates/anchors.pem') + pem('CERTIFICATE', certificate);
    const { output } = await runScript(withSums(new Map(good.files).set('certificates/anchors.pem', Buffer.from(anchors))));
    expect(output).toMatch(/\nsubject=.*x EVERYTHING/);
  });

  test('is red where its user trusts somebody else', async () => {
    const others = (await lab.completed(['a'])).files.get('certificates/others.pem')!;
    const files = new Map([...good.files, ['../other.pem', others] as const]);
    // The bundle's own intermediate certificates are no root: trusting them is its user's right.
    expect(await runScript(files, '--ca', 'other.pem')).toMatchObject({ code: 0 });
    const stranger = withSums(new Map(good.files).set('certificates/anchors.pem', Buffer.from('# nobody\n')));
    expect(await runScript(stranger)).toMatchObject({ code: 1, output: expect.stringContaining('does not verify') });
  });

  test('knows the openssl.cnf that it comes with by its SHA-256', () => {
    expect(textOf('verify.sh')).toContain(` = ${sha256(opensslSettingsText)} ]`);
    expect(textOf('openssl.cnf')).toBe(opensslSettingsText);
  });
});

import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { evidenceDocument } from '../../../src/shared/contract/evidence-bundle.ts';
import { type Bundle, type BundleLab, startBundleLab } from '../../support/bundle-lab.ts';
import { pem } from '../../support/certificates.ts';
import { temporaryFolder } from '../../support/cli.ts';
import { getJson, sha256 } from '../../support/requests.ts';
import type { RunningTsa } from '../../support/tsa-service.ts';
import { type StartedWorkflow, stampOutput, startWorkflow } from '../../support/workflows.ts';

const ends: (() => void | Promise<void>)[] = [];
let lab: BundleLab;
let good: { readonly workflow: StartedWorkflow; readonly zip: Buffer; readonly files: Bundle };
beforeAll(async () => {
  lab = await startBundleLab((close) => void ends.push(close));
  good = await lab.completed(['a', 'b', 'c'], 'do it');
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

  test('has the same content as JSON', async () => {
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

  test('exists only for a completed workflow', async () => {
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

describe('W22: the commands by hand in README.txt', () => {
  /** Runs the commands of README.txt, in the folder of the bundle, with the certificate of the authority as `root.pem`. */
  function runByHand(files: Bundle): string {
    const folder = temporaryFolder();
    for (const [name, content] of files) {
      mkdirSync(join(folder, dirname(name)), { recursive: true });
      writeFileSync(join(folder, name), content);
    }
    writeFileSync(join(folder, 'root.pem'), textOf('certificates/anchors.pem', files));
    const [, command = ''] = /^ {4}(openssl ts -verify [^\n]*\\\n[^\n]*)$/m.exec(textOf('README.txt', files)) ?? [];
    return spawnSync('sh', ['-c', command], { cwd: folder, encoding: 'utf8' }).stdout;
  }
  const laboratory = (provider: Readonly<Record<string, unknown>>, tsa?: RunningTsa) =>
    startBundleLab((close) => onTestFinished(close), provider, tsa);

  test('work unchanged', () => expect(runByHand(good.files)).toContain('Verification: OK'));

  test('work if the anchor is an intermediate certificate', async () => {
    const { pki } = lab.tsa;
    const tsa = { ...lab.tsa, pki: { ...pki, rootPem: pem('CERTIFICATE', pki.intermediate.certificate) } };
    const { files } = await (await laboratory({}, tsa)).completed(['a']);
    expect(textOf('certificates/anchors.pem', files)).not.toContain(pki.rootPem.trim());
    expect(runByHand(files)).toContain('Verification: OK');
  });

  test('work if there is no certificate besides the anchor', async () => {
    const { pki } = lab.tsa;
    const tsa = { ...lab.tsa, pki: { ...pki, rootPem: pem('CERTIFICATE', pki.signer.certificate) } };
    const { files } = await (await laboratory({}, tsa)).completed(['a']);
    expect(textOf('certificates/others.pem', files)).toBe('');
    expect(runByHand(files)).toContain('Verification: OK');
  });

  test('work if the root was stamped in a batch', async () => {
    const batched = await laboratory({ aggregate: { window_ms: 1_000 } });
    const [{ files }] = await Promise.all([batched.completed(['a']), batched.completed(['b'])]);
    expect(runByHand(files)).toContain('Verification: OK');
  });
});

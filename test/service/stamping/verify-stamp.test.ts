import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { checkoutDir } from '../../../scripts/stack/context.ts';
import { sha256, stampInternal } from '../../support/requests.ts';
import { sharedTsaService } from '../../support/tsa-service.ts';

const script = join(checkoutDir, 'views/bundle/verify.py');

function temporaryFolder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'qstamp-ers-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  return dir;
}

/** Runs a program of the docs. The service runs in this process, so this must not block it. */
async function shell(program: string, cwd: string): Promise<{ code: number | null; said: string }> {
  const child = spawn('/bin/sh', ['-c', program], { cwd, env: { PATH: process.env.PATH } });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (said += text));
  return { code: await new Promise((resolve) => child.once('close', resolve)), said };
}

test('S14: the script of the docs leads from a file to its batch token, which OpenSSL accepts; for another file it fails', async () => {
  const { service, tsa } = await sharedTsaService({ aggregate: { window_ms: 1_000 } });
  const contents = Array.from({ length: 12 }, (_, index) => `contract ${index}`);
  const answers = await Promise.all(contents.map((content) => stampInternal(service, { hash: sha256(content) })));
  const block =
    /```sh\n(curl[^`]*verify\.py.*?)```/s.exec(readFileSync(join(checkoutDir, 'docs/auditors/verification.md'), 'utf8'))?.[1] ?? '';
  expect(block).toContain('--stamp contract.pdf.ers contract.pdf');
  const dir = temporaryFolder();
  writeFileSync(join(dir, 'root.pem'), tsa.pki.rootPem);
  const verify = async (index: number, content: string) => {
    writeFileSync(join(dir, 'contract.pdf'), content);
    const variables = `url=${service.url}; token_id=${answers[index]!.body.token_id}\n`;
    return shell(variables + block.replace('views/bundle/verify.py', script), dir);
  };
  const heads = await Promise.all(answers.map(({ body }) => service.fetch(`/api/v1/verify/v1/token/${body.token_id}/token`)));
  const batched = contents.flatMap((_, index) => (heads[index]!.headers.has('Qstamp-Batch') ? [index] : []));
  expect(batched.length).toBeGreaterThan(2);
  for (const index of [batched.at(0)!, batched.at(1)!, batched.at(-1)!])
    expect(await verify(index, contents[index]!)).toMatchObject({
      code: 0,
      said: expect.stringMatching(/HOLDS: 'contract.pdf' existed at 20\S+Z\n$/),
    });
  expect(await verify(batched[0]!, 'another contract')).toMatchObject({
    code: 1,
    said: expect.stringContaining("DOES NOT HOLD: 'contract.pdf.ers' is for another hash"),
  });
});

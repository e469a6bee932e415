import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { expect, test } from 'vitest';
import { issueResponse } from '../../src/shared/rfc3161/index.ts';
import { genTimeMs, jsonLines, pki, runCommand, runMeasured, temporaryFolder } from '../support/cli.ts';
import { ask } from '../support/tsa-lab.ts';

test('a file of more than 4 GiB is packed in constant memory, and the command and other programs can read it', async () => {
  const cwd = temporaryFolder();
  const path = join(cwd, 'large');
  const bytes = 2 ** 32 + 1_000;
  writeFileSync(path, 'large');
  truncateSync(path, bytes);
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  const asked = ask({ hash: 'sha256', digest: hash.digest(), nonce: undefined });
  writeFileSync(
    `${path}.tsr`,
    issueResponse({ identity: pki.signer, policies: ['2.999.1'] }, asked.der, { timeMs: genTimeMs, serial: 1n }),
  );
  writeFileSync(join(cwd, 'root.pem'), pki.rootPem);

  const packed = await runMeasured(['pack', 'large'], { cwd });
  expect(packed.code).toBe(0);
  expect(packed.peakMebibytes).toBeLessThan(200);

  const verified = await runCommand(['verify', '--json', '--ca', 'root.pem', 'large.asics'], { cwd });
  expect(jsonLines(verified)).toMatchObject([{ verdict: 'valid' }]);
  const program =
    'import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None; print([e.file_size for e in z.infolist()][1])';
  const { stdout } = spawnSync('python3', ['-c', program, join(cwd, 'large.asics')], { encoding: 'utf8' });
  expect(stdout).toBe(`${bytes}\n`);
});

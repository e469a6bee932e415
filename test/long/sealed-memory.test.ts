import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { peakMebibytes } from '../support/process-memory.ts';
import { sha256, stampAgent } from '../support/requests.ts';
import { startProcesses } from '../support/service.ts';

const mebibyte = 1024 * 1024;

test.runIf(process.platform === 'linux')(
  'many uploads of 10 MiB at once succeed in bounded memory, and read back byte for byte (S3, S11)',
  async () => {
    const service = await startProcesses({ settings: { STAMP_WAIT_MS: '60000' } });
    const content = randomBytes(10 * mebibyte);
    const body = { content_b64: content.toString('base64') };
    const answers = await Promise.all(Array.from({ length: 24 }, () => stampAgent(service, 'sealed', body)));
    const stamped = answers.filter(({ status }) => status === 201);
    expect(answers.every(({ status, headers }) => status === 201 || (status === 503 && headers.has('retry-after')))).toBe(true);
    expect(stamped.length).toBeGreaterThan(0);
    expect(stamped[0]?.body.content_sha256).toBe(sha256(content));
    const download = await service.fetch(stamped[0]?.body.sealed_storage_url as string);
    expect(Buffer.from(await download.arrayBuffer()).equals(content)).toBe(true);
    expect(peakMebibytes(service.pid)).toBeLessThan(1024);
    expect(peakMebibytes(service.workers[0]?.pid ?? 0)).toBeLessThan(400);
  },
);

import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { isEvidenceRecord } from '../../../src/shared/rfc3161/index.ts';
import { folderWith, jsonLines } from '../../support/cli.ts';
import { callTool } from '../../support/mcp.ts';
import { getJson, randomHash, sha256 } from '../../support/requests.ts';
import { serviceToken } from '../../support/service.ts';
import { sharedTsaService } from '../../support/tsa-service.ts';
import { completeWorkflow, readPage, stampOutput, startWorkflow } from '../../support/workflows.ts';

const isRecordIn = (token: unknown): boolean => isEvidenceRecord(Buffer.from(String(token), 'base64'));

/** All requests within this window form one batch. */
const aggregate = { window_ms: 1_000 };

test('S14: the command and assistants stamp, verify and pack batched stamps like others, without the service', async () => {
  const { service, tsa } = await sharedTsaService({ aggregate });
  const files = { a: 'a', b: 'b', c: 'c', 'd.txt': 'd', 'root.pem': tsa.pki.rootPem };
  const { run, path, record } = folderWith(files, { url: service.url, serviceToken });
  expect((await run(['stamp', 'a', 'b', 'c'])).code).toBe(0);
  const { token, token_id } = record('a').stamp as { token: string; token_id: string };
  expect(isRecordIn(token)).toBe(true);

  const together = await Promise.all(
    [randomHash(), randomHash()].map((hash) => callTool(service, 'service_stamp_hash', { sha256_hex: hash })),
  );
  for (const { structuredContent: made } of together) {
    expect(isRecordIn(made.token)).toBe(true);
    for (const asked of [{ token_id: made.token_id }, { token: made.token }]) {
      const { structuredContent: found } = await callTool(service, 'service_verify_token', asked);
      expect(found).toMatchObject({ valid: true, token_id: made.token_id, content_sha256: made.content_sha256 });
    }
  }

  const online = await run(['verify', '--online', '--ca', 'root.pem', '--json', 'a', 'b', token_id]);
  expect([online.code, jsonLines(online).map(({ verdict }) => verdict)]).toEqual([0, ['valid', 'valid', 'valid']]);

  const start = ['workflow', 'start', '--email', 'client@example.com', '--agent', 'me', '--briefing-hash', sha256('x')];
  expect((await run(start)).code).toBe(0);
  expect((await run(['workflow', 'add', 'd.txt'])).code).toBe(0);

  const away = { url: 'http://127.0.0.1:9' };
  expect((await run(['pack', 'a'], away)).code).toBe(0);
  const offline = await run(['verify', '--ca', 'root.pem', '--json', 'a', 'b', 'c', 'd.txt', 'a.asics', token], away);
  const told = jsonLines(offline);
  expect([offline.code, told.map(({ verdict }) => verdict)]).toEqual([0, Array.from({ length: 6 }, () => 'valid')]);
  expect(told.map(({ content_sha256 }) => content_sha256)).toEqual(['a', 'b', 'c', 'd', 'a', 'a'].map(sha256));
  writeFileSync(path('b'), 'changed');
  expect(await run(['verify', '--ca', 'root.pem', 'b'], away)).toMatchObject({ code: 1, stdout: expect.stringContaining('NOT VALID, ') });
});

test('S14: outputs, root and closing record of a workflow may be leaves; page, proofs and command prove them like others', async () => {
  const { service, tsa } = await sharedTsaService({ aggregate });
  const workflows = await Promise.all([startWorkflow(service), startWorkflow(service)]);
  const [first] = workflows;
  const stamps = await Promise.all(
    workflows.flatMap((workflow) => [1, 2, 3].map((n) => stampOutput(service, workflow, { output_hash: sha256(`output ${n}`) }))),
  );
  expect(new Set(stamps.map(({ status }) => status))).toEqual(new Set([201]));
  const completed = await Promise.all(workflows.map((workflow) => completeWorkflow(service, workflow)));
  expect(completed.map(({ status }) => status)).toEqual([200, 200]);

  const page = await readPage(service, `/workflow/${first!.id}`, { headers: { accept: 'application/xhtml+xml' } });
  expect(page).not.toContain('does not hold');
  const { status, body: proof } = await getJson(service, `/api/v1/workflow/${first!.id}/proof?output_hash=${sha256('output 2')}`);
  const { root_stamp: root, closing_record: closing } = proof as {
    root_stamp: { token: string };
    closing_record: { stamp: { token: string } };
  };
  expect([status, isRecordIn(root.token), isRecordIn(closing.stamp.token)]).toEqual([200, true, true]);

  const { run } = folderWith({ file: 'output 2', 'proof.json': JSON.stringify(proof), 'root.pem': tsa.pki.rootPem });
  expect((await run(['verify', '--ca', 'root.pem', '--proof', 'proof.json', 'file'])).code).toBe(0);
});

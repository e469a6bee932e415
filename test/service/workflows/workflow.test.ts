import { expect, test } from 'vitest';
import { createTreeHeadBuilder } from '../../../src/shared/domain/proofs.ts';
import { hexOf } from '../../../src/shared/proof/octets.js';
import { mailedService } from '../../support/mailed-service.ts';
import { postJson, randomHash, sha256, verifyById } from '../../support/requests.ts';
import { completeWorkflow, openLink, redactWorkflow, stampOutput, startRequest, startWorkflow } from '../../support/workflows.ts';

const { mail, service } = await mailedService();

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

test('start, verify, stamp, complete, page: the whole workflow (W4, W6, W8, W9, W13)', async () => {
  const before = Date.now();
  const workflow = await startWorkflow(service, { tier: 'verified', user_email: 'Client+qs@example.com' });
  expect(workflow.answer.body).toEqual({
    workflow_id: expect.stringMatching(uuid),
    workflow_token: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
    otp_sent_to: 'Client+qs@example.com',
    expires_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    status: 'pending',
  });
  const startedAt = Date.parse(String(workflow.answer.body.expires_at)) - 168 * 3_600_000;
  expect(startedAt).toBeGreaterThanOrEqual(before);
  expect(startedAt).toBeLessThanOrEqual(Date.now());

  const early = await stampOutput(service, workflow);
  expect([early.status, early.body.code, early.body.reason]).toEqual([409, 'conflict', 'email_not_verified']);
  expect((await completeWorkflow(service, workflow)).status).toBe(409);

  const link = await mail.linkFor(workflow.id);
  expect(link.startsWith(`${service.url}/c/${workflow.id}/`)).toBe(true);
  const opened = await fetch(link);
  expect(opened.status).toBe(200);
  expect(opened.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(await opened.text()).toContain('the link was opened');

  const hashes = [randomHash(), randomHash(), randomHash()];
  for (const [index, hash] of hashes.entries()) {
    const { status, body } = await stampOutput(service, workflow, { output_hash: hash, output_type: 'code' });
    expect(status, JSON.stringify(body)).toBe(201);
    expect(body).toEqual({
      output_id: expect.stringMatching(uuid),
      sequence_number: index + 1,
      stamp_token_id: expect.stringMatching(uuid),
      verify_url: `/workflow/${workflow.id}#output-${index + 1}`,
      workflow_anchor_url: `/workflow/${workflow.id}`,
    });
    expect((await verifyById(service, body.stamp_token_id)).body).toMatchObject({ valid: true, content_sha256: hash });
  }

  const completed = await completeWorkflow(service, workflow);
  expect(completed.status, JSON.stringify(completed.body)).toBe(200);
  expect(completed.body).toEqual({
    workflow_id: workflow.id,
    status: 'completed',
    output_count: 3,
    verify_url: `/workflow/${workflow.id}`,
    completed_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
  });
  expect((await completeWorkflow(service, workflow)).body).toEqual(completed.body);
  const late = await stampOutput(service, workflow);
  expect([late.status, late.body.code, late.body.reason]).toEqual([409, 'conflict', 'workflow_closed']);

  const tree = createTreeHeadBuilder();
  for (const hash of hashes) tree.append(Buffer.from(hash, 'hex'));
  const root = hexOf(tree.head().rootHash);
  const page = await service.fetch(`/workflow/${workflow.id}`);
  const html = await page.text();
  expect(page.status).toBe(200);
  expect(html).toContain('C•••@example.com');
  expect(html).not.toContain('Client+qs');
  for (const shown of [root, ...hashes, workflow.briefingHash]) expect(html).toContain(shown);
  const rootStamp = /verify\/v1\/token\/([0-9a-f-]{36})">Verify<span class="visually-hidden"> the stamp of the root/.exec(html)?.[1];
  expect((await verifyById(service, rootStamp)).body).toMatchObject({ valid: true, content_sha256: root });

  expect((await openLink(link)).status).toBe(410);
  expect(await redactWorkflow(service, workflow)).toMatchObject({
    status: 200,
    body: { workflow_id: workflow.id, status: 'completed', user_email: '[REDACTED]' },
  });
  expect(await (await service.fetch(`/workflow/${workflow.id}`)).text()).not.toContain('@example.com');
});

test('E15: with details, start names the page, and each output its time and its link of the chain, also when repeated', async () => {
  const request = startRequest();
  const started = await postJson(service, '/api/v1/workflow/start?details=true', request);
  const { workflow_id: id, workflow_token: token } = started.body;
  expect(started).toMatchObject({ status: 201, body: { page_url: `/workflow/${id}` } });

  const [first, second] = [randomHash(), randomHash()];
  const authorization = `Workflow ${token}`;
  const stamp = (path: string, body: unknown, headers: Record<string, string>) =>
    postJson(service, `/api/v1/workflow/${id}/${path}`, body, { authorization, ...headers });
  const output = { output_hash: first, output_type: 'text' };
  const one = await stamp('stamp?details=true', output, { 'idempotency-key': 'once' });
  const again = await stamp('stamp?details=true', output, { 'idempotency-key': 'once' });
  const many = await stamp('stamps', [{ ...output, output_hash: second }], { prefer: 'return=details' });
  const [other] = many.body as unknown as [Record<string, unknown>];
  expect([again.headers.get('idempotent-replayed'), again.body]).toEqual(['true', one.body]);
  // W8: SHA-256(previous chain_hash ‖ output_hash ‖ sequence_number as uint64), from the briefing hash on.
  const linkAfter = (before: unknown, hash: string, number: number) =>
    sha256(Buffer.from(`${before}${hash}${number.toString(16).padStart(16, '0')}`, 'hex'));
  expect(one.body.chain_hash).toBe(linkAfter(request.briefing_hash, first, 1));
  expect(other.chain_hash).toBe(linkAfter(one.body.chain_hash, second, 2));
  for (const { stamp_token_id, issued_at } of [one.body, other])
    expect((await verifyById(service, stamp_token_id)).body).toMatchObject({ valid: true, issued_at });
});

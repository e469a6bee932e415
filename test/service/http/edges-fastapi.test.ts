import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { digestOfToken } from '../../../src/api/workflows/access.ts';
import { loadConfig } from '../../../src/shared/runtime/config.ts';
import { openStore } from '../../../src/shared/store/store.ts';
import { sendExactly } from '../../support/raw-http.ts';
import { sharedService } from '../../support/service.ts';

/** Requests with the full answers of FastAPI 0.142 and pydantic 2.13 for models of this interface. Two exceptions: W17 allows upper-case hashes in a workflow, and W3 has its own rule for `output_type`. */
interface Answered {
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly raw: string;
  readonly status: number;
  readonly detail?: unknown;
}
const answers: readonly Answered[] = JSON.parse(readFileSync(new URL('../../fixtures/fastapi-answers.json', import.meta.url), 'utf8'));
const token = 'A'.repeat(43);
const service = await sharedService();
const store = openStore(loadConfig(service.settings), pino({ level: 'silent' }));
for (const _id of ['0190d9f0-0000-7000-8000-000000000000', 'aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa']) {
  const [createdAt, expiresAt] = [new Date(), new Date(Date.now() + 3_600_000)];
  const named = { email: 'a@example.com', agentId: 'a', briefingHash: 'a'.repeat(64), briefingMetadata: undefined };
  await store.workflows.create({
    _id,
    tokenSha256: digestOfToken(token),
    ...named,
    tier: 'standard',
    challengeId: randomUUID(),
    createdAt,
    expiresAt,
  });
}
await store.close();

test.each(answers)('E1: $path $raw', async ({ path, headers, raw, status, detail }) => {
  const sent = { headers: { ...headers, authorization: `Workflow ${token}` }, payload: raw };
  const answer = await sendExactly(service, 'POST', path, sent);
  expect(answer.status).toBe(status);
  // Our own advice (E16) is not FastAPI's.
  const text = answer.text.replace('. Write the digits a to f in lower case.', '');
  if (detail !== undefined) expect(JSON.parse(text)).toEqual({ detail });
});

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { checkoutDir } from '../../../scripts/stack/context.ts';
import { eventually } from '../../support/eventually.ts';
import { startMailServer } from '../../support/mail.ts';
import { randomHash, stampInternal } from '../../support/requests.ts';
import { startPrivateRedis } from '../../support/servers.ts';
import { startProcesses, startService } from '../../support/service.ts';
import { completeWorkflow, stampOutput, startWorkflow } from '../../support/workflows.ts';

/** The commands that docs/operators/redis.md gives to the user of the service. */
const documented = /~\{qstamp\}:\* (.*)/.exec(readFileSync(join(checkoutDir, 'docs/operators/redis.md'), 'utf8'))![1]!.split(' ');

/** A Redis with the user `qstamp` who may only do this. */
async function startWithUser(commands: readonly string[]) {
  const redis = await startPrivateRedis();
  onTestFinished(() => redis.dispose());
  const admin = new Redis(redis.url);
  onTestFinished(() => admin.disconnect());
  await admin.call('ACL', 'SETUSER', 'qstamp', 'on', '>secret', '~{qstamp}:*', ...commands);
  return { url: redis.url.replace('//', '//qstamp:secret@'), refused: () => admin.call('ACL', 'LOG') };
}

test('the service needs only the commands of Redis that the documents list', async () => {
  const { url, refused } = await startWithUser(documented);
  const mail = await startMailServer();
  const service = await startService({ settings: { REDIS_URL: url, SMTP_URL: mail.url } });
  expect((await stampInternal(service, { hash: randomHash() })).status).toBe(201);
  const workflow = await startWorkflow(service);
  expect((await stampOutput(service, workflow)).status).toBe(201);
  expect((await completeWorkflow(service, workflow)).status).toBe(200);
  await eventually(async () => (await service.fetch('/health/ready')).status === 200 || undefined);
  expect((await service.fetch('/api/v1/status')).status).toBe(200);
  expect(await refused()).toEqual([]);
});

test('a user who may not run INFO or scripts is refused at the start, with one line', async () => {
  for (const missing of ['-info', '-eval']) {
    const { url } = await startWithUser([...documented, missing]);
    const start = startProcesses({ settings: { REDIS_URL: url } });
    await expect(start).rejects.toThrow(/\nREDIS_URL: Redis says to its user: NOPERM [^\n]*; docs\/operators\/redis\.md lists [^\n]*\n$/);
  }
});

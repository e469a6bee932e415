import { expect, test } from 'vitest';
import { commandInFolder } from '../support/command.ts';
import { startService } from '../support/service.ts';

test('E11: a stamp that takes long is waited for, on the real service', async () => {
  const service = await startService({ workers: 0, settings: { STAMP_WAIT_MS: '100' } });
  const { run, record } = commandInFolder(service, { a: 'a' });
  const outcome = run(['stamp', 'a']);
  await service.startWorker();
  expect((await outcome).code).toBe(0);
  expect(record('a').stamp.tier).toBe('basic');
});

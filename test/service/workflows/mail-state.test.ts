import { expect, test } from 'vitest';
import { canSendMail, mailStateOf } from '../../../src/api/status/status.ts';
import type { ApiTools } from '../../../src/api/tools.ts';
import type { MailState } from '../../../src/shared/domain/service-state.ts';

test.each<[MailState[], MailState]>([
  [[], 'unknown'],
  [['not_configured'], 'not_configured'],
  [['not_configured', 'unknown'], 'unknown'],
  [['not_configured', 'unknown', 'ok'], 'ok'],
  [['ok', 'failing', 'not_configured'], 'failing'],
])('workers that report %j make mail %s: it is unavailable only if no worker can send (W19)', (said, state) => {
  expect(mailStateOf(said.map((mail) => ({ at: 0, providers: [], mail, isStoreFull: false })))).toBe(state);
});

test('while Redis is away, mail counts as possible', async () => {
  const tools: Partial<ApiTools> = { readHeartbeats: () => Promise.reject(new Error('no Redis')), clock: Date.now };
  expect(await canSendMail(tools as ApiTools)).toBe(true);
});

import { expect, test } from 'vitest';
import { MailError, withMailRecord } from '../../../src/workers/mail/index.ts';

const message = { from: '', to: { name: '', address: '' }, subject: '', text: '', html: '', messageId: '', headers: {} };

/** A transport whose next mail has a given result, with the counts. */
function recordOf(isConfigured: boolean) {
  let outcome: Error | undefined;
  const counted: string[] = [];
  const transport = {
    send: async () => {
      if (outcome) throw outcome;
    },
  };
  const { send, readState } = withMailRecord(transport, { isConfigured, onMail: (each) => counted.push(each) });
  const stateAfter = async (next: Error | undefined) => {
    outcome = next;
    await send(message).catch(() => undefined);
    return readState();
  };
  return { counted, readState, stateAfter };
}

const away = new MailError('ESOCKET', { isFinal: false, isOfServer: true });
const unknownRecipient = new MailError('SMTP 550', { isFinal: true, isOfServer: false });

test('the last mail shows whether sending works; a server that refuses one mail works (W12)', async () => {
  const { counted, readState, stateAfter } = recordOf(true);
  expect(readState()).toBe('unknown');
  expect(await stateAfter(away)).toBe('failing');
  expect(await stateAfter(unknownRecipient)).toBe('ok');
  expect(await stateAfter(away)).toBe('failing');
  expect(await stateAfter(undefined)).toBe('ok');
  expect(counted).toEqual(['deferred', 'failed', 'deferred', 'sent']);
});

test('without a mail server no mail can be sent, whatever is tried (W19)', async () => {
  const { readState, stateAfter } = recordOf(false);
  expect(readState()).toBe('not_configured');
  expect(await stateAfter(away)).toBe('not_configured');
});

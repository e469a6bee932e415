import type { MailState } from '../../shared/domain/service-state.ts';
import type { Metrics } from '../../shared/runtime/metrics.ts';
import { MailError, type MailTransport } from './transport.ts';

/**
 * Wraps a transport and counts each outcome (`deferred` is retried, `failed` is not). The last outcome shows whether mail works: a server that
 * refuses one mail is working; a server that cannot be reached or refuses the login is not.
 */
export function withMailRecord(
  transport: MailTransport,
  { isConfigured, metrics }: { isConfigured: boolean; metrics: Pick<Metrics, 'mailed'> },
): { mail: MailTransport; readState(): MailState } {
  let state: MailState = isConfigured ? 'unknown' : 'not_configured';
  const note = (next: MailState) => {
    if (isConfigured) state = next;
  };
  const send: MailTransport['send'] = async (message) => {
    try {
      await transport.send(message);
      metrics.mailed('sent');
      note('ok');
    } catch (error) {
      metrics.mailed(error instanceof MailError && error.isFinal ? 'failed' : 'deferred');
      note(error instanceof MailError && !error.isOfServer ? 'ok' : 'failing');
      throw error;
    }
  };
  return { mail: { send }, readState: () => state };
}

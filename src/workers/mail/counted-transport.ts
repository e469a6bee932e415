import type { Metrics } from '../../shared/runtime/metrics.ts';
import { MailError, type MailTransport } from './transport.ts';

/** The same transport, the outcome of each mail counted: `deferred` is tried again, `refused` is not. */
export const countMails = (transport: MailTransport, metrics: Pick<Metrics, 'mailed'>): MailTransport => ({
  send: async (message) => {
    try {
      await transport.send(message);
      metrics.mailed('sent');
    } catch (error) {
      metrics.mailed(error instanceof MailError && error.isFinal ? 'refused' : 'deferred');
      throw error;
    }
  },
});

import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ServerContext } from '../server/context.ts';
import type { Workflows } from './workflows.ts';

/**
 * Creates the limit for mails to one recipient, whoever asks for them.
 *
 * @throws ServiceError `recipient_limited`, `recipient_blocked`, `store_unavailable`
 */
export function createRecipientLimit(context: ServerContext & { readonly workflows: Pick<Workflows, 'recipients'> }) {
  const { config, limits } = context;
  const limitOf = (name: string, points: number, durationSeconds: number) =>
    limits.by({ name, points, durationSeconds, unit: 'mails to one recipient', code: 'recipient_limited', key: () => '' });
  const perHour = limitOf('recipient-hour', config.RATE_RECIPIENT_PER_HOUR, 3_600);
  const perDay = limitOf('recipient-day', config.RATE_RECIPIENT_PER_DAY, 86_400);
  return async (request: FastifyRequest, reply: FastifyReply, address: string): Promise<void> => {
    const hash = await context.workflows.recipients.admit(address);
    await perHour.items(request, reply, 1, hash);
    await perDay.items(request, reply, 1, hash);
  };
}

import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ServerContext } from '../http/context.ts';
import { admitRecipient } from './mail-links.ts';
import type { WorkflowTools } from './workflow-tools.ts';

/**
 * Creates the limits of requests that mail a link. `mail` counts a mail to one recipient, whoever asks for it. `start` counts a start for the address
 * that asks, and its mail. A start that is refused for its recipient does not count for the address (W25).
 *
 * @throws ServiceError `recipient_limited`, `recipient_blocked`, `rate_limited`, `store_unavailable`
 */
export function createMailLimits({ config, limits, limitStarts }: ServerContext, tools: WorkflowTools) {
  const limitOf = (name: string, points: number, durationSeconds: number) =>
    limits.by({ name, points, durationSeconds, unit: 'mails to one recipient', code: 'recipient_limited', key: () => '' });
  const perHour = limitOf('recipient-hour', config.RATE_RECIPIENT_PER_HOUR, 3_600);
  const perDay = limitOf('recipient-day', config.RATE_RECIPIENT_PER_DAY, 86_400);

  async function mail(request: FastifyRequest, reply: FastifyReply, address: string): Promise<void> {
    const hash = await admitRecipient(tools, address);
    await perHour.items(request, reply, 1, hash);
    try {
      await perDay.items(request, reply, 1, hash);
    } catch (error) {
      await perHour.giveBack(request, reply, hash);
      throw error;
    }
  }

  async function start(request: FastifyRequest, reply: FastifyReply, address: string): Promise<void> {
    await limitStarts(request, reply);
    try {
      await mail(request, reply, address);
    } catch (error) {
      await limitStarts.giveBack(request, reply);
      throw error;
    }
  }

  return { mail, start };
}

import type { FastifyReply, FastifyRequest } from 'fastify';
import { ServiceError } from '../../shared/domain/service-error.ts';
import type { ApiTools } from '../tools.ts';
import { addressKey, type MistakeLimit } from './rate-limits.ts';

/** Limits failed attempts from an address (R5). Correct requests are never counted. */
export interface Mistakes {
  /** Counts a wrong or missing token. @throws ServiceError `rate_limited` beyond the limit */
  wrongToken(request: FastifyRequest, reply: FastifyReply): Promise<void>;
  /** Refuses an address that is beyond the limit of unknown ids, without counting. @throws ServiceError `rate_limited` */
  checkUnknownIds(request: FastifyRequest, reply: FastifyReply): void;
  /** Counts an unknown id or secret. @throws ServiceError `rate_limited` beyond the limit */
  unknownId(request: FastifyRequest, reply: FastifyReply): Promise<void>;
  /** Runs `work`, and counts a mistake if it fails with `unauthorized` or `not_found`. */
  count<Answer>(request: FastifyRequest, reply: FastifyReply, work: () => Promise<Answer>): Promise<Answer>;
  /** Like `count`, but does not run `work` if the address is beyond a limit. */
  guard<Answer>(request: FastifyRequest, reply: FastifyReply, work: () => Promise<Answer>): Promise<Answer>;
}

export function createMistakes({ config, limits }: ApiTools): Mistakes {
  const perMinute = (name: string, points: number): MistakeLimit => limits.mistakes({ name, points, durationSeconds: 60, key: addressKey });
  const wrongTokens = perMinute('wrong-token', config.RATE_WRONG_TOKEN_PER_MINUTE);
  const unknownIds = perMinute('unknown-id', config.RATE_UNKNOWN_ID_PER_MINUTE);

  async function count<Answer>(request: FastifyRequest, reply: FastifyReply, work: () => Promise<Answer>): Promise<Answer> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'unauthorized') await wrongTokens.count(request, reply);
      if (error instanceof ServiceError && error.code === 'not_found') await unknownIds.count(request, reply);
      throw error;
    }
  }
  return {
    wrongToken: wrongTokens.count,
    checkUnknownIds: unknownIds.check,
    unknownId: unknownIds.count,
    count,
    guard: async (request, reply, work) => {
      for (const limit of [wrongTokens, unknownIds]) limit.check(request, reply);
      return count(request, reply, work);
    },
  };
}

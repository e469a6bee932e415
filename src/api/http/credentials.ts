import { hash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ServiceError } from '../../shared/domain/service-error.ts';
import type { Config, ServiceToken } from '../../shared/runtime/config.ts';
import { isPrivateHost } from '../../shared/runtime/private-address.ts';
import type { ApiTools } from '../tools.ts';
import { addressKey } from './rate-limits.ts';

type IdentifyProduct = (request: FastifyRequest) => string | undefined;

/** Finds the product of a request by its service token in the header `X-Service-Token`; undefined if the token is missing or wrong. */
export const createServiceTokens = (tokens: readonly ServiceToken[]): IdentifyProduct => productBy(tokens, tokenIn);

/** Finds the product by a service token in the header `Authorization`, because signing tools can send only this header (T4). */
export const createServicePasswords = (tokens: readonly ServiceToken[]): IdentifyProduct =>
  productBy(tokens, ({ headers }) => passwordOf(headers.authorization));

/** Tokens are looked up by their digests, so the time that it takes reveals nothing about them. */
function productBy(tokens: readonly ServiceToken[], read: IdentifyProduct): IdentifyProduct {
  const digestOf = (token: string): string => hash('sha256', token, 'base64');
  const products = new Map(tokens.map(({ product, token }) => [digestOf(token), product]));
  return (request) => {
    const token = read(request);
    return token === undefined ? undefined : products.get(digestOf(token));
  };
}

/** The token in the header `X-Service-Token`. Node joins several headers with commas, which no token contains. Only one value may be in them (E4). */
function tokenIn({ headers }: FastifyRequest): string | undefined {
  const given = headers['x-service-token'];
  if (typeof given !== 'string') return undefined;
  const [token, ...others] = new Set(given.split(',').map((value) => value.trim()));
  return others.length === 0 ? token : undefined;
}

/** The password of HTTP Basic with any user name (RFC 7617), or a bearer token (RFC 6750). */
function passwordOf(authorization: string | undefined): string | undefined {
  const [, scheme = '', credentials = ''] = /^(basic|bearer) +(\S+) *$/i.exec(authorization ?? '') ?? [];
  if (scheme.toLowerCase() !== 'basic') return scheme === '' ? undefined : credentials;
  const decoded = Buffer.from(credentials, 'base64').toString('utf8');
  const colon = decoded.indexOf(':');
  return colon < 0 ? undefined : decoded.slice(colon + 1);
}

/**
 * Creates a function that returns the product of a request's service token.
 *
 * @throws ServiceError `unauthorized` (E4) if the token is missing or wrong, `rate_limited` after too many requests with a missing or wrong token
 */
export const createProductRule =
  (identify: IdentifyProduct, mistakes: Mistakes) =>
  async (request: FastifyRequest, reply: FastifyReply): Promise<string> => {
    const product = identify(request);
    if (product !== undefined) return product;
    await mistakes.wrongToken(request, reply);
    throw new ServiceError('unauthorized', serviceTokenRequired(request.headers), { credential: 'service_token' });
  };

/** The message if a service token is missing or wrong. It says so if the token may be in the wrong header (E16). */
export const serviceTokenRequired = (headers: Readonly<Record<string, unknown>>): string => {
  const isElsewhere = headers.authorization !== undefined && headers['x-service-token'] === undefined;
  const hint = isElsewhere ? ' Send it there, not in Authorization.' : '';
  return `A valid service token is required in the header X-Service-Token.${hint}`;
};

/**
 * Creates a function that checks the URL of a webhook (N2) and returns why it is refused, or undefined. The worker checks the URL again when it
 * connects, because its host name may lead to a different IP address by then.
 */
export function createCallbackRule({ WEBHOOK_SECRET: secrets, NODE_ENV }: Pick<Config, 'WEBHOOK_SECRET' | 'NODE_ENV'>) {
  const isOpen = NODE_ENV !== 'production';
  return (given: string): string | undefined => {
    if (secrets === undefined) return 'callback_url cannot be used: this service sends no webhooks, because WEBHOOK_SECRET is not set';
    const url = URL.parse(given);
    if (!url || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
      return 'callback_url must be an address that starts with https://, without user and password';
    }
    if (url.protocol !== 'https:' && !isOpen) return 'callback_url must start with https://';
    return isPrivateHost(url.hostname) && !isOpen ? 'callback_url must not lead to a private address' : undefined;
  };
}

export type Mistakes = ReturnType<typeof createMistakes>;

/** Limits failed attempts from an address (R5). Correct requests are never counted. */
export function createMistakes({ config, limits }: ApiTools) {
  const perMinute = (name: string, points: number) => limits.mistakes({ name, points, durationSeconds: 60, key: addressKey });
  const wrongTokens = perMinute('wrong-token', config.RATE_WRONG_TOKEN_PER_MINUTE);
  const unknownIds = perMinute('unknown-id', config.RATE_UNKNOWN_ID_PER_MINUTE);

  /** Runs `work`, and counts a mistake if it fails with `unauthorized` or `not_found`. */
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
    /** Like `count`, but does not run `work` if the address is beyond a limit. */
    guard: async <Answer>(request: FastifyRequest, reply: FastifyReply, work: () => Promise<Answer>): Promise<Answer> => {
      for (const limit of [wrongTokens, unknownIds]) limit.check(request, reply);
      return count(request, reply, work);
    },
  };
}

import { hash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ServiceError } from '../../shared/domain/service-error.ts';
import type { ServiceToken } from '../../shared/runtime/config.ts';
import type { Mistakes } from './mistakes.ts';

const digestOf = (token: string): string => hash('sha256', token, 'base64');

/**
 * Returns the product of a request's service token, or undefined if the token is missing or wrong. It looks up digests, so the time that it takes
 * reveals nothing about tokens.
 */
type IdentifyProduct = (request: FastifyRequest) => string | undefined;

const productsOf = (tokens: readonly ServiceToken[]) => new Map(tokens.map(({ product, token }) => [digestOf(token), product]));

/** The token in the header `X-Service-Token`. Node joins several headers with commas, which no token contains. Only one value may be in them (E4). */
function tokenIn({ headers }: FastifyRequest): string | undefined {
  const given = headers['x-service-token'];
  if (typeof given !== 'string') return undefined;
  const [token, ...others] = new Set(given.split(',').map((value) => value.trim()));
  return others.length === 0 ? token : undefined;
}

export function createServiceTokens(tokens: readonly ServiceToken[]): IdentifyProduct {
  const products = productsOf(tokens);
  return (request) => {
    const given = tokenIn(request);
    return given === undefined ? undefined : products.get(digestOf(given));
  };
}

/** The password of HTTP Basic with any user name (RFC 7617), or a bearer token (RFC 6750). */
function passwordOf(authorization: string | undefined): string | undefined {
  const [, scheme = '', credentials = ''] = /^(basic|bearer) +(\S+) *$/i.exec(authorization ?? '') ?? [];
  if (scheme.toLowerCase() !== 'basic') return scheme === '' ? undefined : credentials;
  const decoded = Buffer.from(credentials, 'base64').toString('utf8');
  const colon = decoded.indexOf(':');
  return colon < 0 ? undefined : decoded.slice(colon + 1);
}

/** Finds the product by a service token in the header `Authorization`, because signing tools can send only this header (T4). */
export function createServicePasswords(tokens: readonly ServiceToken[]): IdentifyProduct {
  const products = productsOf(tokens);
  return ({ headers: { authorization } }) => {
    const password = passwordOf(authorization);
    return password === undefined ? undefined : products.get(digestOf(password));
  };
}

/**
 * Returns the product of a request's service token.
 *
 * @throws ServiceError `unauthorized` (E4) if the token is missing or wrong, `rate_limited` after too many requests with a missing or wrong token
 */
type RequireProduct = (request: FastifyRequest, reply: FastifyReply) => Promise<string>;

export const createProductRule =
  (identify: IdentifyProduct, mistakes: Mistakes): RequireProduct =>
  async (request, reply) => {
    const product = identify(request);
    if (product !== undefined) return product;
    await mistakes.wrongToken(request, reply);
    const isElsewhere = request.headers.authorization !== undefined && request.headers['x-service-token'] === undefined;
    const hint = isElsewhere ? ' Send it there, not in Authorization.' : '';
    throw new ServiceError('unauthorized', `A valid service token is required in the header X-Service-Token.${hint}`, {
      credential: 'service_token',
    });
  };

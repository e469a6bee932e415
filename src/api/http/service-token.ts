import { hash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { ServiceError } from '../../shared/domain/service-error.ts';
import type { ServiceToken } from '../../shared/runtime/config.ts';

const digestOf = (token: string): string => hash('sha256', token, 'base64');

/** The product whose service token a request carries, or undefined. Digests are compared, so that timing tells nothing. */
export type IdentifyProduct = (request: FastifyRequest) => string | undefined;

export function createServiceTokens(tokens: readonly ServiceToken[]): IdentifyProduct {
  const products = new Map(tokens.map(({ product, token }) => [digestOf(token), product]));
  return (request) => {
    const given = request.headers['x-service-token'];
    return typeof given === 'string' ? products.get(digestOf(given)) : undefined;
  };
}

/** @throws ServiceError `unauthorized` (E4) when the service token is missing or not one of ours. */
export function requireProduct(identify: IdentifyProduct, request: FastifyRequest): string {
  const product = identify(request);
  if (product !== undefined) return product;
  throw new ServiceError('unauthorized', 'A valid service token is required in the header X-Service-Token.', {
    credential: 'service_token',
  });
}

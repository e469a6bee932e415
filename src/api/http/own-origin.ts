import type { FastifyInstance } from 'fastify';

/** Where this process listens; no link leads to the address that stands for all of them. */
export const ownOrigin = ({ listeningOrigin }: FastifyInstance): string =>
  listeningOrigin.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');

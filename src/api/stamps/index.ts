/**
 * Makes one stamp or many: a request becomes a job, and the outcome of the job becomes the answer. This folder also contains sealed content and the
 * list of a product's stamps.
 */
import type { FastifyInstance } from 'fastify';
import type { ServerContext } from '../http/context.ts';
import { registerSealedRoutes } from './sealed-routes.ts';
import { registerStampRoutes } from './stamp-routes.ts';
import type { StampTools } from './submission.ts';

export function registerStamps(app: FastifyInstance, context: ServerContext, tools: StampTools): void {
  registerStampRoutes(app, context, tools);
  registerSealedRoutes(app, context, tools);
}

export { answerBulk, answerOne, inBrief } from './answers.ts';
export { identify, type PassLimit } from './idempotency.ts';
export { type Answers, fulfilRequest, type StampingRequest } from './request.ts';
export { digestsOfSealed } from './sealed-contents.ts';
export { sealedAddress, sealedOpener } from './sealed-routes.ts';
export { encryptForStamp, failureOf, madeOf, ProviderRefusalError, stampAll, stampOne } from './stamping.ts';
export { openStampTools, type StampTools, startDeadline, storeBefore } from './submission.ts';

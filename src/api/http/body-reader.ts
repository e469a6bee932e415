import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ServiceError } from '../../shared/domain/service-error.ts';
import type { Imprint } from '../../shared/domain/stamp.ts';
import { type BodyMemory, createBodyMemory, type Sender } from './body-memory.ts';
import { type ByteSink, createByteCollector } from './byte-collector.ts';
import { createDigestSink } from './digest-sink.ts';
import { discard } from './discard.ts';
import { createContinuations } from './expect-continue.ts';
import { addressKey } from './rate-limits.ts';
import { type Pace, receive } from './receive.ts';

/**
 * The raw answer of a request, whose end is the end of the request. It is no entry of a `WeakMap`: answer and request refer to each other, and V8
 * frees such a pair out of a long-lived `WeakMap` only when it collects the whole heap.
 */
const rawAnswer = Symbol('raw answer');

declare module 'fastify' {
  interface FastifyRequest {
    [rawAnswer]?: ServerResponse | undefined;
  }
}

/** The one way in which a body gets into memory. Every parser of bodies reads with it. */
export interface BodyReader {
  /**
   * The body of a request, which takes its share of the memory until the request is answered.
   *
   * @throws ServiceError 413 above the route's `bodyLimit`, 415 for content codings, 408 for a slow client, 503 where there is no
   * memory for it (E8, E10).
   */
  read(request: FastifyRequest, payload: IncomingMessage): Promise<Buffer>;
  /**
   * The hashes of a body, which takes no memory however large it is.
   *
   * @throws ServiceError as `read`, 413 above `limit` bytes
   */
  digest(request: FastifyRequest, payload: IncomingMessage, limit: number): Promise<readonly Imprint[]>;
  /** Lets a body pass that nobody needs. */
  ignore(request: FastifyRequest, payload: IncomingMessage): void;
  /** Throws a refusal, as soon as the client is sure to read it. */
  refuse(request: FastifyRequest, payload: IncomingMessage, refusal: ServiceError): Promise<never>;
}

export interface BodyReaderOptions {
  readonly memory?: BodyMemory;
  readonly senderOf?: (request: FastifyRequest) => Sender;
  readonly pace?: Pace;
}

/** Who holds no service token is known by his address. */
export const addressSender = (request: FastifyRequest): Sender => ({ kind: 'address', name: addressKey(request) });

/** Undefined where the body comes in chunks; Node has checked that the header is a number. */
export function announcedBytes({ headers }: FastifyRequest): number | undefined {
  if (headers['transfer-encoding'] !== undefined) return undefined;
  return Number(headers['content-length'] ?? 0);
}

/** Once for an app. */
export function createBodyReader(app: FastifyInstance, options: BodyReaderOptions = {}): BodyReader {
  const { memory = createBodyMemory({ largestBytes: app.initialConfig.bodyLimit ?? 0 }), senderOf = addressSender, pace } = options;
  app.decorateRequest(rawAnswer, undefined);
  const continuations = createContinuations(app.server);

  app.addHook('preParsing', (request, reply, payload, done) => {
    if (!request.is404 && announcedBytes(request) !== 0) request[rawAnswer] = reply.raw;
    done(null, payload);
  });

  async function refuse(request: FastifyRequest, payload: IncomingMessage, refusal: ServiceError): Promise<never> {
    if (!continuations.isAwaited(request.raw)) await discard(payload);
    throw refusal;
  }

  function ignore(request: FastifyRequest, payload: IncomingMessage): void {
    continuations.send(request.raw);
    payload.resume();
  }

  /** `heldBytes`: the memory that a sink may take. */
  async function readInto<Received>(
    request: FastifyRequest,
    payload: IncomingMessage,
    { limit, sinkFor }: { limit: number; sinkFor: (mostBytes: number) => { sink: ByteSink<Received>; heldBytes: number } },
  ): Promise<Received> {
    const announced = announcedBytes(request);
    const refusal = refusalOf(request, announced, limit);
    if (refusal) return refuse(request, payload, refusal);
    const { sink, heldBytes } = sinkFor(announced ?? limit);
    if (announced === 0) {
      ignore(request, payload);
      return sink.finish();
    }
    const lease = memory.open(senderOf(request), heldBytes);
    request[rawAnswer]?.once('close', lease.release);
    continuations.send(request.raw);
    return receive(payload, { limit, sink, lease, pace });
  }

  return {
    refuse,
    ignore,
    read: (request, payload) =>
      readInto(request, payload, {
        limit: request.routeOptions.bodyLimit,
        sinkFor: (mostBytes) => ({ sink: createByteCollector(mostBytes), heldBytes: mostBytes }),
      }),
    digest: (request, payload, limit) => readInto(request, payload, { limit, sinkFor: () => ({ sink: createDigestSink(), heldBytes: 0 }) }),
  };
}

function refusalOf({ headers }: FastifyRequest, announced: number | undefined, limit: number): ServiceError | undefined {
  const coding = headers['content-encoding'];
  if (coding !== undefined && coding.toLowerCase() !== 'identity') {
    return new ServiceError('unsupported_media_type', 'The body must be sent without a content coding.');
  }
  if (announced === undefined || announced <= limit) return undefined;
  return new ServiceError('payload_too_large', `The body may have at most ${limit} bytes.`);
}

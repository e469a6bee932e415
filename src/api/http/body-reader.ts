import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ServiceError } from '../../shared/domain/service-error.ts';
import { type Imprint, imprintAlgorithms } from '../../shared/domain/stamp.ts';

/** Bodies up to this size do not use the budget. It is the limit of routes without content, lists or tokens. */
export const smallBodyBytes = 64 * 1024;

/** Enough for a token of 1 MiB in base64, even if a client writes each `/` as `\/`. */
export const tokenBodyLimit = 3 * 1024 * 1024;

/**
 * base64 needs four characters for three bytes. Each character may be a slash, and some clients, for example in PHP, write a slash in JSON as the two
 * bytes `\/`. The rest of a body is small.
 */
export const stampBodyLimit = (sealedMaxBytes: number): number => Math.ceil(sealedMaxBytes / 3) * 4 * 2 + 64 * 1024;

/**
 * A body may take 30 s, plus one second for each 128 KiB. If the answer is sent before the body has ended, the rest of the body is read and dropped,
 * for at most 30 s, because some clients send the whole body before they read the answer.
 */
const bytesPerSecond = 128 * 1024;

const nothing = Buffer.alloc(0);
const answer = Symbol('answer');

declare module 'fastify' {
  interface FastifyRequest {
    /** The raw response to a request with a body. Its `close` event shows that the request is over. */
    [answer]?: ServerResponse | undefined;
  }
}

export type BodyReader = ReturnType<typeof createBodyReader>;

/** The announced size of a body. Undefined if the body comes in chunks. Node has checked that the header is a number. */
export function announcedBytes({ headers }: FastifyRequest): number | undefined {
  if (headers['transfer-encoding'] !== undefined) return undefined;
  return Number(headers['content-length'] ?? 0);
}

export interface BodyReaderOptions {
  readonly budget?: ReturnType<typeof createBodyBudget>;
  readonly senderOf?: (request: FastifyRequest) => Sender;
  readonly shortestMs?: number;
}

/** Creates the reader of all bodies and adds its hooks. Call it once for each app. */
export function createBodyReader(app: FastifyInstance, options: BodyReaderOptions = {}) {
  const { budget = createBodyBudget(app.initialConfig.bodyLimit ?? 0), shortestMs = 30_000 } = options;
  const { senderOf = ({ ip }) => ({ hasToken: false, address: ip }) } = options;
  const mostMsFor = (bytes: number) => shortestMs + (bytes / bytesPerSecond) * 1_000;

  // If a client waits for permission to send its body, Node by default permits it before any hook sees the head. With this listener a refusal saves
  // the client the upload.
  app.server.on('checkContinue', (request, response) => app.server.emit('request', request, response));
  app.decorateRequest(answer, undefined);
  app.addHook('preParsing', (request, reply, payload, done) => {
    if (announcedBytes(request) !== 0) request[answer] = reply.raw;
    done(null, payload);
  });
  app.addHook('onResponse', ({ raw }, _reply, done) => {
    if (!raw.complete) {
      const timer = setTimeout(() => raw.destroy(), shortestMs).unref();
      raw.once('close', () => clearTimeout(timer));
    }
    done();
  });

  /** The maximum number of bytes to read: the announced size, or `limit` for chunks; 0 if there is no body. */
  function mostBytesOf(request: FastifyRequest, limit: number): number {
    // The `close` event has already fired, so it would never return the bytes to the budget.
    if (request.raw.destroyed) throw new ServiceError('bad_request', 'The request ended before its body was read.');
    const coding = request.headers['content-encoding'];
    if (coding !== undefined && coding.toLowerCase() !== 'identity') {
      throw new ServiceError('unsupported_media_type', 'The body must be sent without a content coding.');
    }
    const announced = announcedBytes(request) ?? limit;
    if (announced > limit) throw tooLarge(limit);
    return announced;
  }

  function receive(request: FastifyRequest, payload: IncomingMessage, mostBytes: number, add: (bytes: Buffer) => void): Promise<void> {
    if (request.headers.expect !== undefined && request.raw.httpVersion === '1.1') request[answer]?.writeContinue();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    let received = 0;
    const onData = (bytes: Buffer) => {
      received += bytes.length;
      try {
        if (received > mostBytes) throw tooLarge(mostBytes);
        add(bytes);
      } catch (error) {
        fail(error);
      }
    };
    const onClose = () => fail(new ServiceError('bad_request', 'The request ended before its body did.'));
    const mostMs = mostMsFor(mostBytes);
    const timer = setTimeout(() => {
      fail(new ServiceError('request_timeout', `The body did not arrive in time: the limit is ${Math.ceil(mostMs / 1_000)} seconds.`));
    }, mostMs);
    // Not in `finally`: the stream closes before that, and making an error for each request costs more than reading it.
    const onEnd = () => {
      clearTimeout(timer);
      payload.off('data', onData).off('close', onClose);
      resolve();
    };
    const fail = (error: unknown) => {
      clearTimeout(timer);
      payload.off('end', onEnd).off('close', onClose);
      reject(error);
      // Reads and drops the rest.
      payload.off('data', onData).resume();
    };
    payload.on('data', onData).on('end', onEnd).on('error', onClose).on('close', onClose);
    return promise;
  }

  return {
    /**
     * Reads the body of a request.
     *
     * @throws ServiceError 413 above the route's `bodyLimit`, 415 for content codings, 408 for a slow client, 503 if the budget has no room (E10)
     */
    async read(request: FastifyRequest, payload: IncomingMessage): Promise<Buffer> {
      const mostBytes = mostBytesOf(request, request.routeOptions.bodyLimit);
      if (mostBytes === 0) return nothing;
      const isAnnounced = announcedBytes(request) !== undefined;
      const lease = budget.open(senderOf(request));
      request[answer]?.once('close', lease.release);
      let body: Buffer = nothing;
      let length = 0;
      /** Replaces the buffer by a larger one. Pieces are copied into it, so a body in tiny pieces needs no more memory than another body. */
      const makeRoom = (bytes: number) => {
        if (bytes > smallBodyBytes) lease.take(bytes);
        const larger = Buffer.allocUnsafeSlow(bytes);
        body.copy(larger, 0, 0, length);
        body = larger;
      };
      if (isAnnounced && mostBytes > smallBodyBytes) makeRoom(mostBytes);
      await receive(request, payload, mostBytes, (bytes) => {
        if (length === 0 && bytes.length === mostBytes) {
          body = bytes;
        } else {
          if (length + bytes.length > body.length) makeRoom(isAnnounced ? mostBytes : Math.min(mostBytes, 2 * (length + bytes.length)));
          bytes.copy(body, length);
        }
        length += bytes.length;
      });
      return body.subarray(0, length);
    },
    /** Hashes a body of any size, without keeping it in memory. @throws ServiceError 413 above `limit` bytes, 415, 408 */
    async digest(request: FastifyRequest, payload: IncomingMessage, limit: number): Promise<readonly Imprint[]> {
      const hash = createImprintHash();
      const mostBytes = mostBytesOf(request, limit);
      if (mostBytes > 0) await receive(request, payload, mostBytes, hash.add);
      return hash.imprints();
    },
  };
}

const tooLarge = (limit: number) => new ServiceError('payload_too_large', `The body may have at most ${limit} bytes.`);

/**
 * Keeps the connection of a refused request open. Fastify closes it whenever a body was refused, and a client that is still sending may then never
 * read the answer. If the body has not arrived completely, the connection is still closed for a client that sends too slowly or uses `Expect` (RFC
 * 9110 §10.1.1).
 */
export function keepConnection(error: Error, { raw, headers }: FastifyRequest, reply: FastifyReply): void {
  const isSlow = error instanceof ServiceError && error.code === 'request_timeout';
  if (raw.complete || (!isSlow && headers.expect === undefined)) reply.removeHeader('connection');
}

/** The sender of a body: its IP address, and whether it has a service token. */
interface Sender {
  readonly hasToken: boolean;
  readonly address: string;
}

/**
 * Limits the memory for bodies in a process. Senders with a service token share four times `largestBytes`, and all others share the same amount.
 * Within its group, one IP address may use `largestBytes`.
 */
export function createBodyBudget(largestBytes: number) {
  const taken = new Map<string, number>();
  const takenBy = (name: string): number => taken.get(name) ?? 0;
  return {
    open({ hasToken, address }: Sender) {
      const all = hasToken ? 'with a token' : 'without';
      const own = `${all} ${address}`;
      let held = 0;
      const hold = (bytes: number): void => {
        for (const name of [all, own]) {
          const sum = takenBy(name) + bytes - held;
          if (sum === 0) taken.delete(name);
          else taken.set(name, sum);
        }
        held = bytes;
      };
      return {
        /** Sets the number of bytes that this body uses in total. @throws ServiceError `overloaded` if the budget has no room */
        take(bytes: number): void {
          const more = bytes - held;
          const hasRoom = takenBy(all) + more <= 4 * largestBytes && takenBy(own) + more <= largestBytes;
          if (!hasRoom) throw new ServiceError('overloaded', 'Too many uploads are under way; try again later.', { retryAfterSeconds: 2 });
          hold(bytes);
        },
        /** Returns all bytes to the budget. May be called more than once. */
        release: () => hold(0),
      };
    },
  };
}

/**
 * Creates a hook for `onRequest` that refuses a request before its body is read, so that a client does not send a large body in vain. `check` throws
 * the refusal. If the body arrived together with the head, the hook does nothing and the route must check: like FastAPI, we answer malformed JSON
 * (422) before a missing token (401).
 */
export const beforeBody =
  (check: (request: FastifyRequest, reply: FastifyReply) => unknown) =>
  async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    await nextTurn();
    if (request.raw.complete === false) await check(request, reply);
  };

/** Hashes the added bytes in several algorithms at once, by default in all imprint algorithms. */
export function createImprintHash(algorithms: readonly Imprint['algorithm'][] = imprintAlgorithms) {
  const hashes = algorithms.map((algorithm) => ({ algorithm, hash: createHash(algorithm) }));
  return {
    add: (bytes: Uint8Array): void => {
      for (const { hash } of hashes) hash.update(bytes);
    },
    imprints: (): readonly Imprint[] => hashes.map(({ algorithm, hash }) => ({ algorithm, digest: hash.digest('hex') })),
  };
}

import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ServiceError } from '../../shared/domain/service-error.ts';
import type { Sender } from './body-memory.ts';
import { addressSender } from './body-reader.ts';
import { createByteBudget, type Holder } from './byte-budget.ts';

/** The memory of one process for large answers, until they are read. */
export interface ReplyMemory {
  /**
   * Reserves what an answer takes until it is sent, or its client has left.
   *
   * @throws ServiceError `overloaded` after too long a wait; `bad_request` where the client left meanwhile
   */
  reserve(reply: FastifyReply, bytes: number): Promise<void>;
  readonly freeBytes: number;
}

/**
 * The least that a client must read while something waits for it. Linux takes more of us only when a third of its buffer is free, of up to
 * 4 MiB, so whoever reads slowly on a fast line is seen to read now and then.
 */
const leastPace = { bytes: 40 * 1024, withinMs: 30_000 };
const lookEveryMs = 250;
/** What is written at a time, as much as must be read in time: of a piece nobody sees how much has been read until it is gone. */
export const pieceBytes = leastPace.bytes;
/**
 * Of an answer to a batch, whose clients are programs: one of 64 stamps of a TSA is written at once, where pieces of 40 KiB took a fourteenth of
 * what the API does for it. So a client must read so much in time.
 */
export const batchPieceBytes = 192 * 1024;

/** How a client reads: it is cut off when it is slower than `leastPace`. */
function watchReader(reply: FastifyReply, sender: Sender): Holder {
  const { raw } = reply.request;
  let readBefore = 0;
  let idleMs = 0;
  const cut = () => {
    reply.request.log.info({ idleMs }, 'the client reads too slowly and is cut off');
    // A reset: what the system still has of it is dropped as well.
    raw.socket.resetAndDestroy();
  };
  const look = () => {
    const { bytesWritten, writableLength } = raw.socket;
    const read = bytesWritten - writableLength;
    // Where nothing is to be read yet, the answer is still being made.
    const isReading = writableLength === 0 || read - readBefore >= leastPace.bytes;
    if (isReading) readBefore = read;
    // Counted in looks: while this process is busy it sees nothing, and nobody is idle.
    idleMs = isReading ? 0 : idleMs + lookEveryMs;
    if (idleMs >= leastPace.withinMs) cut();
  };
  const timer = setInterval(() => setImmediate(look), lookEveryMs).unref();
  reply.raw.once('close', () => clearInterval(timer));
  return { ...sender, idleMs: () => idleMs, cut };
}

/** `readerOf`: whose share of it an answer takes. */
export function createReplyMemory(options: { maxBytes: number; readerOf?: (request: FastifyRequest) => Sender }): ReplyMemory {
  const { maxBytes, readerOf = addressSender } = options;
  const budget = createByteBudget({ maxBytes });
  return {
    get freeBytes() {
      return budget.freeBytes;
    },
    reserve: async (reply, bytes) => {
      if (reply.raw.destroyed) throw new ServiceError('bad_request', 'The client left before its content was read.');
      const reservation = budget.reserve(bytes, watchReader(reply, readerOf(reply.request)));
      reply.raw.once('close', reservation.release);
      await reservation.granted;
    },
  };
}

/** The body of an answer that is made in such pieces. */
export function asBody(pieces: readonly Buffer[]): Readable | Buffer {
  if (pieces.length === 1) return pieces[0]!;
  const left = pieces.values();
  return new Readable({
    read() {
      this.push(left.next().value ?? null);
    },
  });
}

/** An answer in pieces so small that it is seen how its client reads. What fits into one piece is returned unchanged. */
export function inPieces(source: Buffer | AsyncIterable<Buffer>): Readable | Buffer {
  if (!Buffer.isBuffer(source)) return Readable.from(readInPieces(source), { objectMode: false });
  return source.length <= pieceBytes ? source : asBody(piecesOf(source));
}

const piecesOf = (bytes: Buffer): Buffer[] =>
  Array.from({ length: Math.ceil(bytes.length / pieceBytes) }, (_, index) => bytes.subarray(index * pieceBytes, (index + 1) * pieceBytes));

async function* readInPieces(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const part of source) yield* piecesOf(part);
}

import { Worker } from 'node:worker_threads';
import { type SignatureSubject, type VerifySignature, verifyHere } from '../../shared/rfc3161/index.ts';
import { createMicroBatcher } from '../../shared/runtime/micro-batcher.ts';
import type { SignatureBatch } from './verify-signatures.ts';

/** The most signatures of one message: some 20 ms of work. */
const mostAtOnce = 256;

interface Thread {
  /** One batch at a time. @throws where the thread has ended */
  verdictsOn(asked: readonly SignatureSubject[]): Promise<readonly boolean[]>;
}

/**
 * Verifies signatures in a thread of its own, those that come while it is busy together. In the thread pool each would wake a thread, which
 * takes the core from this one: that costs a tenth of a stamp. The thread starts with the first signature, and keeps no process alive that
 * waits for none. Where it ends, this thread verifies, and the next signature starts another.
 */
export function createSignatureThread(): VerifySignature {
  let thread: Thread | undefined;

  const start = (): Thread => {
    const started = startThread(() => {
      if (thread === started) thread = undefined;
    });
    return started;
  };
  const verdictsOn = async (asked: readonly SignatureSubject[]): Promise<readonly boolean[]> => {
    thread ??= start();
    return thread.verdictsOn(asked);
  };

  const batcher = createMicroBatcher<SignatureSubject, boolean>({
    maxItems: mostAtOnce,
    send: (asked) => verdictsOn(asked).catch(() => asked.map(verifyHere)),
  });
  return batcher.add;
}

function startThread(onEnd: () => void): Thread {
  const worker = new Worker(new URL('./verify-signatures.ts', import.meta.url));
  let answer = Promise.withResolvers<readonly boolean[]>();
  worker.on('message', (verdicts: readonly boolean[]) => {
    worker.unref();
    answer.resolve(verdicts);
  });
  // A thread that fails tells of it twice, the second time perhaps after its successor has started.
  const end = (cause: unknown) => {
    onEnd();
    answer.reject(new Error('the thread has ended', { cause }));
  };
  worker.on('error', end).on('exit', end);
  return {
    verdictsOn: async (asked) => {
      answer = Promise.withResolvers();
      const batch = packed(asked);
      worker.postMessage(batch, [batch.octets.buffer]);
      worker.ref();
      return answer.promise;
    },
  };
}

/** All octets in one piece, which changes hands: by themselves they would be copied with the pools that they lie in. */
function packed(asked: readonly SignatureSubject[]): SignatureBatch {
  const keys = [...new Set(asked.map(({ key }) => key))];
  const octets = new Uint8Array(asked.reduce((sum, { data, signature }) => sum + data.length + signature.length, 0));
  let offset = 0;
  const put = (part: Uint8Array): number => {
    octets.set(part, offset);
    offset += part.length;
    return part.length;
  };
  const subjects = asked.map(({ digest, key, data, signature }) => ({
    digest,
    key: keys.indexOf(key),
    dataLength: put(data),
    signatureLength: put(signature),
  }));
  return { keys, subjects, octets };
}

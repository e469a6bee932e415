import { parentPort } from 'node:worker_threads';
import { readTrustedList } from './read-list.ts';
import type { Signers } from './signed-xml.ts';
import { ListRefusal } from './trusted-list.ts';

/** The thread behind `openListThread`. Each message is one list to read; each answer is the list, or why it is refused. */
parentPort?.on('message', ({ document, signers }: { document: Uint8Array; signers: Signers }) => {
  parentPort?.postMessage(answerOf(document, signers));
});

function answerOf(document: Uint8Array, signers: Signers) {
  try {
    return { list: readTrustedList(document, signers) };
  } catch (error) {
    if (!(error instanceof ListRefusal)) throw error;
    return { refusal: { code: error.code, detail: error.detail } };
  }
}

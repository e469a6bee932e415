import { isMainThread, parentPort } from 'node:worker_threads';

/** Preloaded (`--import`): every thread ends at its first message, without an answer. */
if (!isMainThread) parentPort?.once('message', () => process.exit(1));

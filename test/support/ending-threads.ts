import { isMainThread, parentPort } from 'node:worker_threads';

/** Preloaded (`--import`): every thread ends when it gets its first message, and has answered nothing. */
if (!isMainThread) parentPort?.once('message', () => process.exit(1));

import type { IncomingMessage, Server, ServerResponse } from 'node:http';

/** Clients that said `Expect: 100-continue`: they send their body once they are asked for it (RFC 9110 §10.1.1). */
export interface Continuations {
  /** Whether the client still waits to be asked: then no part of the body is on its way. */
  isAwaited(request: IncomingMessage): boolean;
  /** Asks for the body, once. */
  send(request: IncomingMessage): void;
}

/**
 * Node by itself asks for a body before any code of ours has seen the head. Here it is asked for only when it is about to be read, so a
 * refusal (401, 413, 415, 429 …) saves the client the upload. After such a refusal the connection is closed, because the client may send
 * the body anyway and it would be read as the next request.
 */
export function createContinuations(server: Server): Continuations {
  const awaited = new WeakMap<IncomingMessage, { response: ServerResponse; keepsAlive: boolean }>();
  server.on('checkContinue', (request, response) => {
    awaited.set(request, { response, keepsAlive: response.shouldKeepAlive });
    response.shouldKeepAlive = false;
    server.emit('request', request, response);
  });
  return {
    isAwaited: (request) => awaited.has(request),
    send(request) {
      const waiting = awaited.get(request);
      if (!waiting) return;
      awaited.delete(request);
      waiting.response.shouldKeepAlive = waiting.keepsAlive;
      waiting.response.writeContinue();
    },
  };
}

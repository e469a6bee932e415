import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** How many requests of one connection may be without an answer. */
const mostUnanswered = 64;

type Exchange = readonly [IncomingMessage, ServerResponse];

interface Connection {
  unanswered: number;
  /** Came in one piece with those before, and begin when these are answered. */
  waiting: Exchange[];
}

/**
 * Bounds what a client may ask on one connection without waiting for answers (pipelining, RFC 9112 §9.3.2): beyond 64 requests nothing more is
 * read from it. What waits when the connection is closed is not begun.
 */
export function boundPipelines(server: Server): void {
  const listeners = server.listeners('request') as ((...exchange: Exchange) => void)[];
  const connections = new Map<Socket, Connection>();

  function begin(connection: Connection, exchange: Exchange): void {
    const [{ socket }, response] = exchange;
    connection.unanswered += 1;
    response.once('close', () => {
      connection.unanswered -= 1;
      beginWaiting(socket, connection);
    });
    for (const listener of listeners) listener.apply(server, exchange as [IncomingMessage, ServerResponse]);
  }

  function beginWaiting(socket: Socket, connection: Connection): void {
    if (connection.waiting.length === 0) return;
    while (connection.unanswered < mostUnanswered && connections.has(socket)) {
      const next = connection.waiting.shift();
      if (next === undefined) break;
      begin(connection, next);
    }
    if (connection.waiting.length === 0) socket.resume();
  }

  server.on('connection', (socket) => {
    connections.set(socket, { unanswered: 0, waiting: [] });
    socket.once('close', () => connections.delete(socket));
  });
  server.removeAllListeners('request');
  server.on('request', (...exchange) => {
    const { socket } = exchange[0];
    const connection = connections.get(socket);
    if (!connection) return;
    if (connection.unanswered < mostUnanswered && connection.waiting.length === 0) {
      begin(connection, exchange);
    } else {
      connection.waiting.push(exchange);
      socket.pause();
    }
  });
}

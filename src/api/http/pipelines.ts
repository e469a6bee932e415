import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** The maximum number of unanswered requests of one connection. */
const mostUnanswered = 64;
/**
 * The maximum number of requests that begin in one turn of the event loop. libuv accepts one new connection in each turn. A turn does not end before
 * all connections with data were read, perhaps a thousand. Without this limit, new connections would wait for many seconds in a flood of requests.
 */
const mostInATurn = 32;

type PipelinedRequest = readonly [IncomingMessage, ServerResponse];

interface Connection {
  unanswered: number;
  /** Requests that arrived beyond the limit. They begin when earlier requests are answered. */
  waiting: PipelinedRequest[];
}

/**
 * Limits pipelining (RFC 9112 §9.3.2): after 64 unanswered requests nothing more is read from a connection. Requests that still wait when the
 * connection closes do not begin. While nothing is read, only a failed write shows that the client has closed the connection.
 */
export function boundPipelines(server: Server): void {
  const listeners = server.listeners('request') as ((...exchange: PipelinedRequest) => void)[];
  const connections = new Map<Socket, Connection>();
  let nextTurn: PipelinedRequest[] = [];
  let begun = 0;

  function begin(exchange: PipelinedRequest): void {
    if (begun === 0) setImmediate(endTurn);
    begun += 1;
    for (const listener of listeners) listener.apply(server, exchange as [IncomingMessage, ServerResponse]);
  }

  function endTurn(): void {
    begun = 0;
    const waiting = nextTurn;
    nextTurn = [];
    for (const exchange of waiting) beginInTurn(exchange);
  }

  function beginInTurn(exchange: PipelinedRequest): void {
    if (!connections.has(exchange[0].socket)) return;
    if (begun < mostInATurn) begin(exchange);
    else nextTurn.push(exchange);
  }

  function admit(connection: Connection, exchange: PipelinedRequest): void {
    const [{ socket }, response] = exchange;
    connection.unanswered += 1;
    response.once('close', () => {
      connection.unanswered -= 1;
      admitWaiting(socket, connection);
    });
    beginInTurn(exchange);
  }

  function admitWaiting(socket: Socket, connection: Connection): void {
    if (connection.waiting.length === 0) return;
    while (connection.unanswered < mostUnanswered && connections.has(socket)) {
      const next = connection.waiting.shift();
      if (next === undefined) break;
      admit(connection, next);
    }
    if (connection.waiting.length === 0) socket.resume();
  }

  server.on('connection', (socket) => {
    const connection: Connection = { unanswered: 0, waiting: [] };
    connections.set(socket, connection);
    // Node resumes a socket after each complete request, so it is paused again while requests wait.
    socket.on('resume', () => connection.waiting.length > 0 && socket.pause());
    socket.once('close', () => connections.delete(socket));
  });
  server.removeAllListeners('request');
  server.on('request', (...exchange) => {
    const { socket } = exchange[0];
    const connection = connections.get(socket);
    if (!connection) return;
    if (connection.unanswered < mostUnanswered && connection.waiting.length === 0) {
      admit(connection, exchange);
    } else {
      connection.waiting.push(exchange);
      socket.pause();
    }
  });
}

import type { IncomingMessage, Server, ServerResponse } from 'node:http';

/** How many requests begin in one turn of the event loop: as many as travel in one job. */
const mostPerTurn = 64;

/** How many begin in a turn that accepted a connection: few, so that the next turn is soon there, but never none. */
const mostPerAcceptingTurn = 4;

/** For how long in a row new connections are accepted before a whole turn of waiting requests. */
const mostAcceptingMs = 50;

/** What a supervisor asks, to learn whether this process is alive, waits behind nobody. */
const isUrgent = ({ url }: IncomingMessage): boolean => url === '/health/live';

type Exchange = readonly [IncomingMessage, ServerResponse];

/**
 * Lets few requests begin in each turn of the event loop, and the others in later ones, in the order in which they came; few while new
 * connections come. libuv accepts one connection a turn: with 1 500 clients that ask without a pause there were three turns a second,
 * and a new connection waited behind the 511 that the backlog holds.
 */
export function shareTurns(server: Server, now: () => number = () => performance.now()): void {
  const listeners = server.listeners('request') as ((...exchange: Exchange) => void)[];
  let waiting: Exchange[] = [];
  let begun = 0;
  let isTurnCounted = false;
  let hasAccepted = false;
  let acceptingSince = 0;

  const begin = (exchange: Exchange) => {
    begun += 1;
    for (const listener of listeners) listener.apply(server, exchange as [IncomingMessage, ServerResponse]);
  };
  const countTurn = () => {
    if (isTurnCounted) return;
    isTurnCounted = true;
    setImmediate(endTurn);
  };
  const endTurn = () => {
    isTurnCounted = false;
    begun = 0;
    const acceptsOn = hasAccepted && now() - acceptingSince < mostAcceptingMs;
    hasAccepted = false;
    if (waiting.length === 0) return;
    countTurn();
    if (!acceptsOn) acceptingSince = now();
    const most = acceptsOn ? mostPerAcceptingTurn : mostPerTurn;
    const next = waiting.slice(0, most);
    waiting = waiting.slice(most);
    for (const exchange of next) begin(exchange);
  };
  server.on('connection', () => (hasAccepted = true));
  server.removeAllListeners('request');
  server.on('request', (...exchange) => {
    if (isUrgent(exchange[0]) || (begun < mostPerTurn && waiting.length === 0)) {
      begin(exchange);
    } else {
      if (waiting.length === 0) acceptingSince = now();
      waiting.push(exchange);
    }
    countTurn();
  });
}

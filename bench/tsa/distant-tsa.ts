/** A development TSA that answers `/?away=<milliseconds>` so much later, as a TSA in another country does. Its keys are in `TSA_STATE_DIR`. */
import { createTsaServer } from '../../src/tsa/server.ts';
import { openTsaState } from '../../src/tsa/state.ts';

const tsa = createTsaServer({
  pki: await openTsaState(process.env.TSA_STATE_DIR ?? '', 'p-256', Date.now()),
  clock: Date.now,
  answer: ({ request, response }, issue) => {
    const awayMs = Number(new URL(request.url ?? '/', 'http://tsa.invalid').searchParams.get('away'));
    if (awayMs === 0) return issue();
    const timer = setTimeout(issue, awayMs);
    response.once('close', () => clearTimeout(timer));
  },
});
process.send?.({ url: await tsa.listen() });

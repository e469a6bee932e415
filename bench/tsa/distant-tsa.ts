/** A development TSA that answers `/?away=<milliseconds>` so much later, as a TSA in another country does. Its keys are in `TSA_STATE_DIR`. */
import { issueResponse } from '../../src/shared/rfc3161/index.ts';
import { randomSerial } from '../../src/shared/runtime/random-octets.ts';
import { createTsaServer, profileOf, REPLY_TYPE, send } from '../../src/tsa/server.ts';
import { openTsaState } from '../../src/tsa/state.ts';

const profile = profileOf(await openTsaState(process.env.TSA_STATE_DIR ?? '', 'p-256', Date.now()));
const tsa = createTsaServer((query, response, request) => {
  const issue = () => send(response, 200, REPLY_TYPE, issueResponse(profile, query, { timeMs: Date.now(), serial: randomSerial() }));
  const awayMs = Number(new URL(request.url ?? '/', 'http://tsa.invalid').searchParams.get('away'));
  if (awayMs === 0) return issue();
  const timer = setTimeout(issue, awayMs);
  response.once('close', () => clearTimeout(timer));
});
process.send?.({ url: await tsa.listen() });

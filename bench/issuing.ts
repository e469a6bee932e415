import { randomBytes } from 'node:crypto';
import { encodeRequest, issueResponse, type TsaProfile } from '../src/shared/rfc3161/index.ts';
import { randomSerial } from '../src/shared/runtime/random-octets.ts';
import { KEY_ALGORITHMS, type KeyAlgorithm } from '../src/tsa/certificate.ts';
import { createPki } from '../src/tsa/pki.ts';
import { DEVELOPMENT_POLICY } from '../src/tsa/server.ts';
import { median, rate } from './rate.ts';

/**
 * How much of the price of a token is the signature? Both are timed in turns in one process on one thread, so the ratio holds on a busy
 * machine too. Run: `node bench/issuing.ts`. Exits 1 when issuing with a P-256 key reaches less than 0.05 of raw signatures.
 */

const WANTED_RATIO = 0.05;
const ROUNDS = 7;
const ROUND_MS = 200;

async function measure(algorithm: KeyAlgorithm) {
  const { signer } = createPki({ algorithm, caAlgorithm: 'p-256', nowMs: Date.now() });
  const profile: TsaProfile = { identity: signer, policies: [DEVELOPMENT_POLICY], accuracy: { seconds: 1 } };
  const query = encodeRequest({ imprint: { algorithm: 'sha256', digest: randomBytes(32) }, nonce: randomBytes(16) });
  const attributes = Buffer.alloc(200, 1);
  const issue = () => void issueResponse(profile, query, { timeMs: Date.now(), serial: randomSerial() });
  const raw = () => void signer.scheme.sign(attributes, signer.privateKey);

  await rate(issue, ROUND_MS);
  await rate(raw, ROUND_MS);
  const rounds = await Array.fromAsync({ length: ROUNDS }, async () => ({
    issued: await rate(issue, ROUND_MS),
    signed: await rate(raw, ROUND_MS),
  }));
  const ratio = median(rounds.map(({ issued, signed }) => issued / signed));
  return { issued: median(rounds.map((r) => r.issued)), signed: median(rounds.map((r) => r.signed)), ratio };
}

console.log('key            tokens/s   signatures/s   ratio');
let reached = 0;
for (const algorithm of KEY_ALGORITHMS) {
  const { issued, signed, ratio } = await measure(algorithm);
  if (algorithm === 'p-256') reached = ratio;
  console.log(
    `${algorithm.padEnd(12)} ${issued.toFixed(0).padStart(10)} ${signed.toFixed(0).padStart(14)} ${ratio.toFixed(3).padStart(7)}`,
  );
}
const verdict = reached >= WANTED_RATIO ? 'reached' : 'MISSED';
console.log(`issuing with P-256: ${reached.toFixed(3)} of raw signatures, wanted ${WANTED_RATIO}: ${verdict}`);
process.exitCode = reached >= WANTED_RATIO ? 0 : 1;

import { createHash, createSecretKey } from 'node:crypto';
import { trustAdd } from '../../src/cli/commands/trust.ts';
import { verify } from '../../src/cli/commands/verify.ts';
import { issueMockToken } from '../../src/shared/domain/mock-token.ts';
import { issueResponse, type SigningIdentity } from '../../src/shared/rfc3161/index.ts';
import { createPki } from '../../src/tsa/pki.ts';
import { folderWith } from './cli-in-process.ts';
import { ask } from './tsa-lab.ts';

/** Stamps of a development TSA, the mock provider and foreign TSAs, as files in a folder for `qstamp verify`. */

export const hourMs = 3_600_000;
/** Years ago, so that everything that expired since then expired long ago. */
export const genTimeMs = Date.UTC(2024, 1, 29, 12);
export const genTime = '2024-02-29T12:00:00Z';
/** The same in text for people, where every time has milliseconds. */
export const shownTime = '2024-02-29T12:00:00.000Z';
/** The names of the development TSA. */
export const named = (name: string) => `CN=${name},O=qstamp development`;
export const pki = createPki({ nowMs: genTimeMs - 24 * hourMs });
export const stranger = createPki({ nowMs: genTimeMs - 24 * hourMs });
export const fingerprintOf = (der: Buffer) => createHash('sha256').update(der).digest('hex');
export const digestOf = (content: string, hash: 'sha256' | 'sha512' = 'sha256') => createHash(hash).update(content).digest();

interface AnswerOptions {
  readonly hash?: 'sha256' | 'sha512';
  readonly identity?: SigningIdentity;
  readonly atMs?: number;
}

/** The answer of the TSA for this content. */
export function answerFor(content: string, { hash = 'sha256', identity = pki.signer, atMs = genTimeMs }: AnswerOptions = {}): Buffer {
  const asked = ask({ hash, digest: digestOf(content, hash), nonce: undefined });
  return issueResponse({ identity, policies: ['2.999.1'], accuracy: { seconds: 1 } }, asked.der, { timeMs: atMs, serial: 1n });
}

export const tokenId = '01890a5d-ac96-774b-bcce-b302099a8057';
const verifyUrl = `/api/v1/verify/v1/token/${tokenId}`;

/** The stamp file that an untrustworthy service would save beside a file. */
export const recordOf = (content: string, token: string) =>
  JSON.stringify({
    qstamp: 1,
    kind: 'stamp',
    file: 'a',
    bytes: content.length,
    sha256: digestOf(content).toString('hex'),
    service: 'http://127.0.0.1:9',
    stamp: {
      token_id: tokenId,
      issued_at: '2001-01-01T00:00:00Z',
      content_sha256: digestOf(content).toString('hex'),
      token,
      tier: 'basic',
      tsp_provider: 'acme',
      is_qualified: true,
      verify_url: verifyUrl,
      sealed_storage_url: null,
    },
  });

const mockKey = createSecretKey(Buffer.alloc(32, 1));
export const mockToken = (content: string) =>
  issueMockToken(mockKey, { tokenId, hash: digestOf(content).toString('hex'), timeMs: genTimeMs, tier: 'basic' });

export function folder(token: string, files: Record<string, string | Uint8Array> = {}, stamped = 'a') {
  const all = { a: 'a', 'a.qstamp.json': recordOf(stamped, token), 'root.pem': pki.rootPem, 'other.pem': stranger.rootPem, ...files };
  return folderWith([verify, trustAdd], all);
}
export const tokenOf = (content: string, options: AnswerOptions = {}) => answerFor(content, options).toString('base64');

/** The one result of a command with `--json`. */
export const only = ({ stdout }: { readonly stdout: string }) => JSON.parse(stdout);

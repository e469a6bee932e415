import { createHash, createHmac, createSecretKey } from 'node:crypto';
import type { Db } from 'mongodb';
import { readMockToken } from '../../src/shared/domain/mock-token.ts';

const secretBytes = 32;
/** Longer values contain a token or content, and no key. */
const longestBytes = 512;

/** Every document of every collection, including GridFS. */
export async function dumpDatabase(db: Db): Promise<Record<string, Record<string, unknown>[]>> {
  const dump: Record<string, Record<string, unknown>[]> = {};
  for (const { name } of await db.listCollections().toArray()) dump[name] = await db.collection(name).find().toArray();
  return dump;
}

/** Every byte sequence in a value: bytes unchanged, texts unchanged and decoded from hexadecimal and base64. */
function* bytesIn(value: unknown): Generator<Buffer> {
  if (value instanceof Uint8Array) yield Buffer.from(value);
  else if (typeof value === 'string') yield* [Buffer.from(value), Buffer.from(value, 'hex'), Buffer.from(value, 'base64')];
  else if (typeof value === 'object' && value !== null) for (const member of Object.values(value)) yield* bytesIn(member);
}

/** Everything in a dump that could be a key of 32 bytes. */
export function* keysIn(dump: unknown): Generator<Buffer> {
  for (const bytes of bytesIn(dump)) {
    if (bytes.length > longestBytes) continue;
    for (let at = 0; at + secretBytes <= bytes.length; at += 1) yield bytes.subarray(at, at + secretBytes);
  }
}

/** What a thief of a dump can open with these keys, if the thief knows callers and their idempotency keys. */
export function openedBy(
  keys: Iterable<Buffer>,
  dump: Awaited<ReturnType<typeof dumpDatabase>>,
  known: { readonly callers: readonly string[]; readonly idempotencyKeys: readonly string[] },
): Set<string> {
  const opened = new Set<string>();
  const secrets = new Map<string, string>();
  for (const { tokenSha256 } of dump.workflows ?? []) secrets.set(String(tokenSha256), 'workflow token');
  for (const { sealed } of dump.stamps ?? []) {
    if (typeof sealed === 'object' && sealed !== null && 'secretSha256' in sealed)
      secrets.set(String(sealed.secretSha256), 'sealed content');
  }
  const mockTokens = (dump.stamps ?? []).flatMap(({ proofs }) =>
    (proofs as { token: string }[]).map(({ token }) => Buffer.from(token, 'base64')),
  );
  const requests = (dump.idempotency ?? []).flatMap(({ requestDigest, resourceId }) =>
    known.callers.flatMap((caller) =>
      known.idempotencyKeys.map((key) => JSON.stringify(['secret', caller, key, requestDigest, resourceId])),
    ),
  );
  for (const bytes of keys) {
    for (const request of requests) {
      const secret = createHmac('sha256', bytes).update(request).digest('base64url');
      const what = secrets.get(createHash('sha256').update(secret).digest('hex'));
      if (what) opened.add(what);
    }
    if (mockTokens.some((token) => readMockToken(createSecretKey(bytes), token))) opened.add('forged mock token');
  }
  return opened;
}

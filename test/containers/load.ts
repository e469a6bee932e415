import { createHash, randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { ProviderFailed, Qstamp } from '../../clients/typescript/src/index.ts';
import type { Deployment } from './deployment.ts';

const clients = 16;
/** The maximum number of 502 answers for one hash. The client tries again once per second, for as long as a TSA may be down. */
const mostRefusals = 60;

/** A stamp that was made under load. */
export interface Stamped {
  readonly hash: string;
  readonly id: string;
  /** The number of 502 answers that its client got before. */
  readonly refusals: number;
}

/** A typical client: it repeats a request with the same idempotency key until it gets 201. */
export const clientOf = ({ url, serviceToken }: Deployment): Qstamp => new Qstamp({ url, serviceToken, maxRetries: 100, timeout: 20_000 });

/** Stamps a hash, and tries again after each 502, which means that no TSA answered and nothing was stamped. */
async function stampPatiently(qstamp: Qstamp, hash: string): Promise<Stamped> {
  for (let refusals = 0; ; refusals += 1) {
    try {
      return { hash, id: (await qstamp.stampHash(hash)).token_id, refusals };
    } catch (error) {
      if (!(error instanceof ProviderFailed) || refusals === mostRefusals) throw error;
      await delay(1_000);
    }
  }
}

/** Stamps `count` new hashes with sixteen parallel clients. `meanwhile` begins when a fifth of the hashes are stamped. */
export async function stampUnderLoad(deployment: Deployment, count: number, meanwhile: () => Promise<void>): Promise<Stamped[]> {
  const qstamp = clientOf(deployment);
  const hashes = Array.from({ length: count }, () => createHash('sha256').update(randomBytes(16)).digest('hex'));
  const waiting = [...hashes];
  const stamped: Stamped[] = [];
  let broken: Promise<void> | undefined;
  const ends = await Promise.allSettled(
    Array.from({ length: clients }, async () => {
      for (let hash = waiting.pop(); hash !== undefined; hash = waiting.pop()) {
        stamped.push(await stampPatiently(qstamp, hash));
        if (stamped.length >= count / 5) broken ??= meanwhile();
      }
    }),
  );
  await broken;
  const failure = ends.find((end) => end.status === 'rejected');
  if (failure !== undefined) throw failure.reason;
  return stamped;
}

interface Listed {
  readonly items: readonly { readonly token_id: string; readonly content_sha256: string }[];
  readonly total: number;
}

/** All stamps of the product. */
async function listAll({ url, serviceToken }: Deployment): Promise<Listed['items']> {
  const items: Listed['items'][number][] = [];
  for (;;) {
    const answer = await fetch(`${url}/api/v1/internal/v1/stamps?limit=500&offset=${items.length}`, {
      headers: { 'x-service-token': serviceToken },
    });
    const page = (await answer.json()) as Listed;
    items.push(...page.items);
    if (page.items.length === 0 || items.length >= page.total) return items;
  }
}

/**
 * Checks that each stamp that was answered with 201 exists exactly once and is valid. If there are many stamps, only every tenth is verified.
 *
 * @throws Error otherwise
 */
export async function expectEachOnce(deployment: Deployment, stamped: readonly Stamped[]): Promise<void> {
  const ids = new Map<string, string[]>();
  for (const { content_sha256, token_id } of await listAll(deployment))
    ids.set(content_sha256, [...(ids.get(content_sha256) ?? []), token_id]);
  const lost = stamped.filter(({ hash, id }) => !ids.get(hash)?.includes(id));
  const doubled = stamped.filter(({ hash }) => (ids.get(hash)?.length ?? 0) > 1);
  if (lost.length + doubled.length > 0) {
    const refused = doubled.filter(({ refusals }) => refusals > 0).length;
    throw new Error(`${lost.length} of ${stamped.length} stamps are lost, ${doubled.length} doubled, ${refused} of these after a 502`);
  }
  const qstamp = clientOf(deployment);
  for (const { id } of stamped.filter((_, index) => index % 10 === 0)) {
    const { valid, reason } = await qstamp.verify(id);
    if (!valid) throw new Error(`${id} is not valid: ${reason}`);
  }
}

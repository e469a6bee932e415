import { readFile } from 'node:fs/promises';
import type { ListSource } from '../../shared/trust/list-sources.ts';
import { ListRefusal, mostListBytes } from '../../shared/trust/lists/index.ts';

/** The largest lists have some megabytes, and some countries have slow servers. */
const longestFetchMs = 60_000;

/**
 * Gets the file of a list.
 *
 * @param redirect `error`: only this server may have it
 * @throws ListRefusal `list_unreachable`, `list_too_large`
 */
export async function fetchList(place: ListSource['place'], redirect: 'follow' | 'error' = 'follow'): Promise<Uint8Array> {
  try {
    return 'file' in place ? await readFile(place.file) : await download(place.address, redirect);
  } catch (error) {
    if (error instanceof ListRefusal) throw error;
    throw new ListRefusal('list_unreachable', reasonOf(error));
  }
}

async function download(address: string, redirect: 'follow' | 'error'): Promise<Uint8Array> {
  const answer = await fetch(address, { signal: AbortSignal.timeout(longestFetchMs), redirect });
  if (!answer.ok || !answer.body) throw new ListRefusal('list_unreachable', `The server answered with status ${answer.status}.`);
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of answer.body) {
    bytes += part.length;
    if (bytes > mostListBytes) throw new ListRefusal('list_too_large');
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/** `fetch` says only that it failed; the cause says why. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'TimeoutError') return `It did not come in ${longestFetchMs / 1000} s.`;
  const { cause } = error;
  const code = cause instanceof Error && 'code' in cause ? ` (${cause.code})` : '';
  return `${cause instanceof Error && cause.message ? cause.message : error.message}${code}.`;
}

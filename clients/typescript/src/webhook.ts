import { WebhookRefused } from './errors.ts';
import { isObject } from './exchange.ts';

/** The maximum age of a webhook, in seconds. It must be enough for the clock difference plus the delivery time. */
const toleranceSeconds = 300;

export interface WebhookOptions {
  /** The service's secret `whsec_…`. Give both secrets while the secret is being changed. */
  readonly secret: string | readonly string[];
  /** Current Unix time in seconds; default: the machine's clock. */
  readonly now?: number;
}

/** The headers of a request: `Headers` of fetch, or an object with lower-case names as in Node.js. */
export type HeadersGiven = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

const headerOf = (headers: HeadersGiven, name: string): string => {
  const value = headers instanceof Headers ? headers.get(name) : headers[name];
  return typeof value === 'string' ? value : '';
};

const bytesOf = (base64: string): Uint8Array<ArrayBuffer> => Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));

async function isSigned(signed: Uint8Array<ArrayBuffer>, signature: string, secret: string): Promise<boolean> {
  try {
    const hmac = { name: 'HMAC', hash: 'SHA-256' };
    const key = await crypto.subtle.importKey('raw', bytesOf(secret.replace(/^whsec_/, '')), hmac, false, ['verify']);
    // This compares in constant time.
    return await crypto.subtle.verify('HMAC', key, bytesOf(signature), signed);
  } catch {
    return false;
  }
}

/**
 * Verifies the signature of a webhook and returns its payload (Standard Webhooks: `webhook-id`, `webhook-timestamp`, `webhook-signature`). Pass the
 * body exactly as received. A webhook may come more than once: `webhook-id` identifies it.
 *
 * @throws WebhookRefused if it was not signed with the secret, or is older than five minutes
 */
export async function verifyWebhook<T = Readonly<Record<string, unknown>>>(
  body: string | Uint8Array,
  headers: HeadersGiven,
  { secret, now = Date.now() / 1000 }: WebhookOptions,
): Promise<T> {
  const [id, sentAt, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => headerOf(headers, name));
  if (!id || !sentAt || !signatures) throw new WebhookRefused('the headers of a webhook are missing');
  if (!/^\d{1,15}$/.test(sentAt) || Math.abs(now - Number(sentAt)) > toleranceSeconds) {
    throw new WebhookRefused('the webhook was not sent within the last five minutes');
  }
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body);
  const signed = new TextEncoder().encode(`${id}.${sentAt}.${text}`);
  const given = signatures.split(' ').flatMap((each) => (each.startsWith('v1,') ? [each.slice(3)] : []));
  for (const each of [secret].flat()) {
    for (const signature of given) if (await isSigned(signed, signature, each)) return payloadOf(text) as T;
  }
  throw new WebhookRefused('the webhook has no valid signature');
}

function payloadOf(text: string): unknown {
  try {
    const payload: unknown = JSON.parse(text);
    if (isObject(payload)) return payload;
  } catch {}
  throw new WebhookRefused('the body of the webhook is not a JSON object');
}

import { createHmac } from 'node:crypto';
import { type LookupAddress, lookup } from 'node:dns';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { isPrivateAddress } from '../../shared/runtime/private-address.ts';

/** How long a receiver has to answer, from the first octet of ours on. */
const answerWithinMs = 10_000;

/** A webhook that was not taken. Nothing in it comes from the receiver but a status. */
export class WebhookError extends Error {
  override readonly name = 'WebhookError';
  /** Whether sending it again is of no use. */
  readonly isFinal: boolean;

  constructor(fault: string, { isFinal = false, cause }: { isFinal?: boolean; cause?: unknown } = {}) {
    super(fault, { cause });
    this.isFinal = isFinal;
  }
}

export interface Webhook {
  readonly url: string;
  /** The same each time it is sent, so that a receiver knows it again. */
  readonly id: string;
  readonly event: string;
  /** JSON. */
  readonly body: string;
}

/** Sends a webhook once. @throws WebhookError where the receiver did not answer 2xx */
export type SendWebhook = (webhook: Webhook) => Promise<void>;

/** The headers of Standard Webhooks: a signature by each secret, so that a secret can be replaced. */
export function signedHeaders(
  { id, body }: Pick<Webhook, 'id' | 'body'>,
  secrets: readonly Buffer[],
  nowMs: number,
): Record<string, string> {
  const timestamp = String(Math.floor(nowMs / 1000));
  const signatures = secrets.map((secret) => `v1,${createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64')}`);
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}

/** Resolves a name for the very connection that is made, so that no name can mean another address a moment later. */
const publicLookup: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, found) => {
    const addresses = (found ?? []) as LookupAddress[];
    const [first] = addresses;
    const refusal = addresses.some(({ address }) => isPrivateAddress(address))
      ? new WebhookError('the name of the receiver leads to a private address', { isFinal: true })
      : error;
    if (refusal || !first) return callback(refusal ?? new WebhookError('the name of the receiver is not known'), '', 0);
    if (options.all) callback(null, addresses);
    else callback(null, first.address, first.family);
  });
};

/** `isOpen`: private addresses and plain HTTP are allowed, as in development. */
export function createWebhookSender(options: {
  secrets: readonly Buffer[];
  isOpen: boolean;
  clock: () => number;
  userAgent: string;
}): SendWebhook {
  const { secrets, isOpen, clock, userAgent } = options;

  function checkTarget({ protocol, hostname }: URL): void {
    if (isOpen) return;
    if (protocol !== 'https:') throw new WebhookError('the receiver has no https address', { isFinal: true });
    const host = hostname.replace(/^\[(.*)\]$/, '$1');
    if (isIP(host) && isPrivateAddress(host)) throw new WebhookError('the receiver has a private address', { isFinal: true });
  }

  return ({ url: given, id, event, body }) =>
    new Promise((resolve, reject) => {
      const url = new URL(given);
      checkTarget(url);
      const fail = (error: unknown) =>
        reject(error instanceof WebhookError ? error : new WebhookError('the receiver could not be reached', { cause: error }));
      const outgoing = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, {
        method: 'POST',
        // No connection is kept: the next one is judged anew.
        agent: false,
        ...(!isOpen && { lookup: publicLookup }),
        signal: AbortSignal.timeout(answerWithinMs),
        headers: {
          ...signedHeaders({ id, body }, secrets, clock()),
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
          'qstamp-event': event,
          'user-agent': userAgent,
        },
      });
      outgoing.on('error', fail).on('response', (response) => {
        // Only the status counts; whatever else the receiver says is not read. A redirection is not followed.
        const status = response.statusCode ?? 0;
        response.on('error', () => undefined);
        outgoing.destroy();
        if (status >= 200 && status < 300) resolve();
        else reject(new WebhookError(`the receiver answered ${status}`, { isFinal: status === 410 }));
      });
      outgoing.end(body);
    });
}

import { createHmac } from 'node:crypto';
import { Resolver } from 'node:dns/promises';
import type { LookupFunction } from 'node:net';
import { Client } from 'undici';
import { TransientError } from '../../shared/domain/service-error.ts';
import { isPrivateAddress, isPrivateHost } from '../../shared/runtime/private-address.ts';

/** The maximum number of interim responses from a receiver (RFC 9110 §15.2). */
const mostInterim = 10;

/** The receiver did not accept a webhook. The message contains only the status of its answer, no text from it. */
export class WebhookError extends TransientError {
  override readonly name = 'WebhookError';
  /** Whether a retry is useless. */
  readonly isFinal: boolean;

  constructor(fault: string, { isFinal = false, cause }: { isFinal?: boolean; cause?: unknown } = {}) {
    super(fault, { cause });
    this.isFinal = isFinal;
  }
}

export interface Webhook {
  readonly url: string;
  /** The same for each try, so that the receiver can recognise duplicates. */
  readonly id: string;
  readonly event: string;
  /** JSON. */
  readonly body: string;
}

/** Sends a webhook once. @throws WebhookError if the receiver did not answer 2xx */
export type SendWebhook = (webhook: Webhook) => Promise<void>;

/** The headers of Standard Webhooks. They contain one signature for each secret, so that a secret can be replaced without a gap. */
function signedHeaders({ id, body }: Pick<Webhook, 'id' | 'body'>, secrets: readonly Buffer[], nowMs: number): Record<string, string> {
  const timestamp = String(Math.floor(nowMs / 1000));
  const signatures = secrets.map((secret) => `v1,${createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64')}`);
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}

type NameServer = Pick<Resolver, 'resolve4' | 'resolve6'>;

/** Asks DNS servers directly: the system's `getaddrinfo` blocks one of only four threads while a DNS server does not answer. */
const ownResolver = (): NameServer => new Resolver({ timeout: 2_000, tries: 2 });

/** All IP addresses of a host name. @throws WebhookError if there is none, or if one of them is private */
async function publicAddresses(names: NameServer, hostname: string): Promise<{ address: string; family: 4 | 6 }[]> {
  const [four, six] = await Promise.allSettled([names.resolve4(hostname), names.resolve6(hostname)]);
  const found = [
    ...(four.status === 'fulfilled' ? four.value : []).map((address) => ({ address, family: 4 as const })),
    ...(six.status === 'fulfilled' ? six.value : []).map((address) => ({ address, family: 6 as const })),
  ];
  if (found.length === 0) throw new WebhookError('the name of the receiver cannot be resolved');
  if (!found.some(({ address }) => isPrivateAddress(address))) return found;
  throw new WebhookError('the name of the receiver leads to a private address', { isFinal: true });
}

/** Resolves and checks the host name when the connection is made, so that the name cannot change to another IP address after the check. */
const publicLookup =
  (nameServer: () => NameServer): LookupFunction =>
  (hostname, { all }, callback) => {
    publicAddresses(nameServer(), hostname).then(
      (found) => (all ? callback(null, found) : callback(null, found[0]!.address, found[0]!.family)),
      (error) => callback(error, '', 0),
    );
  };

/** `isOpen`: private IP addresses and unencrypted HTTP are allowed, for development. */
export function createWebhookSender(options: {
  secrets: readonly Buffer[];
  isOpen: boolean;
  clock: () => number;
  userAgent: string;
  /** The time for one delivery, from the DNS lookup on; default 10 s. */
  answerWithinMs?: number;
  nameServer?: () => NameServer;
}): SendWebhook {
  const { secrets, isOpen, clock, userAgent, answerWithinMs = 10_000, nameServer = ownResolver } = options;

  function checkTarget({ protocol, hostname }: URL): void {
    if (isOpen) return;
    if (protocol !== 'https:') throw new WebhookError('the receiver does not have an https address', { isFinal: true });
    if (isPrivateHost(hostname)) throw new WebhookError('the receiver has a private address', { isFinal: true });
  }

  return async ({ url: given, id, event, body }) => {
    const url = new URL(given);
    checkTarget(url);
    // A connection for each webhook, so the address of the receiver is checked every time.
    const client = new Client(url.origin, isOpen ? {} : { connect: { lookup: publicLookup(nameServer) } });
    const flood = new AbortController();
    let interim = 0;
    const onInfo = () => {
      interim += 1;
      if (interim > mostInterim) flood.abort(new WebhookError('the receiver sends only interim answers'));
    };
    const headers = {
      ...signedHeaders({ id, body }, secrets, clock()),
      'content-type': 'application/json',
      'qstamp-event': event,
      'user-agent': userAgent,
    };
    const signal = AbortSignal.any([AbortSignal.timeout(answerWithinMs), flood.signal]);
    try {
      const path = `${url.pathname}${url.search}`;
      const answer = await client.request({ method: 'POST', path, headers, body, signal, onInfo });
      // Only the status counts; the rest of the answer is not read. Redirections are not followed.
      answer.body.on('error', () => undefined);
      const { statusCode } = answer;
      if (statusCode >= 200 && statusCode < 300) return;
      throw new WebhookError(`the receiver answered ${statusCode}`, { isFinal: statusCode === 410 });
    } catch (error) {
      throw error instanceof WebhookError ? error : new WebhookError('the receiver could not be reached', { cause: error });
    } finally {
      void client.destroy();
    }
  };
}

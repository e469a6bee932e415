import type { Config } from '../../shared/runtime/config.ts';
import { isPrivateHost } from '../../shared/runtime/private-address.ts';

/**
 * Creates a function that checks the URL of a webhook (N2) and returns why it is refused, or undefined. The worker checks the URL again when it
 * connects, because its host name may lead to a different IP address by then.
 */
export function createCallbackRule({
  WEBHOOK_SECRET: secrets,
  NODE_ENV,
}: Pick<Config, 'WEBHOOK_SECRET' | 'NODE_ENV'>): (url: string) => string | undefined {
  const isOpen = NODE_ENV !== 'production';
  return (given) => {
    if (secrets === undefined) return 'callback_url cannot be used: this service sends no webhooks, because WEBHOOK_SECRET is not set';
    const url = URL.canParse(given) ? new URL(given) : undefined;
    if (!url || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
      return 'callback_url must be an address that starts with https://, without user and password';
    }
    if (url.protocol !== 'https:' && !isOpen) return 'callback_url must start with https://';
    if (isPrivateHost(url.hostname) && !isOpen) return 'callback_url must not lead to a private address';
    return undefined;
  };
}

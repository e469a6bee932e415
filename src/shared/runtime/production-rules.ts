import type { KeyObject } from 'node:crypto';
import ipaddr from 'ipaddr.js';

/** The settings that have rules in production. */
interface RuledSettings {
  readonly SERVICE_TOKENS: readonly { readonly product: string; readonly token: string }[];
  readonly MASTER_KEY: KeyObject;
  readonly TRUST_PROXY: readonly string[];
  readonly REDIS_URL: string;
  readonly MONGODB_URL: string;
  readonly ALLOW_PLAINTEXT_BACKENDS: boolean;
  readonly SMTP_URL?: string | undefined;
  readonly PUBLIC_BASE_URL?: string | undefined;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** Service tokens that our documents print, or once printed: everyone knows them. A test looks for others in the documents. */
const printedTokens = ['dev-service-token', '0123456789abcdef0123456789abcdef'];

const fewestTokenCharacters = 32;

const fewestDifferentCharacters = 16;

/**
 * Returns why production does not start with these settings (S13): one line that names the setting, without secrets. Undefined if it starts.
 * `environment`: the variables as given, without defaults.
 */
export function faultInProduction(settings: RuledSettings, environment: Environment): string | undefined {
  const { SMTP_URL, PUBLIC_BASE_URL } = settings;
  if (!environment.SERVICE_TOKENS) return 'SERVICE_TOKENS: got nothing; production needs its own product:token pairs';
  for (const { product, token } of settings.SERVICE_TOKENS) {
    const fault = faultOfToken(token);
    if (fault !== undefined) return `SERVICE_TOKENS: got ${fault.got} for "${product}"; production takes ${fault.takes}`;
  }
  const [first, ...others] = settings.MASTER_KEY.export();
  if (others.every((octet) => octet === first)) {
    return 'MASTER_KEY: got a key whose bytes are all alike (not shown); production takes random ones, as `openssl rand -base64 32` prints them';
  }
  if (!environment.TSP) return 'TSP: got nothing; production takes file, or mock or local if set explicitly';
  if (SMTP_URL?.startsWith('smtp://') && !new URL(SMTP_URL).searchParams.has('plain')) {
    return 'SMTP_URL: got plain smtp://; production takes smtps://, or smtp://…?plain if set explicitly';
  }
  if (SMTP_URL && !PUBLIC_BASE_URL) return 'PUBLIC_BASE_URL: got nothing; production takes the address for the links in its e-mails';
  if (SMTP_URL && !PUBLIC_BASE_URL?.startsWith('https:')) {
    return `PUBLIC_BASE_URL: got "${PUBLIC_BASE_URL}"; production takes https:// for the links in its e-mails`;
  }
  const wide = settings.TRUST_PROXY.find(isTooWide);
  if (wide !== undefined) return `TRUST_PROXY: got "${wide}", which has addresses of strangers; production takes only those of its proxies`;
  if (settings.ALLOW_PLAINTEXT_BACKENDS) return undefined;
  const bare = 'got an address on another host without TLS and without password (not shown)';
  const explicitly = 'or ALLOW_PLAINTEXT_BACKENDS=1 if set explicitly';
  if (isBareRedis(settings.REDIS_URL)) return `REDIS_URL: ${bare}; production takes rediss://, or a password, ${explicitly}`;
  if (isBareMongo(settings.MONGODB_URL)) return `MONGODB_URL: ${bare}; production takes tls=true, or a password, ${explicitly}`;
  return undefined;
}

function faultOfToken(token: string): { got: string; takes: string } | undefined {
  if (token.length < fewestTokenCharacters) {
    return { got: `a token of ${token.length} characters`, takes: `at least ${fewestTokenCharacters}, and not the development default` };
  }
  if (printedTokens.includes(token)) return { got: 'a token that is printed in our documents', takes: 'a token that only you know' };
  // There are only 16 hexadecimal digits, so in hexadecimal tokens and UUIDs pairs of digits count.
  const digits = token.replaceAll('-', '');
  const isHex = /^[\da-f]+$/i.test(digits);
  const characters = isHex ? [...digits].map((digit, at) => digit + digits.charAt(at + 1)) : [...token];
  const different = new Set(characters).size;
  if (different >= fewestDifferentCharacters) return undefined;
  const takes = `at least ${fewestDifferentCharacters}, as \`openssl rand -hex 32\` prints them`;
  return { got: `a token of ${different} different characters`, takes };
}

/** The shortest prefix of a range of proxies: `10.0.0.0/8` and `fc00::/7` are private. */
const shortestPrefix = { ipv4: 8, ipv6: 7 };

/** Whether a range has addresses of strangers too. An IPv4 address may be written as the IPv6 address that maps it. */
function isTooWide(range: string): boolean {
  const [address = '', prefix] = range.split('/');
  if (prefix === undefined) return false;
  const parsed = ipaddr.parse(address);
  const isMapped = parsed instanceof ipaddr.IPv6 && Number(prefix) >= 96 && parsed.range() === 'ipv4Mapped';
  return isMapped ? Number(prefix) - 96 < shortestPrefix.ipv4 : Number(prefix) < shortestPrefix[parsed.kind()];
}

function isLoopback(host: string): boolean {
  const name = host.replace(/^\[(.*)\]$/, '$1');
  if (ipaddr.isValid(name)) return ipaddr.process(name).range() === 'loopback';
  // Without a name, clients use this machine; MongoDB's address may be a socket file.
  return name === '' || /(^|\.)localhost\.?$/i.test(name) || /\.sock$/i.test(name);
}

function isBareRedis(address: string): boolean {
  const { protocol, hostname, password } = new URL(address);
  return protocol === 'redis:' && password === '' && !isLoopback(hostname);
}

/** The address may have several hosts, which `URL` does not take. */
function isBareMongo(address: string): boolean {
  const [, srv, user = '', hosts = '', query = ''] = /^mongodb(\+srv)?:\/\/(?:([^@/?]*)@)?([^/?]*)[^?]*\??(.*)$/.exec(address) ?? [];
  const options = new URLSearchParams(query.toLowerCase());
  const hasTls = (options.get('tls') ?? options.get('ssl') ?? String(srv !== undefined)) === 'true';
  const hasPassword = /:./.test(user);
  return !hasTls && !hasPassword && !hosts.split(',').every((host) => isLoopback(host.replace(/:\d+$/, '')));
}

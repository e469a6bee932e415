import ipaddr from 'ipaddr.js';

/** One server. */
export interface Server {
  readonly host: string;
  readonly port: number;
}

interface ServersOfRedis {
  readonly REDIS_URL?: string | undefined;
  readonly REDIS_SENTINELS?: readonly Server[] | undefined;
  readonly REDIS_CLUSTER_NODES?: readonly Server[] | undefined;
}

/** Returns what is wrong with the settings of Redis together: one line that names a setting. Undefined if they fit. */
export function faultOfRedis(settings: ServersOfRedis & OtherSettings): string | undefined {
  const { REDIS_URL, REDIS_SENTINELS, REDIS_CLUSTER_NODES, REDIS_TLS_CERT_FILE, REDIS_TLS_KEY_FILE, REDIS_REPLICAS_ACK } = settings;
  if (REDIS_SENTINELS && REDIS_CLUSTER_NODES)
    return 'REDIS_SENTINELS: got servers, but REDIS_CLUSTER_NODES is set too; set only one of them';
  if (!REDIS_URL && !REDIS_SENTINELS && !REDIS_CLUSTER_NODES) {
    return 'REDIS_URL is not set, and the settings of the service are needed here (or REDIS_SENTINELS or REDIS_CLUSTER_NODES)';
  }
  const database = URL.parse(REDIS_URL ?? '')?.pathname.slice(1) ?? '';
  if (!/^\d*$/.test(database)) return 'REDIS_URL: got a value (not shown); its path takes the number of a database';
  if (REDIS_CLUSTER_NODES && Number(database) > 0)
    return 'REDIS_URL: got a database; a Cluster has only number 0, so set REDIS_KEY_PREFIX instead';
  if (REDIS_CLUSTER_NODES && REDIS_REPLICAS_ACK > 0) {
    return `REDIS_REPLICAS_ACK: got "${REDIS_REPLICAS_ACK}"; with REDIS_CLUSTER_NODES it takes 0, because a Cluster cannot confirm a job by its replicas`;
  }
  if (Boolean(REDIS_TLS_CERT_FILE) !== Boolean(REDIS_TLS_KEY_FILE)) {
    return `${REDIS_TLS_CERT_FILE ? 'REDIS_TLS_KEY_FILE' : 'REDIS_TLS_CERT_FILE'}: got nothing; a certificate and its key belong together`;
  }
  const isPlain = !REDIS_URL?.startsWith('rediss:') && !settings.REDIS_SENTINEL_TLS;
  const unused = tlsSettings.find((name) => settings[name] !== undefined);
  if (isPlain && unused) return `${unused}: got a value, but no connection uses TLS; REDIS_URL takes rediss:// for that`;
  return undefined;
}

const tlsSettings = ['REDIS_TLS_CA_FILE', 'REDIS_TLS_CERT_FILE', 'REDIS_TLS_KEY_FILE', 'REDIS_TLS_SERVERNAME'] as const;
interface OtherSettings extends Readonly<Partial<Record<(typeof tlsSettings)[number], string | undefined>>> {
  readonly REDIS_REPLICAS_ACK: number;
  readonly REDIS_SENTINEL_TLS: boolean;
}

/**
 * Whether the user or the password in an address is not percent-encoded. Otherwise a program may take part of the password for the host. Such an address
 * has a character that ends the account inside it, or an escape that means nothing.
 */
export function hasBareAccount(address: string): boolean {
  const rest = address.replace(/^[^:]*:\/\//, '');
  if (rest.includes('#')) return true;
  const authority = /^[^/?]*/.exec(rest)?.[0] ?? '';
  const at = authority.lastIndexOf('@');
  if (at < 0) return rest.slice(authority.length).includes('@') && !hosts.test(authority);
  try {
    const account = authority.slice(0, at);
    decodeURIComponent(account);
    return account.includes('@');
  } catch {
    return true;
  }
}

/** Hosts as in `a.example:27017,[::1]`. */
const hosts = /^(\[[^\]]*\]|[^:,[]*)(:\d+)?(,(\[[^\]]*\]|[^:,[]*)(:\d+)?)*$/;

function isLoopback(host: string): boolean {
  const name = host.replace(/^\[(.*)\]$/, '$1');
  if (ipaddr.isValid(name)) return ipaddr.process(name).range() === 'loopback';
  // Without a name, clients use this machine; MongoDB's address may be a socket file.
  return name === '' || /(^|\.)localhost\.?$/i.test(name) || /\.sock$/i.test(name);
}

/** Whether a server of Redis on another host is used without TLS and without a password. */
export function isBareRedis({ REDIS_URL, REDIS_SENTINELS, REDIS_CLUSTER_NODES }: ServersOfRedis): boolean {
  const { protocol = 'redis:', hostname = '', password = '' } = URL.parse(REDIS_URL ?? '') ?? {};
  const hosts = (REDIS_SENTINELS ?? REDIS_CLUSTER_NODES)?.map(({ host }) => host) ?? [hostname];
  return protocol === 'redis:' && password === '' && !hosts.every(isLoopback);
}

/** Whether a server of MongoDB on another host is used without TLS and without a password. The address may have several hosts, unlike a `URL`. */
export function isBareMongo(address: string): boolean {
  const [, srv, user = '', hosts = '', query = ''] = /^mongodb(\+srv)?:\/\/(?:([^@/?]*)@)?([^/?]*)[^?]*\??(.*)$/.exec(address) ?? [];
  const options = new URLSearchParams(query.toLowerCase());
  const hasTls = (options.get('tls') ?? options.get('ssl') ?? String(srv !== undefined)) === 'true';
  const hasPassword = /:./.test(user);
  return !hasTls && !hasPassword && !hosts.split(',').every((host) => isLoopback(host.replace(/:\d+$/, '')));
}

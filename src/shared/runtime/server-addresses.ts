import ipaddr from 'ipaddr.js';

/**
 * Whether the user or the password in an address is not percent-encoded. Otherwise a program may take part of the password for the host. Such an address
 * has a character that ends the account inside it, or an escape that means nothing.
 */
export function hasBareAccount(address: string): boolean {
  const rest = address.replace(/^[^:]*:\/\//, '');
  if (rest.includes('#')) return true;
  const authority = /^[^/?]*/.exec(rest)?.[0] ?? '';
  const path = /^[^?]*/.exec(rest.slice(authority.length))?.[0] ?? '';
  if (path.includes('@')) return true;
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

/** Whether a host is this machine. It may have the brackets of IPv6. */
export function isLoopback(host: string): boolean {
  const name = host.replace(/^\[(.*)\]$/, '$1');
  if (ipaddr.isValid(name)) return ipaddr.process(name).range() === 'loopback';
  // Without a name, clients use this machine; MongoDB's address may be a socket file.
  return name === '' || /(^|\.)localhost\.?$/i.test(name) || /\.sock$/i.test(name);
}

/** Whether a server of MongoDB on another host is used without TLS and without a password. The address may have several hosts, unlike a `URL`. */
export function isBareMongo(address: string): boolean {
  const [, srv, user = '', hosts = '', query = ''] = /^mongodb(\+srv)?:\/\/(?:([^@/?]*)@)?([^/?]*)[^?]*\??(.*)$/.exec(address) ?? [];
  const options = new URLSearchParams(query.toLowerCase());
  const hasTls = (options.get('tls') ?? options.get('ssl') ?? String(srv !== undefined)) === 'true';
  const hasPassword = /:./.test(user);
  return !hasTls && !hasPassword && !hosts.split(',').every((host) => isLoopback(host.replace(/:\d+$/, '')));
}

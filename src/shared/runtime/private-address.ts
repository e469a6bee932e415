import ipaddr from 'ipaddr.js';

/** The only range of public IPv6 addresses. */
const publicIpv6 = ipaddr.parseCIDR('2000::/3');

/** Returns true if an IP address is not valid or not public, such as loopback, private networks, link-local, and IPv4 inside IPv6. */
export function isPrivateAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return true;
  const parsed = ipaddr.parse(address);
  return parsed.range() !== 'unicast' || (parsed instanceof ipaddr.IPv6 && !parsed.match(publicIpv6));
}

/** Returns true if the name of a host (`URL.hostname`) already shows that the host is not in the public Internet (RFC 6761, RFC 6762). */
export function isPrivateHost(hostname: string): boolean {
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  return ipaddr.isValid(host) ? isPrivateAddress(host) : /(^|\.)(localhost|local|internal)\.?$/i.test(host);
}

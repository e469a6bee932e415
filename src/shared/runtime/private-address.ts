import ipaddr from 'ipaddr.js';

/** The only public range of IPv6. */
const publicIpv6 = ipaddr.parseCIDR('2000::/3');

/** Whether an IP address is not public or not valid: loopback, private networks, link-local, IPv4 in IPv6. */
export function isPrivateAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return true;
  const parsed = ipaddr.parse(address);
  return parsed.range() !== 'unicast' || (parsed instanceof ipaddr.IPv6 && !parsed.match(publicIpv6));
}

/** Whether the name of a host (`URL.hostname`) alone shows that it is not in the public Internet (RFC 6761, RFC 6762). */
export function isPrivateHost(hostname: string): boolean {
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  return ipaddr.isValid(host) ? isPrivateAddress(host) : /(^|\.)(localhost|local|internal)\.?$/i.test(host);
}

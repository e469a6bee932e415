import ipaddr from 'ipaddr.js';

/** Of IPv6 only this is given out to the public. */
const publicIpv6 = ipaddr.parseCIDR('2000::/3');

/** Whether an IP address belongs to no public network, or is none: loopback, private networks, links, IPv4 written as IPv6. */
export function isPrivateAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return true;
  const parsed = ipaddr.parse(address);
  return parsed.range() !== 'unicast' || (parsed instanceof ipaddr.IPv6 && !parsed.match(publicIpv6));
}

/** Whether a host, as `URL.hostname` has it, shows by itself that it is not in the public Internet (RFC 6761, RFC 6762). */
export function isPrivateHost(hostname: string): boolean {
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  return ipaddr.isValid(host) ? isPrivateAddress(host) : /(^|\.)(localhost|local|internal)\.?$/i.test(host);
}

import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net';

/** Networks that are not the public Internet (IANA's registries of special-purpose addresses, RFC 6890). */
const special: readonly (readonly [network: string, prefix: number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
];
/** Of IPv6 only this is public, but for what stands for IPv4 or for nobody in it: Teredo, benchmarks, documentation, 6to4. */
const publicIpv6 = ['2000::', 3] as const;
const specialIpv6 = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const;

const refused = new BlockList();
for (const [network, prefix] of special) refused.addSubnet(network, prefix, 'ipv4');
for (const [network, prefix] of specialIpv6) refused.addSubnet(network, prefix, 'ipv6');
const open = new BlockList();
open.addSubnet(...publicIpv6, 'ipv6');

/** Whether an IP address belongs to no public network, or is none: loopback, private networks, links, IPv4 written as IPv6. */
export function isPrivateAddress(address: string): boolean {
  if (isIPv4(address)) return refused.check(address);
  return !isIPv6(address) || !open.check(address, 'ipv6') || refused.check(address, 'ipv6');
}

/** Whether a host, as `URL.hostname` has it, shows by itself that it is not in the public Internet (RFC 6761, RFC 6762). */
export function isPrivateHost(hostname: string): boolean {
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  return isIP(host) ? isPrivateAddress(host) : /(^|\.)(localhost|local|internal)\.?$/i.test(host);
}

import { BlockList, isIPv4, isIPv6 } from 'node:net';

/** An address of `X-Forwarded-For` without the port that some proxies write behind it: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
const withoutPort = (address: string): string => /^\[([^\]]*)\](?::\d+)?$|^([^:]*):\d+$/.exec(address)?.slice(1).find(Boolean) ?? address;

/** Whether an address is one of the hops that `TRUST_PROXY` names: addresses or CIDRs, which the settings have checked. */
export function createHopTrust(hops: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const hop of hops) {
    const [address = '', prefix] = hop.split('/');
    const family = isIPv4(address) ? 'ipv4' : 'ipv6';
    list.addSubnet(address, Number(prefix ?? (family === 'ipv4' ? 32 : 128)), family);
  }
  return (given) => {
    const address = withoutPort(given);
    return isIPv4(address) ? list.check(address) : isIPv6(address) && list.check(address, 'ipv6');
  };
}

/**
 * The address under which a client is counted for limits: an IPv4 address (also when written as IPv6), or the first 64 bits of an IPv6
 * address, which one subscriber usually has to himself.
 */
export function addressBucket(address: string): string {
  const plain = withoutPort(address).split('%', 1)[0] ?? '';
  if (!isIPv6(plain)) return plain;
  const groups = groupsOf(plain);
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (isMapped) return [groups[6], groups[7]].flatMap((pair = 0) => [pair >> 8, pair & 0xff]).join('.');
  return `${groups.slice(0, 4).map(hex).join(':')}::/64`;
}

const hex = (group: number): string => group.toString(16);

/** The eight groups of an IPv6 address (RFC 4291 §2.2). */
function groupsOf(address: string): number[] {
  const [head = '', tail] = address.split('::');
  const left = parse(head);
  if (tail === undefined) return left;
  const right = parse(tail);
  return [...left, ...Array<number>(8 - left.length - right.length).fill(0), ...right];
}

function parse(part: string): number[] {
  if (part === '') return [];
  return part.split(':').flatMap((group) => {
    if (!isIPv4(group)) return [Number.parseInt(group, 16)];
    const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number);
    return [(a << 8) | b, (c << 8) | d];
  });
}

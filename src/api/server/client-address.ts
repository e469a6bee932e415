import ipaddr from 'ipaddr.js';

/** An address of `X-Forwarded-For` without the port that some proxies write behind it: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
const withoutPort = (address: string): string => /^\[([^\]]*)\](?::\d+)?$|^([^:]*):\d+$/.exec(address)?.slice(1).find(Boolean) ?? address;

/** The address that a text names, undefined where it names none. An IPv4 address that is written as IPv6 is one of IPv4. */
function addressOf(given: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  const text = withoutPort(given);
  return ipaddr.isValid(text) ? ipaddr.process(text) : undefined;
}

/** Whether an address is one of the hops that `TRUST_PROXY` names: addresses or CIDRs, which the settings have checked. */
export function createHopTrust(hops: readonly string[]): (address: string) => boolean {
  const trusted = hops.map((hop) => ipaddr.parseCIDR(hop.includes('/') ? hop : `${hop}/${ipaddr.IPv4.isValid(hop) ? 32 : 128}`));
  return (given) => {
    const address = addressOf(given);
    return address !== undefined && ipaddr.subnetMatch(address, { trusted }, 'unknown') === 'trusted';
  };
}

/**
 * The address under which a client is counted for limits: an IPv4 address (also when written as IPv6), or the first 64 bits of an IPv6
 * address, which one subscriber usually has to himself.
 */
export function addressBucket(given: string): string {
  const address = addressOf(given);
  if (!(address instanceof ipaddr.IPv6)) return address?.toString() ?? given;
  const network = address.parts.slice(0, 4).map((group) => group.toString(16));
  return `${network.join(':')}::/64`;
}

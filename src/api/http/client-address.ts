import ipaddr from 'ipaddr.js';

/** Removes the port that some proxies add to an address in `X-Forwarded-For`: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
const withoutPort = (address: string): string => /^\[([^\]]*)\](?::\d+)?$|^([^:]*):\d+$/.exec(address)?.slice(1).find(Boolean) ?? address;

/** Parses an address; undefined if the text is not one. An IPv4 address in IPv6 notation becomes IPv4. */
function addressOf(given: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  const text = withoutPort(given);
  return ipaddr.isValid(text) ? ipaddr.process(text) : undefined;
}

/** Creates a function that returns whether `TRUST_PROXY` contains an address. The addresses and CIDRs in `hops` were checked with the settings. */
export function createHopTrust(hops: readonly string[]): (address: string) => boolean {
  const trusted = hops.map((hop) => ipaddr.parseCIDR(hop.includes('/') ? hop : `${hop}/${ipaddr.IPv4.isValid(hop) ? 32 : 128}`));
  return (given) => {
    const address = addressOf(given);
    return address !== undefined && ipaddr.subnetMatch(address, { trusted }, 'unknown') === 'trusted';
  };
}

/**
 * The address under which rate limits count a client: an IPv4 address (also if written in IPv6 notation), or the first 56 bits of an IPv6 address,
 * because a subscriber usually gets that many networks.
 */
export function addressBucket(given: string): string {
  const address = addressOf(given);
  if (!(address instanceof ipaddr.IPv6)) return address?.toString() ?? given;
  const [first = 0, second = 0, third = 0, fourth = 0] = address.parts;
  const network = [first, second, third, fourth & 0xff00].map((group) => group.toString(16));
  return `${network.join(':')}::/56`;
}

import { contentsOf, type Der, inside, type Members, membersOf, parseDer, TAG } from '../asn1/der.ts';
import { integerOf, isTrue, microsecondsOfTime, oidOf, smallIntegerOf } from '../asn1/der-values.ts';
import { refuse } from '../refusal/refusal.ts';
import { imprintOf, type MessageImprint } from './imprint.ts';
import { nonceOf } from './request.ts';
import type { GenTime, Microseconds, TstExtension } from './types.ts';

/** A parsed TSTInfo (RFC 3161 §2.4.2). Its statements are not verified yet. */
export interface TstInfo {
  /** Dotted OID. */
  readonly policy: string;
  readonly imprint: MessageImprint;
  readonly serial: bigint;
  readonly genTime: GenTime;
  /** The stated accuracy. An absent member of it counts as 0. Undefined: the TSA states no accuracy. */
  readonly accuracy: Microseconds | undefined;
  readonly ordering: boolean;
  readonly nonce: bigint | undefined;
  /** The name of the TSA, as a GeneralName. */
  readonly tsa: Der | undefined;
  readonly extensions: readonly TstExtension[];
}

/** Maximum length of a serial number, in bits. Verifiers must support 160 bits (RFC 3161 §2.4.2). */
const MAX_SERIAL_BITS = 160n;

/** Reads a TSTInfo from the eContent of a token. `expected`: the required imprint. */
export function tstInfoOf(eContent: Buffer, expected: MessageImprint | undefined): TstInfo {
  const members = membersOf(parseDer(eContent), 'TSTInfo');
  const version = smallIntegerOf(members.take(TAG.integer, 'version'));
  if (version !== 1) refuse('tst_info_version', `TSTInfo is of version ${version}.`);
  const policy = oidOf(members.take(TAG.oid, 'policy'), 'policy');
  const imprint = imprintOf(members.take(TAG.sequence, 'messageImprint'), expected);
  const serial = serialOf(members.take(TAG.integer, 'serialNumber'));
  const genTime = genTimeOf(members.any('genTime'));
  const accuracy = accuracyOf(members);
  const ordering = isTrue(members.optional(TAG.boolean));
  const nonce = members.optional(TAG.integer);
  const tsa = members.optional(TAG.contextConstructed(0));
  const extensions = members.optional(TAG.contextConstructed(1));
  members.end();
  return {
    policy,
    imprint,
    serial,
    genTime,
    accuracy,
    ordering,
    nonce: nonce === undefined ? undefined : nonceOf(nonce),
    tsa: tsa === undefined ? undefined : inside(tsa, 'tsa'),
    extensions: extensions === undefined ? [] : extensionsOf(extensions),
  };
}

/** Reads the serial number. RFC 3161 says nothing about its sign. */
function serialOf(element: Der): bigint {
  const serial = integerOf(element, 'serialNumber');
  if ((serial < 0n ? -serial : serial) >> MAX_SERIAL_BITS > 0n)
    refuse('serial_malformed', `The serial number has more than ${MAX_SERIAL_BITS} bits.`);
  return serial;
}

function genTimeOf(element: Der): GenTime {
  if (element.tag !== TAG.generalizedTime) refuse('gen_time_malformed', 'genTime is not a GeneralizedTime.');
  const text = contentsOf(element).toString('latin1');
  const microseconds = microsecondsOfTime(text);
  if (microseconds === undefined) refuse('gen_time_malformed', `genTime is ${JSON.stringify(text.slice(0, 40))}.`);
  return { text, microseconds, milliseconds: Number(microseconds / 1000n) };
}

/** Reads the accuracy: seconds, then `[0]` milliseconds and `[1]` microseconds from 1 to 999. Each may be absent. */
function accuracyOf(members: Members): Microseconds | undefined {
  const element = members.optional(TAG.sequence);
  if (element === undefined) return undefined;
  const parts = membersOf(element, 'accuracy');
  const part = (tag: number, name: string, least: bigint, most: bigint): bigint => {
    const found = parts.optional(tag);
    if (found === undefined) return 0n;
    const value = integerOf(found, name);
    if (value < least || value > most) refuse('accuracy_malformed', `${name} of accuracy is out of its range.`);
    return value;
  };
  const seconds = part(TAG.integer, 'seconds', 0n, 1n << 40n);
  const millis = part(TAG.context(0), 'millis', 1n, 999n);
  const micros = part(TAG.context(1), 'micros', 1n, 999n);
  parts.end();
  return (seconds * 1000n + millis) * 1000n + micros;
}

/** Reads the extensions (RFC 5280 §4.1). We know no extension of TSTInfo, so a critical extension is refused (RFC 3161 §2.4.2). */
function extensionsOf(element: Der): readonly TstExtension[] {
  if (element.children.length === 0) refuse('der_malformed', 'The extensions of TSTInfo are empty.');
  const types = new Set<string>();
  return element.children.map((child) => {
    const members = membersOf(child, 'an extension of TSTInfo');
    const type = oidOf(members.take(TAG.oid, 'extnID'), 'extnID');
    const critical = isTrue(members.optional(TAG.boolean));
    const value = contentsOf(members.take(TAG.octetString, 'extnValue'));
    members.end();
    if (critical) refuse('tst_info_extension', `The critical extension ${type} is not known.`);
    if (types.has(type)) refuse('der_malformed', `The extension ${type} of TSTInfo is repeated.`);
    types.add(type);
    return { type, value };
  });
}

/** A value in a COSE header, for deterministic CBOR (RFC 8949 §4.2.1). The caller must sort the members of a map by their encoded labels. */
export type Cbor = number | Uint8Array | null | readonly Cbor[] | CborMap;

/** A map of integer labels to values. */
export class CborMap {
  readonly members: readonly (readonly [label: number, value: Cbor])[];

  constructor(...members: readonly (readonly [label: number, value: Cbor])[]) {
    this.members = members;
  }
}

/** Major types of RFC 8949 §3.1. */
const major = { unsigned: 0, negative: 1, bytes: 2, array: 4, map: 5, tag: 6 } as const;
const encodedNull = Buffer.from([0xf6]);

function head(type: number, argument: number): Buffer {
  if (argument < 24) return Buffer.from([(type << 5) | argument]);
  const width = argument < 2 ** 8 ? 1 : argument < 2 ** 16 ? 2 : argument < 2 ** 32 ? 4 : 8;
  const encoded = Buffer.alloc(1 + width);
  encoded[0] = (type << 5) | (24 + Math.log2(width));
  if (width === 8) encoded.writeBigUInt64BE(BigInt(argument), 1);
  else encoded.writeUIntBE(argument, 1, width);
  return encoded;
}

/** Encodes a value. @throws RangeError if a number is not a safe integer */
export function encodeCbor(value: Cbor): Buffer {
  if (value === null) return encodedNull;
  if (typeof value === 'number') {
    if (!Number.isSafeInteger(value)) throw new RangeError('not a safe integer');
    return value < 0 ? head(major.negative, -1 - value) : head(major.unsigned, value);
  }
  if (value instanceof Uint8Array) return Buffer.concat([head(major.bytes, value.length), value]);
  if (value instanceof CborMap) {
    const members = value.members.flatMap(([label, member]) => [encodeCbor(label), encodeCbor(member)]);
    return Buffer.concat([head(major.map, value.members.length), ...members]);
  }
  return Buffer.concat([head(major.array, value.length), ...value.map(encodeCbor)]);
}

/** Encodes a text, for example `Signature1` (RFC 9052 §4.4). */
export const encodeText = (text: string): Buffer => {
  const bytes = Buffer.from(text);
  return Buffer.concat([head(3, bytes.length), bytes]);
};

export const encodeArrayOf = (encoded: readonly Buffer[]): Buffer => Buffer.concat([head(major.array, encoded.length), ...encoded]);

export const encodeTagged = (tag: number, encoded: Buffer): Buffer => Buffer.concat([head(major.tag, tag), encoded]);

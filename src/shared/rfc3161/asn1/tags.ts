/** The tags of the ASN.1 types; each is one octet (X.690 §8.1.2). */
export const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  enumerated: 0x0a,
  utf8String: 0x0c,
  printableString: 0x13,
  ia5String: 0x16,
  utcTime: 0x17,
  generalizedTime: 0x18,
  bmpString: 0x1e,
  sequence: 0x30,
  set: 0x31,
  /** The tag `[n]` of a primitive element. */
  context: (number: number) => 0x80 | number,
  /** The tag `[n]` of a constructed element. */
  contextConstructed: (number: number) => 0xa0 | number,
} as const;

/** The bit in a tag that marks an element with other elements inside (constructed). */
export const CONSTRUCTED = 0x20;
/** The bits in a tag for its class. Both are zero for a universal type. */
export const CLASS = 0xc0;

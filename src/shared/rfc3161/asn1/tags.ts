/** Tags of one octet (X.690 §8.1.2). */
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
  /** `[n]`, primitive or constructed. */
  context: (number: number) => 0x80 | number,
  contextConstructed: (number: number) => 0xa0 | number,
} as const;

/** The bit of an element that contains others. */
export const CONSTRUCTED = 0x20;
/** The bits of the class; none is set for a universal type. */
export const CLASS = 0xc0;

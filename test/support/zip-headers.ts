/** What a zip file says of one of its files, in one of two places. */
interface Header {
  readonly hasDescriptor: boolean;
  readonly crc32: number;
  readonly packedBytes: number;
  readonly bytes: number;
}

/** Both headers of each file (APPNOTE.TXT §4.3.7, §4.3.12): in the directory, and before the file. */
export function headersOf(zip: Buffer): readonly { readonly directory: Header; readonly local: Header }[] {
  const read = (header: Buffer, flagsAt: number): Header => ({
    hasDescriptor: (header.readUInt16LE(flagsAt) & 8) !== 0,
    crc32: header.readUInt32LE(flagsAt + 8),
    packedBytes: header.readUInt32LE(flagsAt + 12),
    bytes: header.readUInt32LE(flagsAt + 16),
  });
  const end = zip.subarray(-22);
  let at = end.readUInt32LE(16);
  return Array.from({ length: end.readUInt16LE(10) }, () => {
    const entry = zip.subarray(at);
    at += 46 + entry.readUInt16LE(28) + entry.readUInt16LE(30) + entry.readUInt16LE(32);
    return { directory: read(entry, 8), local: read(zip.subarray(entry.readUInt32LE(42)), 6) };
  });
}

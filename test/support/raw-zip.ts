import { closeSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { crc32 } from 'node:zlib';

/** A zip entry that no library would write; its content is stored, or declared as compressed. */
export interface RawEntry {
  readonly name: string;
  readonly content: Buffer;
  /** This many zeros after the content; they use no disk space. */
  readonly zeros?: number;
  /** The size in the headers, instead of the true one. */
  readonly claims?: { readonly packed: number; readonly unpacked: number };
  readonly isDeflated?: boolean;
}

const most32 = 0xffffffff;

/** Writes a zip file (APPNOTE.TXT §4.3) with these entries; sizes above 32 bits are in an extra field (§4.5.3). */
export function writeRawZip(path: string, entries: readonly RawEntry[]): void {
  const file = openSync(path, 'w');
  let at = 0;
  const write = (bytes: Buffer) => {
    writeSync(file, bytes, 0, bytes.length, at);
    at += bytes.length;
  };
  const listed: Buffer[] = [];
  for (const { name, content, zeros = 0, claims, isDeflated = false } of entries) {
    const size = content.length + zeros;
    const { packed, unpacked } = claims ?? { packed: size, unpacked: size };
    const isLarge = Math.max(packed, unpacked) >= most32;
    const extra = Buffer.alloc(isLarge ? 20 : 0);
    if (isLarge) {
      extra.writeUInt16LE(1, 0);
      extra.writeUInt16LE(16, 2);
      extra.writeBigUInt64LE(BigInt(unpacked), 4);
      extra.writeBigUInt64LE(BigInt(packed), 12);
    }
    // Version, flags, method, time, date, CRC, both sizes, lengths of name and extra field: the same in both headers.
    const common = Buffer.alloc(26);
    common.writeUInt16LE(45, 0);
    common.writeUInt16LE(isDeflated ? 8 : 0, 4);
    common.writeUInt16LE(33, 8);
    common.writeUInt32LE(crc32(content), 10);
    common.writeUInt32LE(isLarge ? most32 : packed, 14);
    common.writeUInt32LE(isLarge ? most32 : unpacked, 18);
    common.writeUInt16LE(Buffer.byteLength(name), 22);
    common.writeUInt16LE(extra.length, 24);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(at, 10);
    listed.push(Buffer.concat([Buffer.from('504b01022d00', 'hex'), common, rest, Buffer.from(name), extra]));
    write(Buffer.concat([Buffer.from('504b0304', 'hex'), common, Buffer.from(name), extra, content]));
    at += zeros;
  }
  const list = Buffer.concat(listed);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(list.length, 12);
  end.writeUInt32LE(at, 16);
  write(list);
  write(end);
  ftruncateSync(file, at);
  closeSync(file);
}

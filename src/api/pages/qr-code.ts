import { encode } from 'uqr';

/** A QR code as one path of dark squares in a view box of `size` modules, its quiet zone of four modules included. */
export function qrCode(text: string): { readonly size: number; readonly path: string } {
  const { data, size } = encode(text, { ecc: 'M', border: 4 });
  const path = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : []))).join('');
  return { size, path };
}

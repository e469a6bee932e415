/** Writes a PEM block (RFC 7468) with a line end. */
export function pemOf(label: 'CERTIFICATE' | 'X509 CRL', der: Uint8Array): string {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}

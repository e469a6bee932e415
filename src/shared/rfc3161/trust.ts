/** Certificates and revocation lists as they are configured: PEM text with any number of blocks, or one DER. */
export type Material = string | Uint8Array;

export interface TrustMaterial {
  readonly anchors: readonly Material[];
  /** More certificates to build chains with; not trusted by themselves. */
  readonly intermediates?: readonly Material[];
  readonly crls?: readonly Material[];
}

/** What is trusted, with what has been learnt about it: parsed certificates, checked signatures, built chains. */
export interface TrustStore {
  /** SHA-256 of the DER of each anchor, hex. */
  readonly anchorFingerprints: readonly string[];
}

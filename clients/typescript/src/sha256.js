// @ts-nocheck
// A copy that `npm run clients` makes of views/assets/sha256.js.
// SHA-256 (FIPS 180-4), fed piece by piece: a file of any size in constant memory. `crypto.subtle` wants the file whole, and HTTPS.

// FIPS 180-4 §5.3.3 and §4.2.2.
const initialState = new Int32Array([0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19]);
const roundConstants = new Int32Array([
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
  0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
  0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
  0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
  0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
  0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
]);

/** Takes bytes by `update` and gives the SHA-256 of all of them, lower-case hex, by `digest`, once. */
export function createSha256() {
  const state = initialState.slice();
  const words = new Int32Array(64);
  const block = new Uint8Array(64);
  let blockLength = 0;
  let totalBytes = 0;

  /** @param {Uint8Array} bytes @param {number} offset */
  function compress(bytes, offset) {
    for (let i = 0; i < 16; i += 1) {
      const at = offset + i * 4;
      words[i] = (bytes[at] << 24) | (bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3];
    }
    for (let i = 16; i < 64; i += 1) {
      const early = words[i - 15];
      const late = words[i - 2];
      const s0 = ((early >>> 7) | (early << 25)) ^ ((early >>> 18) | (early << 14)) ^ (early >>> 3);
      const s1 = ((late >>> 17) | (late << 15)) ^ ((late >>> 19) | (late << 13)) ^ (late >>> 10);
      words[i] = (words[i - 16] + s0 + words[i - 7] + s1) | 0;
    }
    let a = state[0];
    let b = state[1];
    let c = state[2];
    let d = state[3];
    let e = state[4];
    let f = state[5];
    let g = state[6];
    let h = state[7];
    for (let i = 0; i < 64; i += 1) {
      const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
      const t1 = (h + s1 + ((e & f) ^ (~e & g)) + roundConstants[i] + words[i]) | 0;
      const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
      const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g;
      g = f;
      f = e;
      e = (d + t1) | 0;
      d = c;
      c = b;
      b = a;
      a = (t1 + t2) | 0;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
    state[5] += f;
    state[6] += g;
    state[7] += h;
  }

  /** @param {Uint8Array} bytes */
  function update(bytes) {
    totalBytes += bytes.length;
    let offset = 0;
    if (blockLength > 0) {
      const taken = Math.min(64 - blockLength, bytes.length);
      block.set(bytes.subarray(0, taken), blockLength);
      blockLength += taken;
      offset = taken;
      if (blockLength < 64) return;
      compress(block, 0);
      blockLength = 0;
    }
    for (; offset + 64 <= bytes.length; offset += 64) compress(bytes, offset);
    block.set(bytes.subarray(offset));
    blockLength = bytes.length - offset;
  }

  function pad() {
    const padding = new Uint8Array(blockLength < 56 ? 64 - blockLength : 128 - blockLength);
    padding[0] = 0x80;
    // The length in bits is a 64-bit number; JavaScript's own are exact up to 2^53 bytes.
    const lengthField = new DataView(padding.buffer, padding.length - 8);
    lengthField.setUint32(0, Math.floor(totalBytes / 2 ** 29));
    lengthField.setUint32(4, (totalBytes % 2 ** 29) * 8);
    update(padding);
  }

  function digest() {
    pad();
    return Array.from(state, (word) => (word >>> 0).toString(16).padStart(8, '0')).join('');
  }

  /** As octets; what is given to `update` next is another message. */
  function digestAndReset() {
    pad();
    const octets = new Uint8Array(32);
    for (let i = 0; i < 32; i += 1) octets[i] = state[i >> 2] >>> (24 - 8 * (i & 3));
    state.set(initialState);
    totalBytes = 0;
    return octets;
  }

  return { update, digest, digestAndReset };
}

const hasher = createSha256();

/** The SHA-256 of a short message: several times as fast as `crypto.subtle`, which answers later, and over HTTPS only. @param {Uint8Array} bytes */
export function sha256(bytes) {
  hasher.update(bytes);
  return hasher.digestAndReset();
}

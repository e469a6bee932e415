// @ts-check
// SHA-384 and SHA-512 (FIPS 180-4), fed piece by piece as SHA-256 is. A word of 64 bits is two of 32: BigInt would take a hundred times
// as long.

/** The first `count` primes. @param {number} count */
function primes(count) {
  /** @type {number[]} */
  const found = [];
  for (let n = 2; found.length < count; n += 1) if (found.every((prime) => n % prime !== 0)) found.push(n);
  return found;
}

/** The first 64 bits after the point of the root of a prime, from which FIPS 180-4 takes its constants. @param {number} prime @param {bigint} degree */
function fractionOfRoot(prime, degree) {
  const scaled = BigInt(prime) << (64n * degree);
  let low = 0n;
  let high = 1n << 70n;
  while (high - low > 1n) {
    const middle = (low + high) >> 1n;
    if (middle ** degree <= scaled) low = middle;
    else high = middle;
  }
  return low & 0xffffffffffffffffn;
}

/** What of a sum of low halves is above 32 bits. @param {number} sum */
const carryOf = (sum) => (sum / 2 ** 32) | 0;

/** Words as pairs of halves, the high one first. @param {bigint[]} words */
const halvesOf = (words) =>
  Int32Array.from(
    words.flatMap((word) => [Number(word >> 32n), Number(word & 0xffffffffn)]),
    (half) => half | 0,
  );

// FIPS 180-4 §4.2.3, §5.3.4 and §5.3.5.
const roundConstants = halvesOf(primes(80).map((prime) => fractionOfRoot(prime, 3n)));
const square = primes(16).map((prime) => fractionOfRoot(prime, 2n));
const initialStates = { 384: halvesOf(square.slice(8)), 512: halvesOf(square.slice(0, 8)) };

/**
 * Takes bytes by `update` and gives the digest of all of them, lower-case hex, by `digest`, once.
 *
 * @param {384 | 512} bits
 */
export function createSha512(bits) {
  const state = initialStates[bits].slice();
  const words = new Int32Array(160);
  const block = new Uint8Array(128);
  let blockLength = 0;
  let totalBytes = 0;

  /** @param {Uint8Array} bytes @param {number} offset */
  function compress(bytes, offset) {
    for (let i = 0; i < 32; i += 1) {
      const at = offset + i * 4;
      words[i] = (bytes[at] << 24) | (bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3];
    }
    for (let i = 32; i < 160; i += 2) {
      const eh = words[i - 30];
      const el = words[i - 29];
      const lh = words[i - 4];
      const ll = words[i - 3];
      const s0h = ((eh >>> 1) | (el << 31)) ^ ((eh >>> 8) | (el << 24)) ^ (eh >>> 7);
      const s0l = ((el >>> 1) | (eh << 31)) ^ ((el >>> 8) | (eh << 24)) ^ ((el >>> 7) | (eh << 25));
      const s1h = ((lh >>> 19) | (ll << 13)) ^ ((ll >>> 29) | (lh << 3)) ^ (lh >>> 6);
      const s1l = ((ll >>> 19) | (lh << 13)) ^ ((lh >>> 29) | (ll << 3)) ^ ((ll >>> 6) | (lh << 26));
      // Sums of low halves stay exact in a double; what is above 32 bits is carried.
      const low = (words[i - 31] >>> 0) + (s0l >>> 0) + (words[i - 13] >>> 0) + (s1l >>> 0);
      words[i + 1] = low | 0;
      words[i] = (words[i - 32] + s0h + words[i - 14] + s1h + carryOf(low)) | 0;
    }
    let ah = state[0];
    let al = state[1];
    let bh = state[2];
    let bl = state[3];
    let ch = state[4];
    let cl = state[5];
    let dh = state[6];
    let dl = state[7];
    let eh = state[8];
    let el = state[9];
    let fh = state[10];
    let fl = state[11];
    let gh = state[12];
    let gl = state[13];
    let hh = state[14];
    let hl = state[15];
    for (let i = 0; i < 160; i += 2) {
      const s1h = ((eh >>> 14) | (el << 18)) ^ ((eh >>> 18) | (el << 14)) ^ ((el >>> 9) | (eh << 23));
      const s1l = ((el >>> 14) | (eh << 18)) ^ ((el >>> 18) | (eh << 14)) ^ ((eh >>> 9) | (el << 23));
      const t1low = (hl >>> 0) + (s1l >>> 0) + (((el & fl) ^ (~el & gl)) >>> 0) + (roundConstants[i + 1] >>> 0) + (words[i + 1] >>> 0);
      const t1h = (hh + s1h + ((eh & fh) ^ (~eh & gh)) + roundConstants[i] + words[i] + carryOf(t1low)) | 0;
      const t1l = t1low | 0;
      const s0h = ((ah >>> 28) | (al << 4)) ^ ((al >>> 2) | (ah << 30)) ^ ((al >>> 7) | (ah << 25));
      const s0l = ((al >>> 28) | (ah << 4)) ^ ((ah >>> 2) | (al << 30)) ^ ((ah >>> 7) | (al << 25));
      const t2low = (s0l >>> 0) + (((al & bl) ^ (al & cl) ^ (bl & cl)) >>> 0);
      const t2h = (s0h + ((ah & bh) ^ (ah & ch) ^ (bh & ch)) + carryOf(t2low)) | 0;
      hh = gh;
      hl = gl;
      gh = fh;
      gl = fl;
      fh = eh;
      fl = el;
      const elow = (dl >>> 0) + (t1l >>> 0);
      eh = (dh + t1h + carryOf(elow)) | 0;
      el = elow | 0;
      dh = ch;
      dl = cl;
      ch = bh;
      cl = bl;
      bh = ah;
      bl = al;
      const alow = (t1l >>> 0) + ((t2low | 0) >>> 0);
      ah = (t1h + t2h + carryOf(alow)) | 0;
      al = alow | 0;
    }
    const sums = [ah, al, bh, bl, ch, cl, dh, dl, eh, el, fh, fl, gh, gl, hh, hl];
    for (let i = 0; i < 16; i += 2) {
      const low = (state[i + 1] >>> 0) + (sums[i + 1] >>> 0);
      state[i] += sums[i] + carryOf(low);
      state[i + 1] = low | 0;
    }
  }

  /** @param {Uint8Array} bytes */
  function update(bytes) {
    totalBytes += bytes.length;
    let offset = 0;
    if (blockLength > 0) {
      offset = Math.min(128 - blockLength, bytes.length);
      block.set(bytes.subarray(0, offset), blockLength);
      blockLength += offset;
      if (blockLength < 128) return;
      compress(block, 0);
      blockLength = 0;
    }
    for (; offset + 128 <= bytes.length; offset += 128) compress(bytes, offset);
    block.set(bytes.subarray(offset));
    blockLength = bytes.length - offset;
  }

  function digest() {
    const padding = new Uint8Array(blockLength < 112 ? 128 - blockLength : 256 - blockLength);
    padding[0] = 0x80;
    const lengthField = new DataView(padding.buffer, padding.length - 8);
    lengthField.setUint32(0, Math.floor(totalBytes / 2 ** 29));
    lengthField.setUint32(4, (totalBytes % 2 ** 29) * 8);
    update(padding);
    return Array.from(state, (half) => (half >>> 0).toString(16).padStart(8, '0'))
      .join('')
      .slice(0, bits / 4);
  }

  return { update, digest };
}

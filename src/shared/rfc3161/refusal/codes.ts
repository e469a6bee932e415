/** The meaning of a code. */
export interface CodeMeaning {
  /** The number of the refusal in docs/reference/refusals.md. Absent if the code has no number there. */
  readonly refusal?: number;
  /** The sentence for clients. */
  readonly sentence: string;
  /** A sentence that says what the holder of the token can do. */
  readonly advice?: string;
}

/** Returns a set of codes unchanged, so that TypeScript checks the meanings and makes a type from the names. */
export const closedSet = <Code extends string>(codes: Readonly<Record<Code, CodeMeaning>>): Readonly<Record<Code, CodeMeaning>> => codes;

const byAnotherVerifier = 'It may be valid: a verifier that knows this algorithm can check it.';
const withItsFile = 'Verify it together with its file: the command "qstamp verify" reads both, and the API takes the hashes of the file.';

/** Why a token or a TSA's answer is refused. A code never changes its meaning. */
export const REFUSALS = closedSet({
  // The provider's answer (RFC 3161 §2.4.2, §3.4).
  not_granted: { refusal: 1, sentence: 'The TSA did not grant the time-stamp.' },
  token_missing: { refusal: 2, sentence: 'The answer says that the time-stamp is granted but does not contain it.' },
  token_not_granted: { refusal: 3, sentence: 'The answer contains a token but says that none was granted.' },
  granted_with_mods: { refusal: 4, sentence: 'The TSA changed the request, which is not accepted.' },
  status_contradictory: { sentence: 'The answer grants the time-stamp and names a failure.' },

  // The encoding (X.690).
  der_truncated: { refusal: 6, sentence: 'The data ends before the structure does.' },
  der_trailing: { refusal: 7, sentence: 'There is data after the end of the structure.' },
  der_length: { refusal: 8, sentence: 'A length is indefinite or not in its shortest form.' },
  der_not_canonical: { refusal: 8, sentence: 'A value does not have the only form that DER allows.' },
  der_too_large: { refusal: 9, sentence: 'The data is larger or has more elements than any time-stamp needs.' },
  der_too_deep: { refusal: 9, sentence: 'The data is nested more deeply than any time-stamp needs.' },
  nonce_too_large: { refusal: 9, sentence: 'The nonce is larger than any request needs.' },
  der_malformed: { sentence: 'The data does not have the required structure.' },

  // The envelope (RFC 5652 §3, §5).
  not_signed_data: { refusal: 10, sentence: 'The token is not CMS signed data.' },
  not_tst_info: { refusal: 11, sentence: 'The signed content is not of type TSTInfo.' },
  content_missing: { refusal: 12, sentence: 'The token does not contain the signed content.' },

  // TSTInfo (RFC 3161 §2.4.2).
  tst_info_version: { refusal: 13, sentence: 'TSTInfo is not of version 1.' },
  tst_info_extension: { refusal: 14, sentence: 'TSTInfo has a critical extension that is not known.' },
  imprint_mismatch: { refusal: 15, sentence: 'The token is for another hash.' },
  imprint_algorithm_mismatch: { refusal: 16, sentence: 'The token is for a hash of another algorithm.' },
  imprint_length: { refusal: 17, sentence: 'The message imprint does not have the length of its hash algorithm.' },
  imprint_algorithm_unknown: {
    sentence: 'The hash algorithm of the message imprint is not known here, so it could not be checked.',
    advice: byAnotherVerifier,
  },
  imprint_algorithm_weak: {
    refusal: 18,
    sentence: 'The hash algorithm of the message imprint is broken.',
    advice: 'Have the document stamped again with its SHA-256: another document can be made with this hash.',
  },
  nonce_mismatch: { refusal: 19, sentence: 'The nonce is not the one that was sent.' },
  nonce_missing: { refusal: 20, sentence: 'The token lacks the nonce that was sent.' },
  nonce_unexpected: { sentence: 'The token has a nonce although none was sent.' },
  policy_mismatch: { refusal: 21, sentence: 'The token was issued under another policy than asked for.' },
  gen_time_malformed: { refusal: 22, sentence: 'The genTime is not a UTC time in the form that RFC 3161 requires.' },
  gen_time_outside_window: { refusal: 22, sentence: 'The genTime is not within the time of the request.' },
  gen_time_future: { refusal: 23, sentence: 'The genTime is in the future.' },
  accuracy_malformed: { sentence: 'The accuracy is out of its range.' },
  accuracy_too_coarse: { sentence: 'The accuracy is coarser than accepted, or is not stated.' },
  serial_malformed: { sentence: 'The serial number of the token is out of its range.' },

  // The signature (RFC 5652 §5.3–§5.6, §11).
  signer_missing: { refusal: 24, sentence: 'The token has no signature.' },
  signer_not_single: { refusal: 25, sentence: 'The token has more than one signature.' },
  signed_attributes_missing: { refusal: 26, sentence: 'The signature has no signed attributes.' },
  content_type_attribute: { refusal: 27, sentence: 'The signed content type is absent, wrong or repeated.' },
  message_digest_attribute: { refusal: 28, sentence: 'The signed digest of the content is absent or repeated.' },
  message_digest_mismatch: { refusal: 28, sentence: 'The content is not the signed content.' },
  signed_attribute_repeated: { sentence: 'A signed attribute is repeated.' },
  unsigned_attribute: { sentence: 'An attribute that must be signed is outside the signature.' },
  algorithm_protection_mismatch: { sentence: 'The algorithms are not those that the signer signed.' },
  signature_invalid: { refusal: 29, sentence: 'The signature is not valid.' },
  signer_identifier_mismatch: {
    refusal: 30,
    sentence: 'The token was signed with another certificate than it names.',
  },
  signer_certificate_not_found: { refusal: 31, sentence: 'The certificate that the token names for its signer was not found.' },
  signer_certificate_ambiguous: { refusal: 31, sentence: 'Several certificates match the one that the token names for its signer.' },
  signer_certificate_missing: { refusal: 32, sentence: 'The token lacks the requested certificate of the signer.' },

  // The signing certificate attribute (RFC 5035, RFC 5816).
  signing_certificate_missing: { refusal: 33, sentence: 'The signature does not cover the identity of the signer’s certificate.' },
  signing_certificate_hash_mismatch: { refusal: 34, sentence: 'The signed hash belongs to another certificate than the signer’s.' },
  signing_certificate_issuer_mismatch: { refusal: 35, sentence: 'The signed issuer and serial number belong to another certificate.' },
  signing_certificate_hash_unknown: {
    refusal: 36,
    sentence: 'The hash algorithm for the signer’s certificate is not known here, so it could not be checked.',
    advice: byAnotherVerifier,
  },

  // The signer’s certificate (RFC 3161 §2.3).
  eku_missing: { refusal: 37, sentence: 'The signer’s certificate is not for time-stamping.' },
  eku_not_critical: { refusal: 38, sentence: 'The signer’s certificate does not mark its time-stamping purpose as critical.' },
  eku_other_purpose: { refusal: 39, sentence: 'The signer’s certificate has a purpose beside time-stamping.' },
  signer_is_ca: { refusal: 40, sentence: 'The signer’s certificate is that of a certification authority.' },
  signer_key_usage: { sentence: 'The signer’s certificate is not for signing, or not only for signing.' },
  tsa_name_mismatch: { refusal: 45, sentence: 'The token names another TSA than the one that signed it.' },

  // The chain (RFC 5280 §6), judged at genTime (V5).
  intermediate_eku: { refusal: 41, sentence: 'A certification authority of the chain may not certify time-stamping.' },
  untrusted_root: { refusal: 42, sentence: 'The signer’s certificate does not lead to a trust anchor.' },
  trust_store_empty: { refusal: 42, sentence: 'No trust anchor is configured.' },
  issuer_not_ca: { refusal: 42, sentence: 'The issuer of a certificate in the chain is not a certification authority.' },
  chain_too_long: { refusal: 42, sentence: 'The chain is longer than one of its certificates allows.' },
  chain_signature_invalid: { refusal: 42, sentence: 'A certificate of the chain was not signed by its issuer.' },
  certificate_not_valid_at_gen_time: { refusal: 43, sentence: 'A certificate of the chain was not valid at genTime.' },
  key_usage_period: { sentence: 'The signer’s key must not be used at genTime.' },
  certificate_revoked: { refusal: 44, sentence: 'A certificate of the chain was revoked.' },
  certificate_extension: { sentence: 'A certificate has a critical extension that is not known.' },
  certificate_policy: { sentence: 'The policies that a certification authority requires do not lead to the signer.' },
  certificate_name: { sentence: 'A certificate has a name that a certification authority of the chain may not certify.' },
  certificate_malformed: { sentence: 'A certificate does not follow X.509.' },

  // Keys and algorithms.
  key_too_weak: {
    refusal: 46,
    sentence: 'A key is too short, or has a form that is not safe.',
    advice: 'Have the document stamped again by a TSA with an RSA key of at least 2 048 bits, or with a key on P-256, P-384 or P-521.',
  },
  signature_algorithm_weak: {
    refusal: 46,
    sentence: 'A signature uses a hash algorithm that is broken.',
    advice: 'Have the document stamped again by a TSA that signs with SHA-256 or better: this signature can be forged.',
  },
  key_unknown: {
    refusal: 46,
    sentence: 'A key is of a kind or a size that is not known here, so its signature could not be checked.',
    advice: byAnotherVerifier,
  },
  signature_algorithm_unknown: {
    refusal: 46,
    sentence: 'A signature algorithm is not known here, so the signature could not be checked.',
    advice: byAnotherVerifier,
  },
  signature_algorithm_mismatch: { refusal: 46, sentence: 'The algorithms of a signature do not match each other or the key.' },

  // Evidence records (RFC 4998).
  evidence_version: { refusal: 49, sentence: 'The evidence record is not of version 1.' },
  evidence_imprint_missing: { refusal: 50, sentence: 'The hash is not in the first list of the evidence record’s hash tree.' },
  evidence_root_mismatch: { refusal: 51, sentence: 'The token is not for the root of its hash tree.' },
  evidence_algorithm_mismatch: { refusal: 52, sentence: 'The hash algorithms inside the evidence record do not agree.' },
  evidence_list_empty: { refusal: 53, sentence: 'A list of the evidence record is empty.' },
  evidence_hash_length: { refusal: 54, sentence: 'A hash of a hash tree does not have the length of its algorithm.' },
  evidence_too_deep: { refusal: 55, sentence: 'A hash tree has more levels than any batch needs.' },
  evidence_order: { refusal: 56, sentence: 'The tokens of the evidence record are not in order of time.' },
  evidence_link_mismatch: { refusal: 57, sentence: 'A renewal of the evidence record does not cover what came before it.' },
  evidence_renewed_late: { refusal: 58, sentence: 'The evidence record was renewed after one of its certificates had expired.' },
  evidence_expired: { refusal: 59, sentence: 'The last certificates of the evidence record have expired, and it was not renewed in time.' },
  evidence_hash_needed: {
    sentence: 'The evidence record covers several hashes, and none of them was given.',
    advice: withItsFile,
  },
  evidence_new_hash_needed: {
    sentence: 'The evidence record was renewed with another hash algorithm, and the file’s hash in that algorithm was not given.',
    advice: withItsFile,
  },

  // The verifier failed on this input because of a defect in our code. The input is refused, and the log shows the error.
  verifier_failed: { sentence: 'The token could not be judged.' },
});

export type RefusalCode = keyof typeof REFUSALS;

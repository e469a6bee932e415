const oldVersion =
  'The list is of a version from before eIDAS, which we refuse. DSS only reports the version, and xml-crypto looks at the signature alone.';

/** Why our reader and the strangers judge a file differently, by the name of the file. */
export const explained: Readonly<Record<string, string>> = {
  '2023/https___www_eett_gr_tsl_EL_TSL_xml': 'It is signed with ECDSA, which xml-crypto does not know.',
  '2019/tl_pivot_172_mp.xml':
    'It was signed in 2017 with an RSA key of 1024 bits, which is too short for us. The policy of DSS for lists accepts it, and xml-crypto has no limit.',
  'assorted/de-tl.xml': oldVersion,
  'assorted/peru-lotl.xml': oldVersion,
  'assorted/tsl-pe.xml':
    'It is no list of the EU. We refuse its inclusive canonicalization and DSS its SHA-1 digest; xml-crypto accepts both and does not look at the version, which is 3.',
};

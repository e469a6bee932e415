import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/**
 * OpenSSL as an independent party: a TSA (`openssl ts -reply`), a client (`-query`), and a verifier
 * (`-verify`). Nothing of src/ is used here, so agreement with it means something.
 */

const run = promisify(execFile);

export interface OpensslOutcome {
  ok: boolean;
  /** stdout and stderr together, because OpenSSL explains a refusal on either. */
  output: string;
}

/** Runs `openssl`; a non-zero exit is a result, not an exception. */
export async function openssl(...args: string[]): Promise<OpensslOutcome> {
  try {
    const { stdout, stderr } = await run('openssl', args);
    return { ok: true, output: stdout + stderr };
  } catch (error) {
    if (error instanceof Error && 'stdout' in error && 'stderr' in error) return { ok: false, output: `${error.stdout}${error.stderr}` };
    throw error;
  }
}

async function must(...args: string[]): Promise<void> {
  const outcome = await openssl(...args);
  if (!outcome.ok) throw new Error(`openssl ${args.join(' ')}: ${outcome.output}`);
}

/** Gives `use` a new folder and removes it afterwards. */
async function inFolder<T>(use: (dir: string) => Promise<T>): Promise<T> {
  const dir = await mkdtemp(join(tmpdir(), 'qstamp-openssl-'));
  try {
    return await use(dir);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

const KEY_ARGUMENTS = {
  'p-256': ['-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256'],
  'p-384': ['-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-384'],
  'p-521': ['-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-521'],
  'rsa-2048': ['-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:2048'],
} as const;

export interface OpensslTsaOptions {
  /** Keys that `openssl ts -reply` can sign with; Ed25519 and PSS-restricted keys are not among them. Default `p-256`. */
  keyType?: keyof typeof KEY_ARGUMENTS;
  /** Issue the TSA certificate from an intermediate CA instead of the root. */
  intermediate?: boolean;
  /** `signer_digest`; default `sha256`. */
  signerDigest?: string;
  /** `ess_cert_id_alg`: `sha1` gives an ESSCertID (v1), anything else an ESSCertIDv2. Default `sha256`. */
  essCertIdAlg?: string;
  /** More lines of the `[tsa]` section, e.g. `accuracy = secs:1, millisecs:500` or `tsa_name = yes`. A later line wins. */
  settings?: readonly string[];
}

export interface OpensslTsa {
  dir: string;
  rootPem: string;
  /** The intermediate CA, or an empty string. */
  intermediatePem: string;
  signerPem: string;
  /** DER of a TimeStampResp for a DER TimeStampReq. If OpenSSL cannot sign, it writes a rejection, which is also an answer. */
  reply(query: Uint8Array): Promise<Buffer>;
  /** DER of the bare TimeStampToken. */
  replyToken(query: Uint8Array): Promise<Buffer>;
  close(): Promise<void>;
}

export const OPENSSL_TSA_POLICY = '1.3.6.1.4.1.13762.3';
export const OPENSSL_TSA_OTHER_POLICY = '1.3.6.1.4.1.13762.4';

/** A foreign TSA: root, optional intermediate and TSA certificate in a temporary folder; `close` removes it. */
export async function createOpensslTsa(options: OpensslTsaOptions = {}): Promise<OpensslTsa> {
  const dir = await mkdtemp(join(tmpdir(), 'qstamp-openssl-tsa-'));
  const at = (name: string) => join(dir, name);
  const keyArguments = KEY_ARGUMENTS[options.keyType ?? 'p-256'];

  const certificate = async (name: string, issuer: string | undefined, extensions: readonly string[]) => {
    await must('genpkey', ...keyArguments, '-out', at(`${name}.key`));
    await writeFile(at(`${name}.ext`), extensions.join('\n'));
    const subject = `/O=Foreign TSA/CN=${name}`;
    await must('req', '-new', '-key', at(`${name}.key`), '-subj', subject, '-out', at(`${name}.csr`));
    const signedBy = issuer === undefined ? ['-signkey', at(`${name}.key`)] : ['-CA', at(`${issuer}.pem`), '-CAkey', at(`${issuer}.key`)];
    const serial = `0x${Buffer.from(name).toString('hex')}`;
    const common = ['-req', '-in', at(`${name}.csr`), '-days', '3650', '-sha256', '-set_serial', serial, '-extfile', at(`${name}.ext`)];
    await must('x509', ...common, ...signedBy, '-out', at(`${name}.pem`));
    return readFile(at(`${name}.pem`), 'utf8');
  };

  const caExtensions = ['basicConstraints=critical,CA:true', 'keyUsage=critical,keyCertSign,cRLSign', 'subjectKeyIdentifier=hash'];
  const rootPem = await certificate('root', undefined, caExtensions);
  const intermediatePem = options.intermediate ? await certificate('intermediate', 'root', caExtensions) : '';
  const signerPem = await certificate('signer', options.intermediate ? 'intermediate' : 'root', [
    'extendedKeyUsage=critical,timeStamping',
    'keyUsage=critical,digitalSignature',
  ]);
  await writeFile(at('chain.pem'), intermediatePem + rootPem);
  await writeFile(at('serial'), '1000\n');
  await writeFile(
    at('tsa.cnf'),
    [
      '[tsa]',
      `serial = ${at('serial')}`,
      'crypto_device = builtin',
      `signer_cert = ${at('signer.pem')}`,
      `signer_key = ${at('signer.key')}`,
      `certs = ${at('chain.pem')}`,
      `signer_digest = ${options.signerDigest ?? 'sha256'}`,
      `default_policy = ${OPENSSL_TSA_POLICY}`,
      `other_policies = ${OPENSSL_TSA_OTHER_POLICY}`,
      'digests = sha1, sha256, sha384, sha512',
      `ess_cert_id_alg = ${options.essCertIdAlg ?? 'sha256'}`,
      ...(options.settings ?? []),
    ].join('\n'),
  );

  // `-reply` reads and writes the serial file: two at once would give one serial number twice.
  let last: Promise<unknown> = Promise.resolve();
  const reply = (query: Uint8Array, ...more: string[]): Promise<Buffer> => {
    const answer = last.then(() =>
      inFolder(async (folder) => {
        const [tsq, tsr] = [join(folder, 'tsq'), join(folder, 'tsr')];
        await writeFile(tsq, query);
        await must('ts', '-reply', '-config', at('tsa.cnf'), '-section', 'tsa', '-queryfile', tsq, '-out', tsr, ...more);
        return readFile(tsr);
      }),
    );
    last = answer.then(
      () => undefined,
      () => undefined,
    );
    return answer;
  };

  return {
    dir,
    rootPem,
    intermediatePem,
    signerPem,
    reply: (query) => reply(query),
    replyToken: (query) => reply(query, '-token_out'),
    close: () => rm(dir, { recursive: true, force: true }),
  };
}

export interface OpensslQueryOptions {
  /** Imprint as hex. */
  digest: string;
  /** Default `sha256`. */
  hash?: string;
  nonce?: boolean;
  /** certReq; default true. */
  cert?: boolean;
  policy?: string;
}

/** DER of a TimeStampReq made by `openssl ts -query`. */
export function opensslQuery(options: OpensslQueryOptions): Promise<Buffer> {
  return inFolder(async (dir) => {
    const out = join(dir, 'tsq');
    const flags = [
      ...(options.nonce === false ? ['-no_nonce'] : []),
      ...(options.cert === false ? [] : ['-cert']),
      ...(options.policy === undefined ? [] : ['-tspolicy', options.policy]),
    ];
    await must('ts', '-query', '-digest', options.digest, `-${options.hash ?? 'sha256'}`, ...flags, '-out', out);
    return readFile(out);
  });
}

export interface OpensslVerifyOptions {
  /** A whole TimeStampResp, or with `tokenIn` a bare TimeStampToken. */
  answer: Uint8Array;
  tokenIn?: boolean;
  /** Verify against the request (nonce, policy, imprint) or only against the imprint in hex. */
  against: { query: Uint8Array } | { digest: string };
  rootPem: string;
  untrustedPem?: string;
  /** Verify at this time, seconds since the epoch; default now. */
  atTime?: number;
}

/** Writes the input of `openssl ts -verify` to files whose names begin with `prefix`, and returns the arguments. */
async function verifyArguments(prefix: string, options: OpensslVerifyOptions): Promise<string[]> {
  const { answer, against, rootPem, untrustedPem, tokenIn, atTime } = options;
  const written: string[] = [];
  const file = async (kind: string, contents: string | Uint8Array) => {
    await writeFile(`${prefix}.${kind}`, contents);
    return `${prefix}.${kind}`;
  };
  written.push('-in', await file('answer', answer), '-CAfile', await file('root', rootPem));
  if (tokenIn) written.push('-token_in');
  if (untrustedPem) written.push('-untrusted', await file('untrusted', untrustedPem));
  if (atTime !== undefined) written.push('-attime', String(atTime));
  if ('digest' in against) written.push('-digest', against.digest);
  else written.push('-queryfile', await file('query', against.query));
  return ['ts', '-verify', ...written];
}

/** `openssl ts -verify`. */
export function opensslVerify(options: OpensslVerifyOptions): Promise<OpensslOutcome> {
  return inFolder(async (dir) => openssl(...(await verifyArguments(join(dir, 'one'), options))));
}

/** `openssl ts -verify` of many answers in one batch: whether each is accepted. */
export function opensslVerifyAll(all: readonly OpensslVerifyOptions[]): Promise<boolean[]> {
  return inFolder(async (dir) => {
    const commands = await Promise.all(all.map((options, index) => verifyArguments(join(dir, String(index)), options)));
    // One shell starts them all: a start from this process, with all its memory, costs more than the verification.
    const script = commands.map((command) => `openssl ${command.join(' ')} >/dev/null 2>&1; echo $?`).join('\n');
    await writeFile(join(dir, 'script'), script);
    const { stdout } = await run('sh', [join(dir, 'script')]);
    return stdout
      .trimEnd()
      .split('\n')
      .map((code) => code === '0');
  });
}

/** `openssl ts -reply -text`: OpenSSL's own reading of a TimeStampResp, or of a bare token with `tokenIn`. */
export function opensslReplyText(answer: Uint8Array, tokenIn = false): Promise<OpensslOutcome> {
  return inFolder(async (dir) => {
    const path = join(dir, 'answer');
    await writeFile(path, answer);
    return openssl('ts', '-reply', '-in', path, '-text', ...(tokenIn ? ['-token_in', '-token_out'] : []));
  });
}

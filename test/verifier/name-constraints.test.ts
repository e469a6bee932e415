import { describe, expect, it } from 'vitest';
import * as der from '../../src/shared/rfc3161/asn1/der-writer.ts';
import { OID } from '../../src/shared/rfc3161/asn1/oids.ts';
import { directoryName } from '../../src/shared/rfc3161/issue/encode.ts';
import { basicConstraints, extendedKeyUsage, extension, issueSigner, KEY_USAGE, keyUsage, pem } from '../support/certificates.ts';
import { ca, caUsage, FROM_MS, judgeRaw, tokenBy } from '../support/chain-lab.ts';
import { openssl } from '../support/openssl-tsa.ts';
import { withFile } from '../support/with-file.ts';

/** RFC 5280 §4.2.1.10. PKITS has no addresses, so OpenSSL decides each case. */

const text = (tag: number) => (value: string) => der.contextPrimitive(tag, Buffer.from(value, 'latin1'));
const [mail, dns, uri] = [text(1), text(2), text(6)];
const ip = (...octets: readonly number[]) => der.contextPrimitive(7, Buffer.from(octets));
const named = (organisation: string) =>
  directoryName(der.sequence(der.setOf(der.sequence(der.objectIdentifier(OID.organizationName), der.utf8String(organisation)))));

const constraints = (permitted: readonly Buffer[], excluded: readonly Buffer[] = []) =>
  extension(
    OID.nameConstraints,
    true,
    der.sequence(
      ...(permitted.length > 0 ? [der.contextConstructed(0, ...permitted.map((base) => der.sequence(base)))] : []),
      ...(excluded.length > 0 ? [der.contextConstructed(1, ...excluded.map((base) => der.sequence(base)))] : []),
    ),
  );

const root = ca(undefined, { name: 'Root' });

/** Whether these constraints allow a signer with this alternative name, by our verifier and by OpenSSL. */
async function verdicts(limits: Buffer, alternativeName: Buffer): Promise<{ ours: string; openssl: boolean }> {
  const issuer = ca(root, { name: 'Constrained', extensions: [basicConstraints(true), caUsage, limits] });
  const signer = issueSigner(issuer, {
    nowMs: FROM_MS,
    extensions: () => [
      basicConstraints(false),
      keyUsage(KEY_USAGE.digitalSignature),
      extendedKeyUsage([OID.timeStamping]),
      extension(OID.subjectAltName, false, der.sequence(alternativeName)),
    ],
  });
  const result = await judgeRaw(tokenBy(signer), { anchors: [root.certificate] });
  const [anchor, chain] = [root, issuer].map(({ certificate }) => Buffer.from(pem('CERTIFICATE', certificate))) as [Buffer, Buffer];
  const { ok } = await withFile(anchor, (anchorFile) =>
    withFile(chain, (chainFile) =>
      withFile(Buffer.from(pem('CERTIFICATE', signer.certificate)), (file) =>
        openssl('verify', '-CAfile', anchorFile, '-untrusted', chainFile, '-attime', String(Math.floor(FROM_MS / 1000) + 86_400), file),
      ),
    ),
  );
  return { ours: result.ok ? 'good' : result.code, openssl: ok };
}

describe('name constraints', () => {
  it.each<[string, Buffer, Buffer, boolean]>([
    ['an address within', constraints([ip(192, 0, 2, 0, 255, 255, 255, 0)]), ip(192, 0, 2, 7), true],
    ['an address outside', constraints([ip(192, 0, 2, 0, 255, 255, 255, 0)]), ip(192, 0, 3, 7), false],
    ['an address of the other length', constraints([ip(192, 0, 2, 0, 255, 255, 255, 0)]), ip(...Array(16).fill(1)), false],
    ['an excluded address', constraints([], [ip(192, 0, 2, 0, 255, 255, 255, 0)]), ip(192, 0, 2, 7), false],
    ['a host below', constraints([dns('example.com')]), dns('tsa.Example.com'), true],
    ['a host that only ends alike', constraints([dns('example.com')]), dns('badexample.com'), false],
    ['a host below a base with a dot', constraints([dns('.example.com')]), dns('tsa.example.com'), true],
    ['an excluded host below', constraints([], [dns('example.com')]), dns('tsa.example.com'), false],
    ['any host', constraints([dns('')]), dns('tsa.example.com'), true],
    ['a mailbox', constraints([mail('tsa@example.com')]), mail('tsa@EXAMPLE.com'), true],
    ['another mailbox of the host', constraints([mail('tsa@example.com')]), mail('TSA@example.com'), false],
    ['a mailbox at the host', constraints([mail('example.com')]), mail('tsa@example.com'), true],
    ['a mailbox at a host below', constraints([mail('example.com')]), mail('tsa@sub.example.com'), false],
    ['a mailbox below a base with a dot', constraints([mail('.example.com')]), mail('tsa@sub.example.com'), true],
    ['a URI of the host', constraints([uri('example.com')]), uri('https://example.com/tsa'), true],
    ['a URI of another host', constraints([uri('example.com')]), uri('https://example.org/?example.com'), false],
    ['a URI of a host below', constraints([uri('.example.com')]), uri('https://tsa.example.com:8443/'), true],
    ['a URI without a host', constraints([uri('example.com')]), uri('urn:example:tsa'), false],
    ['the organisation', constraints([named('qstamp development')]), dns('anything.example'), true],
    ['another organisation', constraints([named('Another')]), dns('anything.example'), false],
    ['an excluded organisation', constraints([], [named('qstamp development')]), dns('anything.example'), false],
  ])('%s', async (_name, limits, alternativeName, isGood) => {
    expect(await verdicts(limits, alternativeName)).toEqual({ ours: isGood ? 'good' : 'certificate_name', openssl: isGood });
  });

  it('of an unknown kind bind only names of that kind', async () => {
    const other = der.contextConstructed(0, der.objectIdentifier('2.999.1'), der.contextConstructed(0, der.ia5String('x')));
    expect((await verdicts(constraints([other]), dns('a.example'))).ours).toBe('good');
    expect((await verdicts(constraints([other]), other)).ours).toBe('certificate_name');
  });

  it('must be well-formed', async () => {
    expect((await verdicts(constraints([ip(192, 0, 2, 0)]), dns('a.example'))).ours).toBe('certificate_malformed');
    const from = der.sequence(der.contextConstructed(0, der.sequence(dns('example.com'), der.contextPrimitive(0, Buffer.of(1)))));
    expect((await verdicts(extension(OID.nameConstraints, true, from), dns('a.example.com'))).ours).toBe('certificate_malformed');
    const notBinding = extension(OID.nameConstraints, true, der.octetString());
    expect((await verdicts(notBinding, dns('a.example'))).ours).toBe('certificate_malformed');
  });
});

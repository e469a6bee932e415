// @ts-nocheck: its packages are not in this checkout, but in the folder that is given to it.
/**
 * xml-crypto of npm as a judge of enveloped XML signatures. Its packages are found from the working folder. One command a line, bytes in base64:
 *
 *   judge LIST CERTIFICATE…    the list, and the certificates that may sign it; answers `taken`, or `refused` and why
 *
 * xml-crypto knows neither XAdES nor trusted lists, so this program does what its README asks of a caller: it chooses the signature and the key, and
 * looks whether the list itself is among the signed references.
 */
import { X509Certificate } from 'node:crypto';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { runInThisContext } from 'node:vm';

const require = createRequire(join(process.cwd(), 'package.json'));
const { SignedXml } = require('xml-crypto');
const { DOMParser } = require('@xmldom/xmldom');

/** Deep lists would keep it busy for minutes. Only a script of `node:vm` can be interrupted. */
const longestMs = 20_000;
const signatureNamespace = 'http://www.w3.org/2000/09/xmldsig#';

function judge(list, signers) {
  const text = new TextDecoder('utf-8', { fatal: true }).decode(list);
  const document = new DOMParser({ errorHandler: refuseFault }).parseFromString(text, 'text/xml');
  const signatures = Array.from(document.getElementsByTagNameNS(signatureNamespace, 'Signature'));
  if (signatures.length !== 1) return `refused: ${signatures.length} signatures`;
  const inside = Array.from(signatures[0].getElementsByTagNameNS(signatureNamespace, 'X509Certificate'));
  const named = new Set(inside.map((element) => element.textContent.replace(/\s/g, '')));
  const signer = signers.find((one) => named.has(one));
  if (signer === undefined) return 'refused: the certificate of the signature is not among those that may sign';
  const publicCert = new X509Certificate(Buffer.from(signer, 'base64')).toString();
  const signed = new SignedXml({ publicCert });
  signed.loadSignature(signatures[0]);
  if (!signed.checkSignature(text)) return 'refused: a reference has another digest';
  const root = document.documentElement.localName;
  if (!signed.getSignedReferences().some((xml) => new DOMParser().parseFromString(xml, 'text/xml').documentElement.localName === root))
    return 'refused: the list itself is not signed';
  return 'taken';
}

function refuseFault(level, message) {
  if (level !== 'warning') throw new Error(message);
}

for await (const line of createInterface(process.stdin)) {
  const [, list, ...signers] = line.split(' ');
  try {
    globalThis.judgeNext = () => judge(Buffer.from(list, 'base64'), signers);
    console.log(runInThisContext('judgeNext()', { timeout: longestMs }));
  } catch (error) {
    const [first] = String(error.message).split('\n');
    console.log(`refused: ${first.slice(0, 120)}`);
  }
  console.log('done');
}

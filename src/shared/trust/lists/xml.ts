import { isUtf8 } from 'node:buffer';
import { ParseOption, XmlDocument, XmlElement, XmlParseError } from 'libxml2-wasm';
import { ListRefusal, mostListBytes } from './trusted-list.ts';

/** The largest real lists have about 100 000 tags. Each takes some 200 bytes of memory. */
const mostTags = 1_000_000;

const namespaces = {
  tsl: 'http://uri.etsi.org/02231/v2#',
  more: 'http://uri.etsi.org/02231/v2/additionaltypes#',
  ds: 'http://www.w3.org/2000/09/xmldsig#',
  xades: 'http://uri.etsi.org/01903/v1.3.2#',
};

/** Parses a list without network, entities and document type declarations. The caller disposes of it. @throws ListRefusal */
export function parseXml(document: Uint8Array): XmlDocument {
  if (document.length > mostListBytes) throw new ListRefusal('list_too_large', `It has ${document.length} bytes.`);
  // UTF-16 without a byte order mark is valid UTF-8, but has zeros.
  if (!isUtf8(document) || document.includes(0)) throw new ListRefusal('list_malformed', 'It is not UTF-8 text.');
  const octets = Buffer.from(document.buffer, document.byteOffset, document.length);
  if (octets.includes('<!DOCTYPE')) throw new ListRefusal('list_has_dtd');
  let tags = 0;
  for (let at = octets.indexOf('<'); at >= 0; at = octets.indexOf('<', at + 1)) tags += 1;
  if (tags > mostTags) throw new ListRefusal('list_too_large', `It has ${tags} tags.`);
  const option = ParseOption.XML_PARSE_NONET | ParseOption.XML_PARSE_NO_XXE | ParseOption.XML_PARSE_NO_SYS_CATALOG;
  let xml: XmlDocument;
  try {
    xml = XmlDocument.fromBuffer(document, { option });
  } catch (error) {
    if (!(error instanceof XmlParseError)) throw error;
    throw new ListRefusal('list_malformed', `It is not well-formed XML: ${error.message.split('\n')[0]}`);
  }
  if (xml.encoding !== null && !/^utf-8$/i.test(xml.encoding)) {
    xml.dispose();
    throw new ListRefusal('list_malformed', 'Its encoding is not UTF-8.');
  }
  return xml;
}

/** `name` is a name with its prefix, such as `tsl:NextUpdate`. */
export const isElement = ({ name, namespaceUri }: XmlElement, prefix: keyof typeof namespaces, wanted: string): boolean =>
  name === wanted && namespaceUri === namespaces[prefix];

export const elements = (parent: XmlElement, path: string): XmlElement[] =>
  parent.find(path, namespaces).filter((node) => node instanceof XmlElement);

/** Returns the only element at this path. If there is another number of them, programs could read different ones. @throws what `fault` makes */
export function only(parent: XmlElement, path: string, fault: (detail: string) => ListRefusal): XmlElement {
  const [found, ...others] = elements(parent, path);
  const name = path.replace(/.*:/, '');
  if (!found) throw fault(`${name} is missing.`);
  if (others.length > 0) throw fault(`There is more than one ${name}.`);
  return found;
}

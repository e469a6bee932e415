import fc from 'fast-check';
import { type Der, parseDer } from '../../src/shared/rfc3161/asn1/der.ts';
import { tlv } from '../../src/shared/rfc3161/asn1/der-writer.ts';

/** DER as a tree for mutations: written again with correct lengths, so that a mutation gets past the gate. */
export interface MutableDer {
  tag: number;
  /** Empty if there are children. */
  contents: Buffer;
  children: MutableDer[];
}

export function mutableOf(der: Uint8Array): MutableDer {
  const copy = (element: Der): MutableDer => {
    const contents = element.source.subarray(element.content, element.end);
    if (element.children.length > 0) return { tag: element.tag, contents: Buffer.alloc(0), children: element.children.map(copy) };
    // DER within an OCTET STRING (TSTInfo, values of extensions) is mutated too.
    const inner = element.tag === 0x04 && contents[0] === 0x30 ? tryParse(contents) : undefined;
    return {
      tag: element.tag,
      contents: inner === undefined ? Buffer.from(contents) : Buffer.alloc(0),
      children: inner === undefined ? [] : [copy(inner)],
    };
  };
  return copy(parseDer(der));
}

function tryParse(contents: Buffer): Der | undefined {
  try {
    return parseDer(contents);
  } catch {
    return undefined;
  }
}

/** The positions of the version numbers of SignedData and SignerInfo in the DER of a token. Nobody signs them, and they have no effect. */
export function versionPlaces(token: Uint8Array): readonly number[] {
  const signedData = parseDer(token).children[1]!.children[0]!;
  const signerInfo = signedData.children.at(-1)!.children[0]!;
  return [signedData, signerInfo].map(({ children: [version] }) => version!.content);
}

export function encoded(element: MutableDer): Buffer {
  return tlv(element.tag, ...(element.children.length > 0 ? element.children.map(encoded) : [element.contents]));
}

/** Every element, parents first, each with the one around it. */
export function elementsOf(root: MutableDer): { element: MutableDer; parent: MutableDer | undefined }[] {
  const found: { element: MutableDer; parent: MutableDer | undefined }[] = [];
  const visit = (element: MutableDer, parent: MutableDer | undefined): void => {
    found.push({ element, parent });
    for (const child of element.children) visit(child, element);
  };
  visit(root, undefined);
  return found;
}

type Change = (element: MutableDer, siblings: MutableDer[], other: MutableDer, noise: Uint8Array) => unknown;

const CHANGES: readonly Change[] = [
  (element, siblings) => siblings.splice(siblings.indexOf(element), 1),
  (element, siblings, other) => siblings.splice(siblings.indexOf(element), 0, other),
  (element, siblings) => siblings.push(...siblings.splice(siblings.indexOf(element), 1)),
  (element, _, other) => Object.assign(element, other),
  (element) => Object.assign(element, { tag: 0x30, contents: Buffer.alloc(0), children: [copyOf(element)] }),
  (element, _, __, [tag]) => Object.assign(element, { tag }),
  (element, _, __, noise) => Object.assign(element, { contents: Buffer.from(noise), children: [] }),
  // One octet changed, one appended, and one cut off.
  (element, _, __, [octet]) => Object.assign(element, { contents: Buffer.concat([element.contents.subarray(0, -1), Buffer.of(octet!)]) }),
  (element, _, __, [octet]) => Object.assign(element, { contents: Buffer.concat([element.contents, Buffer.of(octet!)]) }),
  (element) => Object.assign(element, { contents: element.contents.subarray(0, -1) }),
];

export type Mutation = readonly [change: Change, at: number, from: number, noise: Uint8Array];

const noises = fc.uint8Array({ minLength: 1, maxLength: 24 });
export const mutations = fc.array(fc.tuple(fc.constantFrom(...CHANGES), fc.nat(), fc.nat(), noises), { minLength: 1, maxLength: 3 });

/** Applies the mutations one after the other to a copy of the tree. */
export function mutated(der: Uint8Array, list: readonly Mutation[]): Buffer {
  const root = mutableOf(der);
  for (const [change, at, from, noise] of list) {
    const elements = elementsOf(root);
    const { element, parent } = elements[at % elements.length]!;
    change(element, parent?.children ?? [element], copyOf(elements[from % elements.length]!.element), noise);
  }
  return encoded(root);
}

const copyOf = ({ tag, contents, children }: MutableDer): MutableDer => ({
  tag,
  contents: Buffer.from(contents),
  children: children.map(copyOf),
});

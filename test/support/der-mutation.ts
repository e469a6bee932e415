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

export type Mutation = readonly [kind: (typeof KINDS)[number], at: number, from: number, noise: Uint8Array];

const KINDS = ['remove', 'repeat', 'swap', 'replace', 'wrap', 'retag', 'flip', 'grow', 'shrink', 'empty', 'noise', 'insert'] as const;

export const mutations = fc.array(fc.tuple(fc.constantFrom(...KINDS), fc.nat(), fc.nat(), fc.uint8Array({ minLength: 1, maxLength: 24 })), {
  minLength: 1,
  maxLength: 3,
});

/** Applies the mutations one after the other to a copy of the tree; an impossible one leaves the element unchanged. */
export function mutated(der: Uint8Array, list: readonly Mutation[]): Buffer {
  const root = mutableOf(der);
  for (const [kind, at, from, noise] of list) {
    const elements = elementsOf(root);
    const { element, parent } = elements[at % elements.length]!;
    const other = elements[from % elements.length]!.element;
    mutate(kind, element, parent, structuredCopy(other), from, noise);
  }
  return encoded(root);
}

function structuredCopy(element: MutableDer): MutableDer {
  return { tag: element.tag, contents: Buffer.from(element.contents), children: element.children.map(structuredCopy) };
}

function mutate(
  kind: Mutation[0],
  element: MutableDer,
  parent: MutableDer | undefined,
  other: MutableDer,
  from: number,
  noise: Uint8Array,
): void {
  const siblings = parent?.children ?? [];
  const place = siblings.indexOf(element);
  switch (kind) {
    case 'remove':
      if (place >= 0) siblings.splice(place, 1);
      return;
    case 'repeat':
      if (place >= 0) siblings.splice(place, 0, structuredCopy(element));
      return;
    case 'swap':
      if (siblings.length > 1) siblings.push(...siblings.splice(place, 1));
      return;
    case 'replace':
      Object.assign(element, other);
      return;
    case 'wrap':
      Object.assign(element, { tag: 0x30, contents: Buffer.alloc(0), children: [structuredCopy(element)] });
      return;
    case 'retag':
      element.tag = noise[0]!;
      return;
    case 'flip':
      if (element.contents.length > 0) element.contents[from % element.contents.length]! ^= noise[0]! | 1;
      return;
    case 'grow':
      element.contents = Buffer.concat([element.contents, noise]);
      return;
    case 'shrink':
      element.contents = element.contents.subarray(0, from % (element.contents.length + 1));
      return;
    case 'empty':
      Object.assign(element, { contents: Buffer.alloc(0), children: [] });
      return;
    case 'noise':
      Object.assign(element, { contents: Buffer.from(noise), children: [] });
      return;
    case 'insert':
      element.children.push(other);
  }
}

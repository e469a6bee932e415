import { containerType, proofEntries } from '../shared/archive/asics.ts';
import { asZipFault, type OpenedZip, openZip, type ZipKind } from './zip-read.ts';

const fullContainerType = 'application/vnd.etsi.asic-e+zip';
/** A list of the files inside, as OpenDocument has it, and the folder itself. */
const harmless = ['META-INF/manifest.xml', 'META-INF/'];
export const isContainerPath = (path: string): boolean => /\.(asics|scs)$/i.test(path);

/** An ASiC-S container with one file and a proof over it. Its bytes were judged by nobody. */
export interface Container {
  /** The name of the file inside. */
  readonly name: string;
  /** A time-stamp token or an evidence record, as it is inside. */
  readonly proof: Buffer;
  /** The file, unpacked as it is read. It is opened by whoever reads it: a fault of an open stream that nobody reads yet ends the process. */
  readFile(): AsyncIterable<Uint8Array>;
  /** What else is in META-INF, and nobody looked at. */
  readonly unread: readonly string[];
  close(): void;
}

const mostProofBytes = 2 * 1024 * 1024;

const kind: ZipKind = {
  name: 'ASiC-S container',
  // Others renew a time-stamp by two more entries each time.
  mostEntries: 1_000,
  checkHead: (head, refuse) => {
    const isMimetype = head.readUInt16LE(26) === 8 && head.toString('latin1', 30, 38) === 'mimetype';
    if (!isMimetype) throw refuse('its first entry is not mimetype');
    if (head.readUInt16LE(8) !== 0) throw refuse('its mimetype is compressed');
  },
};

/** Trouble in reading a container, in one sentence. */
export const asContainerFault = (error: unknown): unknown => asZipFault(kind, error);

async function readContainer({ entries, openEntry, readSmall, refuse, close }: OpenedZip): Promise<Container> {
  const mimetype = entries.get('mimetype');
  if (mimetype?.relativeOffsetOfLocalHeader !== 0) throw refuse('its first entry is not mimetype');
  const type = (await readSmall(mimetype, 128)).toString('latin1');
  if (type === fullContainerType) throw refuse('it is an ASiC-E container, for signatures and for several files');
  if (type !== containerType) throw refuse('its mimetype names another type');
  const isData = (name: string) => name !== 'mimetype' && !/^META-INF\//i.test(name);
  const [data, ...others] = [...entries.values()].filter(({ fileName }) => isData(fileName));
  if (!data || others.length > 0 || data.fileName.includes('/')) throw refuse('it must hold one file, and no folder');
  const proof = entries.get(proofEntries.token) ?? entries.get(proofEntries.record);
  if (!proof) throw refuse(`it has neither ${proofEntries.token} nor ${proofEntries.record}`);
  return {
    name: data.fileName,
    proof: await readSmall(proof, mostProofBytes),
    readFile: async function* () {
      yield* await openEntry(data);
    },
    unread: [...entries.keys()].filter((name) => !['mimetype', data.fileName, proof.fileName, ...harmless].includes(name)),
    close,
  };
}

/**
 * Opens an ASiC-S container with a time-stamp token or an evidence record (EN 319 162-1 §4.3), of this command or of others. Memory does not grow with the file.
 *
 * @throws CommandFailure that says in one sentence what is wrong with it
 */
export async function openContainer(path: string): Promise<Container> {
  let zip: OpenedZip | undefined;
  try {
    zip = await openZip(path, kind);
    return await readContainer(zip);
  } catch (error) {
    zip?.close();
    throw asContainerFault(error);
  }
}

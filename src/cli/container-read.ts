import * as asics from '../shared/proof/asics.js';
import { asZipFailure, inflate, openZipSource } from './zip-file.ts';

export const isContainerPath = (path: string): boolean => /\.(asics|scs)$/i.test(path);

/** Turns an error while reading a container into a CommandFailure with one sentence. */
export const asContainerFault = (error: unknown): unknown => asZipFailure('an ASiC-S container', error);

/**
 * Opens an ASiC-S container with a time-stamp token or an evidence record (EN 319 162-1 §4.3). This command or another program may have made it.
 * Memory does not grow with the size of the file.
 *
 * @throws CommandFailure with the fault in one sentence
 */
export async function openContainer(path: string): Promise<asics.Container & { close(): Promise<void> }> {
  try {
    const source = await openZipSource(path);
    try {
      return { ...(await asics.openContainer(source, inflate)), close: source.close };
    } catch (error) {
      await source.close();
      throw error;
    }
  } catch (error) {
    throw asContainerFault(error);
  }
}

// @ts-check
import { find } from './page-parts.js';

/**
 * Shows the page's drop zone, if it has one, and calls `take` with the chosen or dropped files. Drops are handled one after the other, so that their
 * results do not mix. Returns a function that calls `take` with the last files again.
 *
 * @param {(files: File[]) => Promise<void>} take
 */
export function openDropZone(take) {
  let turn = Promise.resolve();
  /** @type {File[]} */
  let last = [];
  const give = (/** @type {File[]} */ files) => {
    last = files;
    turn = turn.then(() => take(files)).catch(reportError);
  };
  const giveAgain = () => give(last);
  const zone = document.querySelector('.drop');
  if (!(zone instanceof HTMLElement)) return () => {};
  const input = /** @type {HTMLInputElement} */ (find('input', zone));
  zone.hidden = false;
  input.addEventListener('change', () => give([...(input.files ?? [])]));
  zone.addEventListener('dragleave', () => zone.classList.remove('over'));
  zone.addEventListener('dragenter', () => zone.classList.add('over'));
  // Without this, the browser would show a file that is dropped beside the zone instead of the page.
  document.addEventListener('dragover', (event) => event.preventDefault());
  document.addEventListener('drop', (event) => {
    event.preventDefault();
    zone.classList.remove('over');
    const files = [...(event.dataTransfer?.files ?? [])];
    if (files.length > 0) give(files);
  });
  return giveAgain;
}

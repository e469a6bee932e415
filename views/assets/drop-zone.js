// @ts-check
import { find } from './page-parts.js';

/** Shows the page's drop zone, where it has one, and hands on what is chosen or dropped. @param {(files: File[]) => void} take */
export function openDropZone(take) {
  const zone = document.querySelector('.drop');
  if (!(zone instanceof HTMLElement)) return;
  const input = /** @type {HTMLInputElement} */ (find('input', zone));
  zone.hidden = false;
  input.addEventListener('change', () => take([...(input.files ?? [])]));
  zone.addEventListener('dragleave', () => zone.classList.remove('over'));
  zone.addEventListener('dragenter', () => zone.classList.add('over'));
  // A file dropped beside the zone would replace the page.
  document.addEventListener('dragover', (event) => event.preventDefault());
  document.addEventListener('drop', (event) => {
    event.preventDefault();
    zone.classList.remove('over');
    const files = [...(event.dataTransfer?.files ?? [])];
    if (files.length > 0) take(files);
  });
}

// @ts-check
import { announce } from './page-parts.js';
import { t } from './words.js';

/** Adds a button that copies to every element with `data-copy`, if the browser supports it. @param {ParentNode} [within] */
export function addCopyButtons(within = document) {
  if (!navigator.clipboard) return;
  for (const cell of /** @type {NodeListOf<HTMLElement>} */ (within.querySelectorAll('[data-copy]'))) {
    const { copy: text = '', copyName: name = '' } = cell.dataset;
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = t('Copy');
    button.setAttribute('aria-label', t('Copy {name}', { name }));
    button.addEventListener('click', async () => {
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = t('Copied');
        announce(t('Copied {name}', { name }));
      } catch {
        button.textContent = t('Not allowed');
        announce(t('The browser did not allow copying'));
      }
      setTimeout(() => {
        button.textContent = t('Copy');
      }, 2000);
    });
    cell.append(' ', button);
  }
}

// Elements with their text; nothing here reads HTML out of a report.

/** element('td', { class: 'text' }, 'a', child): attributes, then texts and elements. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith('on')) made[key] = value;
    else if (value !== null && value !== false) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

export function byId(id) {
  return document.getElementById(id);
}

/** A group of buttons of which one is pressed: calls `choose` with its `data-<key>`. */
export function pressable(group, key, choose) {
  group.addEventListener('click', (event) => {
    const button = event.target.closest('button');
    if (button) choose(button.dataset[key]);
  });
}

export function press(group, key, value) {
  for (const button of group.querySelectorAll('button')) {
    button.setAttribute('aria-pressed', String(button.dataset[key] === String(value)));
  }
}

/** Draws what is in `place` anew; what had the focus has it again, by its `data-focus`. */
export function keepFocus(place, draw) {
  const name = place.contains(document.activeElement) ? document.activeElement.dataset.focus : undefined;
  draw();
  if (name === undefined) return;
  const again = [...place.querySelectorAll('[data-focus]')].find((one) => one.dataset.focus === name);
  again?.focus({ preventScroll: true });
}

/** Shows `children` beside the mouse, within the window. */
export function showTip(event, ...children) {
  const tip = byId('tip');
  tip.replaceChildren(...children);
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const left = Math.min(event.clientX + 14, innerWidth - width - 8);
  const below = event.clientY + 18;
  const top = below + height > innerHeight - 4 ? event.clientY - height - 10 : below;
  tip.style.left = `${Math.max(left, 4)}px`;
  tip.style.top = `${Math.max(top, 4)}px`;
}

export function hideTip() {
  byId('tip').hidden = true;
}

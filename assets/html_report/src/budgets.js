// The budgets of tags, and when they were exceeded.
import { element } from './dom.js';
import { frameItem } from './frames.js';
import { bytes, count } from './units.js';

const KINDS = {
  held_bytes: { name: 'bytes held', show: bytes },
  allocations_per_frame: { name: 'allocations in a frame', show: count },
  bytes_per_frame: { name: 'bytes in a frame', show: bytes },
};

const nameOf = (tag) => tag ?? 'the whole program';

/** `choose(number)` shows a frame. */
export function drawBudgets(report, game, choose) {
  if (game.budgets.length === 0) return [];
  const rows = game.budgets.flatMap(({ tag, limits }) => limits.filter(({ limit }) => limit !== null)
    .map((limit) => row(nameOf(tag), limit)));
  const forgotten = game.forgotten_offences > 0 ? ` ${count(game.forgotten_offences)} older ones are not kept.` : '';
  return [
    element('h2', {}, 'Budgets'),
    table('budgets', ['Tag', 'Limit', 'Of', 'Most', 'Times exceeded'], rows),
    ...(game.offences.length === 0 ? [] : [
      element('h2', {}, 'When they were exceeded'),
      element('p', { class: 'soft' }, `By the allocation that did it.${forgotten}`),
      element('div', { class: 'calls' }, ...game.offences.map((one) => offence(report, one, choose)))]),
  ];
}

function row(tag, { kind, limit, most, offences }) {
  const { name, show } = KINDS[kind];
  return element('tr', {}, element('td', { class: 'text' }, tag),
    ...[show(limit), name, show(most)].map((text) => element('td', {}, text)),
    element('td', { class: offences > 0 ? 'up' : null }, count(offences)));
}

function table(id, names, rows) {
  return element('table', { id },
    element('thead', {}, element('tr', {}, ...names.map((name, i) =>
      element('th', { scope: 'col', class: i === 0 ? 'text' : null, style: 'cursor:default' }, name)))),
    element('tbody', {}, ...rows));
}

function offence(report, { tag, kind, limit, value, frame, places }, choose) {
  const { name, show } = KINDS[kind];
  return element('div', { 'data-offence': kind },
    element('h3', {}, `${nameOf(tag)}: ${show(value)} ${name}, ${show(limit)} are allowed · `,
      element('button', { onclick: () => choose(frame) }, `frame ${count(frame)}`)),
    element('ol', {}, ...places.map((place) => frameItem(report, place))));
}

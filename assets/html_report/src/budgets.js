// The budgets of tags, and when they were exceeded.
import { byId, element } from './dom.js';
import { frameItem } from './frames.js';
import { bytes, count } from './units.js';

/** `short`: behind a number with its unit. */
const KINDS = {
  held_bytes: { name: 'bytes held', short: 'held', show: bytes, measure: 'held_bytes' },
  allocations_per_frame: { name: 'allocations in a frame', short: 'allocations in a frame', show: count, measure: 'allocations' },
  bytes_per_frame: { name: 'bytes in a frame', short: 'in a frame', show: bytes, measure: 'allocated_bytes' },
};

const nameOf = (tag) => tag ?? 'the whole program';

/** A click on a budget shows its limit among the bars. */
export function drawBudgets(view) {
  const { game } = view.report;
  if (game.budgets.length === 0) return [];
  const rows = game.budgets.flatMap(({ tag, limits }) => limits.filter(({ limit }) => limit !== null)
    .map((limit) => row(tag, limit, view)));
  return [element('h2', {}, 'Budgets'), table('budgets', ['Tag', 'Limit', 'Of', 'Most', 'Times exceeded'], rows)];
}

/** `choose(number)` shows a frame. */
export function drawOffences({ report }, choose) {
  const { offences, forgotten_offences: older } = report.game;
  if (offences.length === 0) return [];
  const forgotten = older > 0 ? ` ${count(older)} older ones are not kept.` : '';
  return [
    element('h2', {}, 'When budgets were exceeded'),
    element('p', { class: 'soft' }, `By the allocation that did it.${forgotten}`),
    element('div', { class: 'calls' }, ...offences.map((one) => offence(report, one, choose))),
  ];
}

function row(tag, { kind, limit, most, offences }, view) {
  const { name, show, measure } = KINDS[kind];
  const choose = () => {
    const known = view.report.game.offences.filter((one) => one.tag === tag && one.kind === kind).at(-1);
    view.set({ gameTag: tag, gameMeasure: measure, gameFrame: known?.frame });
    byId('game').scrollTop = 0;
  };
  return element('tr', {
    class: 'go', tabindex: '0', 'data-focus': `budget ${kind} ${tag}`, title: 'Click to see the limit among the bars',
    onclick: choose, onkeydown: (event) => event.key === 'Enter' && choose(),
  }, element('td', { class: 'text' }, nameOf(tag)),
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
  const { short, show } = KINDS[kind];
  return element('div', { 'data-offence': kind },
    element('h3', {}, `${nameOf(tag)}: ${show(value)} ${short}, ${show(limit)} are allowed · `,
      element('button', { onclick: () => choose(frame) }, frame === 0 ? 'before the first frame' : `frame ${count(frame)}`)),
    element('ol', {}, ...places.map((place) => frameItem(report, place))));
}

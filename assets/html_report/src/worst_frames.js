// The table of the worst frames.
import { element } from './dom.js';
import { bytes, count, duration } from './units.js';

const CAUSES = { page_faults: ', page faults', wait: ', waited', preempted: ', preempted', size: ', size' };

const COLUMNS = [
  { name: 'Frame', show: (frame) => count(frame.number) },
  { name: 'Allocated', key: 'allocated_bytes', show: (frame) => bytes(frame.allocated_bytes) },
  { name: 'Allocations', key: 'allocations', show: (frame) => count(frame.allocations) },
  { name: 'In the allocator', key: 'allocator_ns', show: (frame) => duration(frame.allocator_ns) },
  { name: 'Duration', key: 'duration_ns', show: (frame) => duration(frame.duration_ns) },
];

/** How long it took, and why, as far as that is known. */
const SLOWEST = { name: 'Slowest call', show: ({ slowest_call: call }) =>
  (call ? `${duration(call.duration_ns)}${CAUSES[call.cause] ?? ''}` : '–') };

/** A click on a heading shows the worst by it. */
export function worstTable(game, measure, worst, chosen, view) {
  const { key, name, show, listed } = measure;
  const columns = [...COLUMNS, listed ? SLOWEST : { name, key, show: (frame) => show(frame[key]) }];
  const which = listed ? 'The worst of all frames' : `The worst of the last ${count(game.last.length)} frames`;
  return [
    element('h2', {}, which, element('span', { class: 'soft' }, `: ${name.toLowerCase()}`)),
    element('table', { id: 'worst-frames' },
      element('thead', {}, element('tr', {}, ...columns.map((column) => heading(column, key, view)))),
      element('tbody', {}, ...worst.map((frame) => row(frame, columns, chosen, view)))),
  ];
}

function heading({ name, key }, sortedBy, view) {
  return element('th', {
    scope: 'col', 'aria-sort': key === sortedBy ? 'descending' : null, style: key ? null : 'cursor:default',
    onclick: key ? () => view.set({ gameMeasure: key, gameFrame: undefined }) : null,
  }, name);
}

function row(frame, columns, chosen, view) {
  const choose = () => view.set({ gameFrame: frame.number });
  return element('tr', {
    class: 'go', tabindex: '0', 'data-focus': `frame ${frame.number}`,
    'aria-selected': String(frame.number === chosen),
    onclick: choose,
    onkeydown: (event) => event.key === 'Enter' && choose(),
  }, ...columns.map(({ show }) => element('td', {}, show(frame))));
}

// What the frames of a game allocated: the last ones as bars, the worst of all, and budgets.
import { byId, element, press } from './dom.js';
import { drawBudgets } from './budgets.js';
import { drawFrameBars } from './frame_bars.js';
import { frameItem } from './frames.js';
import { bytes, count, seconds } from './units.js';

/** 1234567 nanoseconds -> "1.23 ms". */
function time(ns) {
  if (ns === 0) return '0';
  if (ns >= 1e9) return seconds(ns / 1e9);
  return ns < 1e6 ? `${Number((ns / 1e3).toPrecision(3))} µs` : `${Number((ns / 1e6).toPrecision(3))} ms`;
}

const calls = (number) => `${count(number)} allocation${number === 1 ? '' : 's'}`;

/** `worst`: by what the frames of the table are the worst. */
export const MEASURES = [
  { key: 'allocated_bytes', name: 'Allocated bytes', show: bytes, worst: 'allocated_bytes' },
  { key: 'allocations', name: 'Allocations', show: count, worst: 'allocations' },
  { key: 'held_bytes', name: 'Held at the end', show: bytes, worst: 'allocated_bytes' },
  { key: 'allocator_ns', name: 'Time in the allocator', show: time, worst: 'allocator_ns' },
  { key: 'duration_ns', name: 'Duration', show: time, worst: 'duration_ns' },
];

const CAUSES = {
  page_faults: 'page faults', wait: 'it waited, as for a lock', preempted: 'others had its processor',
  size: 'its size', unknown: 'not known',
};

/** A frame of the game: `view.gameMeasure` is what is shown, `view.gameFrame` the number of one. */
export function drawGameFrames(view) {
  const { game } = view.report;
  const measure = MEASURES.find(({ key }) => key === view.gameMeasure) ?? MEASURES[0];
  const worst = game.worst.filter((frame) => frame.measure === measure.worst);
  const chosen = view.gameFrame ?? worst[0]?.number;
  const choose = (number) => view.set({ gameFrame: number });
  const buttons = element('span', { id: 'game-measures', role: 'group', 'aria-label': 'Measure' },
    ...MEASURES.map(({ key, name }) => element('button', {
      'data-measure': key, onclick: () => view.set({ gameMeasure: key, gameFrame: undefined }) }, name)));
  const chart = element('div', { class: 'chart' });
  byId('game').replaceChildren(
    element('div', { class: 'line' }, buttons, element('span', { class: 'soft' }, summary(game))),
    chart,
    element('div', { class: 'halves' },
      element('div', {}, element('h2', {}, 'The worst of all frames'), worstTable(worst, chosen, choose)),
      element('div', { id: 'game-detail' }, ...detail(view.report, game, measure, chosen))),
    ...drawBudgets(view.report, game, choose));
  press(buttons, 'measure', measure.key);
  drawFrameBars(chart, game, measure, chosen, choose);
}

function summary(game) {
  const shown = game.last.length < game.frames ? `the last ${count(game.last.length)} of ` : '';
  const refused = game.refused_marks > 0 ? `; ${count(game.refused_marks)} marks were refused` : '';
  return `${shown}${count(game.frames)} frames${refused}`;
}

function worstTable(worst, chosen, choose) {
  const names = ['Frame', 'Allocated', 'Allocations', 'In the allocator', 'Duration'];
  return element('table', { id: 'worst-frames' },
    element('thead', {}, element('tr', {}, ...names.map((name) =>
      element('th', { scope: 'col', style: 'cursor:default' }, name)))),
    element('tbody', {}, ...worst.map((frame) => element('tr', {
      class: 'go', tabindex: '0', 'aria-selected': String(frame.number === chosen),
      onclick: () => choose(frame.number),
      onkeydown: (event) => event.key === 'Enter' && choose(frame.number),
    }, ...[count(frame.number), bytes(frame.allocated_bytes), count(frame.allocations),
           time(frame.allocator_ns), time(frame.duration_ns)].map((text) => element('td', {}, text))))));
}

/** Of the frame with that number: of the worst ones with stacks, of others by tag alone. */
function detail(report, game, measure, number) {
  if (number === undefined) return [element('p', { class: 'empty' }, 'No frame has ended.')];
  const title = element('h2', {}, `Frame ${count(number)}`);
  const known = game.worst.filter((frame) => frame.number === number);
  const worst = known.find((frame) => frame.measure === measure.worst) ?? known[0];
  const last = game.last.find((frame) => frame.number === number);
  const frame = worst ?? last;
  const numbers = element('p', {}, `${bytes(frame.allocated_bytes)} in ${calls(frame.allocations)}, ${count(frame.deallocations)} frees of ${bytes(frame.freed_bytes)}; it lasted ${time(frame.duration_ns)}, its threads were in the allocator for about ${time(frame.allocator_ns)}`);
  const parts = [title, numbers, ...tagsOf(game, last)];
  if (worst === undefined) {
    return [...parts, element('p', { class: 'soft' }, 'Stacks are kept of the worst frames alone.')];
  }
  return [...parts, ...slowest(worst.slowest_call), ...worst.stacks.map((stack) => stackOf(report, stack))];
}

function tagsOf(game, frame) {
  if (!frame || frame.tags.length < 2) return [];
  const rows = [...frame.tags].sort((a, b) => b.allocated_bytes - a.allocated_bytes).map((one) =>
    element('tr', {}, element('td', { class: 'text' }, game.tagName(one.tag)),
      ...[bytes(one.allocated_bytes), count(one.allocations), bytes(one.held_bytes)].map((text) => element('td', {}, text))));
  return [element('table', {}, element('thead', {}, element('tr', {}, ...['Tag', 'Allocated', 'Allocations', 'Holds'].map((name, i) =>
    element('th', { scope: 'col', class: i === 0 ? 'text' : null, style: 'cursor:default' }, name)))), element('tbody', {}, ...rows))];
}

function slowest(call) {
  if (call === null) return [];
  return [element('p', {}, `Slowest call: ${call.call} of ${bytes(call.bytes)} took ${time(call.duration_ns)}; why: ${CAUSES[call.cause] ?? call.cause}`)];
}

function stackOf(report, stack) {
  const tag = stack.tag === null ? '' : ` · ${stack.tag}`;
  return element('div', {},
    element('h3', {}, `${bytes(stack.allocated_bytes)} in ${calls(stack.allocations)}${tag}`),
    element('ol', {}, ...stack.places.map((place) => frameItem(report, place))));
}

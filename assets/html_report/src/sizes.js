// How large the live blocks are: a bar for each power of two.
import { scaleBand } from 'd3-scale';
import { addBottomAxis, addValueAxis, chartIn } from './chart.js';
import { byId, element, hideTip, showTip } from './dom.js';
import { bytes, count, percent, signed } from './units.js';

const SHOWN = [
  { key: 'live_bytes', name: 'Live bytes by block size', show: bytes },
  { key: 'live_allocations', name: 'Live blocks by block size', show: count },
];

/** Every class between the least and the greatest of both reports, those without blocks too. */
function classes(about, before) {
  const all = new Map();
  const put = (list, side) => list.forEach((one) => {
    const known = all.get(one.min_bytes) ?? { min: one.min_bytes, max: one.max_bytes };
    all.set(one.min_bytes, { ...known, [side]: one });
  });
  put(about.sizes ?? [], 'after');
  put(before?.sizes ?? [], 'before');
  if (all.size === 0) return [];
  const [least, most] = [Math.min(...all.keys()), Math.max(...all.keys())];
  const list = [];
  for (let min = least; min <= most; min = min === 0 ? 1 : 2 * min) {
    list.push(all.get(min) ?? { min, max: min === 0 ? 0 : 2 * min - 1 });
  }
  return list;
}

function nameOf({ min, max }) {
  return min === max ? `${min} B` : `${bytes(min)} to ${bytes(max + 1)}`;
}

/** 4096 -> "4 KiB": labels must be short. */
function shortName({ min }) {
  return bytes(min).replace(/\.0+ /, ' ');
}

export function drawSizes(view) {
  const { about, before } = view.report;
  const list = classes(about, before);
  const section = byId('sizes');
  if (list.length === 0) {
    section.replaceChildren(element('p', { class: 'empty' }, 'No block is live in this report, so there are no sizes to show.'));
    return;
  }
  const places = SHOWN.map(() => element('div', { class: 'chart' }));
  section.replaceChildren(
    element('p', { class: 'soft' }, `Blocks that are live, by the size that was asked for; each bar is a power of two, from its number up to twice that.${before ? ' Bars show the change: red grew, blue shrank.' : ''} This does not depend on the choice above.`),
    element('div', { class: 'charts' }, ...SHOWN.map(({ name }, i) =>
      element('div', {}, element('h2', {}, name), places[i]))));
  SHOWN.forEach((shown, i) => drawBars(places[i], list, shown, before !== undefined));
}

function drawBars(place, list, { key, show }, isDifference) {
  const chart = chartIn(place);
  const number = (one) => (one.after?.[key] ?? 0) - (isDifference ? one.before?.[key] ?? 0 : 0);
  const numbers = list.map(number);
  const total = numbers.reduce((a, b) => a + b, 0);
  const text = isDifference ? signed(show) : show;
  const x = scaleBand().domain(list.map(({ min }) => min)).range([0, chart.width]).padding(0.15);
  const y = addValueAxis(chart, Math.min(0, ...numbers), Math.max(0, ...numbers), show);
  const every = Math.ceil((list.length * 54) / chart.width);
  addBottomAxis(chart, x, (axis) => axis.tickValues(x.domain().filter((_, i) => i % every === 0))
    .tickFormat((min) => shortName({ min })));
  const bars = chart.group.selectAll('rect').data(list).join('rect')
    .attr('x', (one) => x(one.min)).attr('width', x.bandwidth())
    .attr('y', (one) => y(Math.max(0, number(one))))
    .attr('height', (one) => Math.abs(y(number(one)) - y(0)))
    .attr('fill', (one) => (!isDifference ? '#6f9fdc' : number(one) > 0 ? '#ee5a4f' : '#4f8fe6'));
  bars.on('mousemove', (event, one) => showTip(event,
    element('b', {}, nameOf(one)),
    element('div', {}, `${text(number(one))}${isDifference ? '' : ` – ${percent(number(one), total)}`}`)))
    .on('mouseleave', hideTip);
}

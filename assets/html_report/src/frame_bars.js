// The last frames of a game as bars, parted by tag.
import { scaleLinear } from 'd3-scale';
import { pointer } from 'd3-selection';
import { addBottomAxis, addValueAxis, chartIn } from './chart.js';
import { element, hideTip, showTip } from './dom.js';
import { isInside, limitOf } from './game_measures.js';
import { count } from './units.js';

const PALETTE = ['#6f9fdc', '#f2a65a', '#7fb58d', '#c98fd6', '#e0705f', '#5bbfc0', '#b8a13c', '#9a8478'];
const OTHERS = '#b9c0ca';
const BAD = '#b3261e';
const NARROWEST = 2;
const PAGE = 20;

/** Frames side by side that share one bar: the bar is of the one that has most. */
function columnsOf(bars, most) {
  const size = Math.max(1, Math.ceil(bars.length / most));
  const columns = [];
  for (let begin = 0; begin < bars.length; begin += size) {
    const part = bars.slice(begin, begin + size);
    columns.push({ begin, size, bar: part.reduce((a, b) => (b.value > a.value ? b : a)) });
  }
  return columns;
}

/** The tags with most of the measure over all frames get colours of their own. */
function coloursOf(bars) {
  const sums = new Map();
  for (const { tags } of bars) {
    for (const { tag, value } of tags) sums.set(tag, (sums.get(tag) ?? 0) + value);
  }
  const ranked = [...sums].sort((a, b) => b[1] - a[1]).map(([tag]) => tag);
  return new Map(ranked.slice(0, PALETTE.length).map((tag, i) => [tag, PALETTE[i]]));
}

/** Pieces of a bar from below: the tags with colours, then all others and what is of none. */
function piecesOf({ value, tags }, colours) {
  const pieces = [];
  const has = new Map(tags.map((one) => [one.tag, one.value]));
  let height = 0;
  for (const [tag, colour] of colours) {
    const more = has.get(tag) ?? 0;
    if (more > 0) pieces.push({ from: height, to: height + more, colour });
    height += more;
  }
  if (value > height) pieces.push({ from: height, to: value, colour: OTHERS });
  return pieces;
}

/** The highest value that is shown whole: of all bars, or of all but one in a hundred. */
function highestShown(bars, cut) {
  const sorted = bars.map(({ value }) => value).sort((a, b) => a - b);
  return sorted[cut ? Math.floor((sorted.length - 1) * 0.99) : sorted.length - 1];
}

/** `bars` are of the last frames; `chosen`: the number of a frame; `choose(number)` shows another one. */
export function drawFrameBars(place, game, { bars, measure, path, chosen, choose, cut }) {
  if (game.last.length === 0) return;
  const colours = coloursOf(bars);
  const limit = limitOf(game, measure, path);
  const box = element('div', { class: 'chart', tabindex: '0', 'data-focus': 'bars', role: 'img',
    'aria-label': 'Frames as bars; arrow keys go from one to the next' });
  place.replaceChildren(legend(game, measure, bars, colours), box);
  const chart = chartIn(box);
  const columns = columnsOf(bars, chart.width / NARROWEST);
  const y = addValueAxis(chart, 0, Math.max(highestShown(bars, cut), limit ?? 0), measure.show).clamp(true);
  const first = game.last[0].number;
  const x = scaleLinear().domain([first, first + bars.length]).range([0, chart.width]);
  addBottomAxis(chart, x, (axis) => axis.tickFormat(count));
  drawColumns(chart, x, y, columns, colours);
  if (limit !== null) drawLimit(chart, y(limit), `budget ${measure.show(limit)}`);
  markOffences(chart, x, game, path);
  if (chosen >= first && chosen < first + bars.length) {
    chart.group.append('path').attr('class', 'chosen').attr('fill', '#1c2430')
      .attr('d', `M${x(chosen + 0.5)},${chart.height + 2}l-5,8h10z`);
  }
  listen(chart, x, columns, game, measure, choose);
  listenToKeys(box, game, chosen, choose);
}

function drawColumns(chart, x, y, columns, colours) {
  const group = chart.group.append('g').attr('class', 'bars').attr('shape-rendering', 'crispEdges');
  const [first] = x.domain();
  const highest = y.domain()[1];
  for (const { begin, size, bar } of columns) {
    const left = x(first + begin);
    const width = x(first + begin + size) - left;
    for (const { from, to, colour } of piecesOf(bar, colours)) {
      group.append('rect').attr('x', left).attr('width', width).attr('y', y(to))
        .attr('height', y(from) - y(to)).attr('fill', colour);
    }
    if (bar.value <= highest) continue;
    group.append('path').attr('class', 'cut').attr('fill', '#1c2430')
      .attr('d', `M${left + width / 2},-7l-4,6h8z`);
  }
}

function drawLimit(chart, y, text) {
  const group = chart.group.append('g').attr('class', 'limit');
  group.append('line').attr('x2', chart.width).attr('y1', y).attr('y2', y)
    .attr('stroke', BAD).attr('stroke-dasharray', '5 3');
  group.append('text').attr('x', chart.width - 4).attr('y', y - 4).attr('text-anchor', 'end')
    .style('fill', BAD).attr('stroke', '#fff').attr('stroke-width', 3).attr('paint-order', 'stroke').text(text);
}

function markOffences(chart, x, game, path) {
  const [first, end] = x.domain();
  const numbers = new Set(game.offences.filter(({ tag }) => path === null || isInside(tag, path))
    .map(({ frame }) => frame).filter((n) => n >= first && n < end));
  chart.group.append('g').attr('class', 'offences').selectAll('circle').data([...numbers]).join('circle')
    .attr('cx', (n) => x(n + 0.5)).attr('cy', 5).attr('r', 3).attr('fill', BAD);
}

function legend(game, measure, bars, colours) {
  const entries = [...colours].map(([tag, colour]) => [game.tagName(tag), colour]);
  const isRest = (bar) => piecesOf(bar, colours).at(-1)?.colour === OTHERS;
  if (measure.parted && bars.some(isRest)) entries.push(['all others', OTHERS]);
  return element('p', { id: 'game-legend' }, ...entries.map(([name, colour]) =>
    element('span', {}, element('i', { style: `background:${colour}` }), name)));
}

function listen(chart, x, columns, game, measure, choose) {
  const at = (event) => {
    const number = x.invert(pointer(event)[0]) - x.domain()[0];
    return columns[Math.max(0, Math.min(Math.floor(number / columns[0].size), columns.length - 1))].bar;
  };
  chart.group.append('rect').attr('class', 'catch').attr('width', chart.width).attr('height', chart.height)
    .attr('fill', 'transparent').style('cursor', 'pointer')
    .on('click', (event) => choose(at(event).frame.number))
    .on('mousemove', (event) => {
      const { frame, value, tags } = at(event);
      const most = [...tags].sort((a, b) => b.value - a.value).slice(0, 6);
      showTip(event, element('b', {}, `Frame ${count(frame.number)}: ${measure.show(value)}`),
        ...most.map((one) => element('div', {}, `${game.tagName(one.tag)} ${measure.show(one.value)}`)));
    })
    .on('mouseleave', hideTip);
}

const STEPS = { ArrowLeft: -1, ArrowRight: 1, PageUp: -PAGE, PageDown: PAGE, Home: -Infinity, End: Infinity };

function listenToKeys(box, game, chosen, choose) {
  const [first, last] = [game.last[0].number, game.last.at(-1).number];
  box.onkeydown = (event) => {
    const step = STEPS[event.key];
    if (step === undefined) return;
    event.preventDefault();
    choose(Math.max(first, Math.min((chosen ?? first) + step, last)));
  };
}

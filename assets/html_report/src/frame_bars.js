// The last frames of a game as bars, parted by tag.
import { scaleLinear } from 'd3-scale';
import { pointer } from 'd3-selection';
import { addBottomAxis, addValueAxis, chartIn } from './chart.js';
import { element, hideTip, showTip } from './dom.js';
import { count } from './units.js';

const PALETTE = ['#6f9fdc', '#f2a65a', '#7fb58d', '#c98fd6', '#e0705f', '#5bbfc0', '#b8a13c', '#9a8478'];
const OTHERS = '#b9c0ca';
const NARROWEST = 2;

/** Frames side by side that share one bar: the bar is of the one that has most. */
function columnsOf(frames, measure, most) {
  const size = Math.max(1, Math.ceil(frames.length / most));
  const columns = [];
  for (let begin = 0; begin < frames.length; begin += size) {
    const part = frames.slice(begin, begin + size);
    columns.push({ begin, size, frame: part.reduce((a, b) => (b[measure.key] > a[measure.key] ? b : a)) });
  }
  return columns;
}

/** The tags with most of the measure over all frames get colours of their own. */
function coloursOf(game, measure) {
  const sums = new Map();
  for (const frame of game.last) {
    for (const one of frame.tags) sums.set(one.tag, (sums.get(one.tag) ?? 0) + (one[measure.key] ?? 0));
  }
  const ranked = [...sums].sort((a, b) => b[1] - a[1]).map(([tag]) => tag);
  return new Map(ranked.slice(0, PALETTE.length).map((tag, i) => [tag, PALETTE[i]]));
}

/** Pieces of a bar from below; a frame's duration is nobody's. */
function piecesOf(frame, measure, colours) {
  const pieces = [];
  let height = 0;
  const order = [...colours.keys()];
  const parts = [...frame.tags].filter((one) => one[measure.key] > 0)
    .sort((a, b) => order.indexOf(a.tag) - order.indexOf(b.tag));
  for (const one of parts) {
    pieces.push({ from: height, to: height + one[measure.key], colour: colours.get(one.tag) ?? OTHERS });
    height += one[measure.key];
  }
  // What tags held that did nothing in the frame, and what is of no tag.
  if (frame[measure.key] > height) pieces.push({ from: height, to: frame[measure.key], colour: OTHERS });
  return pieces;
}

export function drawFrameBars(place, game, measure, chosen, choose) {
  const frames = game.last;
  if (frames.length === 0) return;
  const chart = chartIn(place);
  const columns = columnsOf(frames, measure, chart.width / NARROWEST);
  const colours = coloursOf(game, measure);
  const y = addValueAxis(chart, 0, Math.max(...frames.map((frame) => frame[measure.key])), measure.show);
  const first = frames[0].number;
  const x = scaleLinear().domain([first, first + frames.length]).range([0, chart.width]);
  addBottomAxis(chart, x, (axis) => axis.tickFormat(count));
  const group = chart.group.append('g').attr('class', 'bars');
  for (const { begin, size, frame } of columns) {
    const left = x(first + begin);
    const width = Math.max(x(first + begin + size) - left - 0.4, 0.6);
    for (const { from, to, colour } of piecesOf(frame, measure, colours)) {
      group.append('rect').attr('x', left).attr('width', width).attr('y', y(to))
        .attr('height', Math.max(y(from) - y(to), 0)).attr('fill', colour);
    }
  }
  markOffences(chart, x, game);
  if (chosen >= first) {
    chart.group.append('path').attr('class', 'chosen').attr('fill', '#1c2430')
      .attr('d', `M${x(chosen + 0.5)},${chart.height + 2}l-5,8h10z`);
  }
  legend(chart, game, colours);
  listen(chart, x, columns, game, measure, choose);
}

function markOffences(chart, x, game) {
  const [first, end] = x.domain();
  const numbers = new Set(game.offences.map(({ frame }) => frame).filter((n) => n >= first && n < end));
  chart.group.append('g').attr('class', 'offences').selectAll('circle').data([...numbers]).join('circle')
    .attr('cx', (n) => x(n + 0.5)).attr('cy', 5).attr('r', 3).attr('fill', '#b3261e');
}

function legend(chart, game, colours) {
  let left = 0;
  for (const [tag, colour] of colours) {
    const text = chart.group.append('text').attr('x', left + 14).attr('y', -8).text(game.tagName(tag));
    chart.group.append('rect').attr('x', left).attr('y', -17).attr('width', 10).attr('height', 10).attr('fill', colour);
    left += 26 + text.node().getComputedTextLength();
  }
}

function listen(chart, x, columns, game, measure, choose) {
  const at = (event) => {
    const number = x.invert(pointer(event)[0]) - x.domain()[0];
    return columns[Math.min(Math.floor(number / columns[0].size), columns.length - 1)].frame;
  };
  chart.group.append('rect').attr('class', 'catch').attr('width', chart.width).attr('height', chart.height)
    .attr('fill', 'transparent').style('cursor', 'pointer')
    .on('click', (event) => choose(at(event).number))
    .on('mousemove', (event) => {
      const frame = at(event);
      const tags = [...frame.tags].filter((one) => one[measure.key] > 0).sort((a, b) => b[measure.key] - a[measure.key]);
      showTip(event, element('b', {}, `Frame ${count(frame.number)}: ${measure.show(frame[measure.key])}`),
        ...tags.slice(0, 6).map((one) => element('div', {}, `${game.tagName(one.tag)} ${measure.show(one[measure.key])}`)));
    })
    .on('mouseleave', hideTip);
}

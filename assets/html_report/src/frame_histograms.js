// How many of all frames of a game had how much: a bar for each power of two.
import { scaleBand } from 'd3-scale';
import { addBottomAxis, addValueAxis, chartIn } from './chart.js';
import { element, hideTip, showTip } from './dom.js';
import { MEASURES } from './game_measures.js';
import { count, percent } from './units.js';

/** Bars of few frames are the ones that matter: they can be seen. */
const LOWEST_BAR = 2;

/** Every class between the least and the greatest, those without frames too. */
function withEmptyOnes(classes) {
  const all = new Map(classes.map((one) => [one.min, one]));
  const list = [];
  const last = classes.at(-1).min;
  for (let { min } = classes[0]; min <= last; min = min === 0 ? 1 : 2 * min) {
    list.push(all.get(min) ?? { min, max: min === 0 ? 0 : 2 * min - 1, frames: 0 });
  }
  // Nothing at all is far from the least of the others.
  const first = list.findIndex((one) => one.min > 0 && one.frames > 0);
  return list[0].min === 0 && first > 1 ? [list[0], ...list.slice(first)] : list;
}

/** One for each measure that has some; that of the chosen one stands first. */
export function drawFrameHistograms(place, game, chosen) {
  const ofMeasure = (measure) => game.histograms.find((one) => one.measure === measure.key)?.classes ?? [];
  const shown = MEASURES.filter((measure) => ofMeasure(measure).length > 0)
    .sort((a, b) => (b === chosen) - (a === chosen));
  if (shown.length === 0) return;
  const charts = shown.map(() => element('div', { class: 'chart' }));
  place.replaceChildren(
    element('h2', {}, 'How many of all frames had how much'),
    element('p', { class: 'soft' }, 'Each bar is a power of two, from its number up to twice that.'),
    element('div', { class: 'histograms' }, ...shown.map(({ name, key }, i) =>
      element('div', { 'data-histogram': key }, element('h3', {}, name), charts[i]))));
  shown.forEach((measure, i) => drawBars(charts[i], withEmptyOnes(ofMeasure(measure)), measure));
}

function drawBars(place, list, { show }) {
  const chart = chartIn(place);
  const total = list.reduce((sum, { frames }) => sum + frames, 0);
  const x = scaleBand().domain(list.map(({ min }) => min)).range([0, chart.width]).padding(0.15);
  const y = addValueAxis(chart, 0, Math.max(...list.map(({ frames }) => frames)), count);
  const short = (min) => show(min).replace(/\.0+ /, ' ');
  const every = Math.ceil((list.length * 62) / chart.width);
  addBottomAxis(chart, x, (axis) => axis.tickValues(x.domain().filter((_, i) => i % every === 0)).tickFormat(short));
  const height = ({ frames }) => (frames === 0 ? 0 : Math.max(chart.height - y(frames), LOWEST_BAR));
  chart.group.selectAll('.bar').data(list).join('rect').attr('class', 'bar').attr('fill', '#6f9fdc')
    .attr('x', (one) => x(one.min)).attr('width', x.bandwidth())
    .attr('y', (one) => chart.height - height(one)).attr('height', height)
    .on('mousemove', (event, one) => showTip(event,
      element('b', {}, one.min === one.max ? show(one.min) : `${show(one.min)} to ${show(one.max + 1)}`),
      element('div', {}, `${count(one.frames)} frame${one.frames === 1 ? '' : 's'} – ${percent(one.frames, total)}`)))
    .on('mouseleave', hideTip);
}

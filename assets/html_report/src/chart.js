// What the charts have in common: a frame with axes in an SVG as large as its place.
import { axisBottom, axisLeft } from 'd3-axis';
import { scaleLinear } from 'd3-scale';
import { select } from 'd3-selection';
import { bytes } from './units.js';

const MARGIN = { top: 18, right: 24, bottom: 34, left: 74 };

/** An empty chart in `place`: the group to draw into, and its size in pixels. */
export function chartIn(place) {
  const box = place.getBoundingClientRect();
  const width = Math.max(box.width - MARGIN.left - MARGIN.right, 100);
  const height = Math.max(box.height - MARGIN.top - MARGIN.bottom, 60);
  const svg = select(place).html('').append('svg');
  const group = svg.append('g').attr('transform', `translate(${MARGIN.left},${MARGIN.top})`);
  return { svg, group, width, height };
}

/** Values upward from `least` (at most 0) to `most`, with lines across; returns their scale. */
export function addValueAxis({ group, width, height }, least, most, show) {
  const wanted = Math.max(2, Math.floor(height / 45));
  const ticks = show !== bytes || most - least < 1
    ? scaleLinear().domain([least, most || 1]).nice(wanted).ticks(wanted).filter(Number.isInteger)
    : powerTicks(least, most || 1, wanted);
  const scale = scaleLinear().domain([ticks[0], ticks.at(-1)]).range([height, 0]);
  group.append('g').attr('class', 'grid')
    .call(axisLeft(scale).tickValues(ticks).tickSize(-width).tickFormat(''));
  group.append('g').call(axisLeft(scale).tickValues(ticks).tickFormat(show).tickSizeOuter(0));
  return scale;
}

/** `set` may ask for other labels than as many as have room. */
export function addBottomAxis({ group, width, height }, scale, set) {
  const axis = axisBottom(scale).tickSizeOuter(0).ticks(Math.max(2, Math.min(Math.floor(width / 70), 10)));
  return group.append('g').attr('transform', `translate(0,${height})`).call(set(axis));
}

/** From `least` or below to `most` or above in steps of a power of two: bytes are counted so. */
function powerTicks(least, most, wanted) {
  let step = 1;
  while ((most - least) / step > wanted) step *= 2;
  const ticks = [];
  for (let i = Math.floor(least / step); i <= Math.ceil(most / step); ++i) ticks.push(i * step);
  return ticks;
}

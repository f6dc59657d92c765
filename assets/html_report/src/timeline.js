// What was live over time, with the peak and the program's markers; below it how much was allocated.
import { bisector, max } from 'd3-array';
import { scaleLinear } from 'd3-scale';
import { pointer } from 'd3-selection';
import { area, line } from 'd3-shape';
import { addBottomAxis, addValueAxis, chartIn } from './chart.js';
import { byId, element, hideTip, showTip } from './dom.js';
import { METRICS } from './metrics.js';
import { bytes, count, moment, seconds } from './units.js';

/** `showPeak()` shows who held the memory at the peak. */
export function drawTimeline(view, showPeak) {
  const { timeline = [], markers = [], peak } = view.report.about;
  const section = byId('timeline');
  if (timeline.length < 2) {
    section.replaceChildren(element('p', { class: 'empty' },
      `This report has no timeline: no points in time were recorded. ${peakText(view.report.about)}`));
    return;
  }
  const start = timeline[0].time_ns;
  const points = timeline.map((point, i) => ({
    ...point, at: (point.time_ns - start) / 1e9,
    rate: i === 0 ? 0 : rate(timeline[i - 1], point),
  }));
  const [live, rates] = [element('div', { class: 'chart' }), element('div', { class: 'chart', style: 'flex:0.5' })];
  const hasPeak = view.report.metrics.includes(METRICS.find(({ key }) => key === 'peak_bytes'));
  const hasResident = view.resident ?? isComparable(points);
  section.replaceChildren(
    element('div', {}, element('h2', {}, 'Live bytes over time '), legend(view, hasResident),
      hasPeak ? element('button', { onclick: showPeak, style: 'float:right' }, 'Who held it at the peak?') : null),
    element('p', { class: 'soft' }, `${peakText(view.report.about, start)} ${count(points.length)} points over ${seconds(points.at(-1).at)} since ${moment(start)}.`),
    live, element('h2', {}, 'Allocations per second'), rates);
  const x = (chart) => scaleLinear().domain([0, points.at(-1).at]).range([0, chart.width]);
  drawLive(chartIn(live), x, points, markers.map((marker) => ({ ...marker, at: (marker.time_ns - start) / 1e9 })),
           peak?.time_ns > 0 ? { ...peak, at: (peak.time_ns - start) / 1e9 } : null, hasResident);
  drawRates(chartIn(rates), x, points);
}

/** `start`: nanoseconds since the Unix epoch. */
function peakText({ totals, peak, program }, start) {
  const after = (time) => (start === undefined ? moment(time) : `after ${seconds((time - start) / 1e9)}`);
  const when = peak?.time_ns > 0 ? ` (${after(peak.time_ns)})` : '';
  return `The most that was live at once: ${bytes(totals.peak_live_bytes)}${when}; at the end (${after(program.time_ns)}): ${bytes(totals.live_bytes)}.`;
}

function rate(from, to) {
  const time = (to.time_ns - from.time_ns) / 1e9;
  return time > 0 ? (to.allocations - from.allocations) / time : 0;
}

/** Whether what is live can be seen beside what is resident. */
function isComparable(points) {
  return max(points, (p) => p.resident_bytes) < 4 * max(points, (p) => p.live_bytes);
}

function legend(view, hasResident) {
  const entry = (colour, ...texts) => element('label', { style: 'margin-right:12px;color:var(--soft)' },
    element('i', { style: `display:inline-block;width:14px;height:4px;background:${colour};vertical-align:3px;margin-right:5px` }), ...texts);
  const box = element('input', { type: 'checkbox', style: 'vertical-align:-2px' });
  box.checked = hasResident;
  box.onchange = () => view.set({ resident: box.checked });
  return element('span', {}, entry('#3d7edb', 'live bytes'),
    entry('#8a94a3', box, ' resident memory of the process (RSS), the tracker\'s too'));
}

function drawLive(chart, xOf, points, markers, peak, hasResident) {
  const x = xOf(chart);
  const most = Math.max(max(points, (p) => (hasResident ? p.resident_bytes : 0)),
    max(points, (p) => p.live_bytes), peak?.live_bytes ?? 0);
  const y = addValueAxis(chart, 0, most, bytes);
  addBottomAxis(chart, x, (axis) => axis.ticks(8).tickFormat(seconds));
  chart.group.append('path').datum(points).attr('fill', '#c9dcf6').attr('stroke', '#3d7edb').attr('stroke-width', 1.5)
    .attr('d', area().x((p) => x(p.at)).y0(chart.height).y1((p) => y(p.live_bytes)));
  chart.group.append('path').datum(hasResident ? points : []).attr('fill', 'none').attr('stroke', '#8a94a3').attr('stroke-width', 1.5)
    .attr('d', line().x((p) => x(p.at)).y((p) => y(p.resident_bytes)));
  drawMarkers(chart, x, markers);
  if (peak !== null) drawPeak(chart, x(peak.at), y(peak.live_bytes), peak);
  listen(chart, x, points);
}

function drawMarkers(chart, x, markers) {
  const group = chart.group.append('g').selectAll('g').data(markers).join('g')
    .attr('transform', ({ at }) => `translate(${x(at)},0)`);
  group.append('line').attr('y2', chart.height).attr('stroke', '#9a4b00').attr('stroke-dasharray', '4 3');
  group.append('text').attr('transform', 'rotate(90)').attr('x', 4).attr('y', -4).style('fill', '#9a4b00')
    .text(({ name }) => name);
}

function drawPeak(chart, x, y, peak) {
  const isRight = x > chart.width - 140;
  chart.group.append('circle').attr('cx', x).attr('cy', y).attr('r', 4.5).attr('fill', '#b3261e');
  chart.group.append('text').attr('x', x + (isRight ? -9 : 9)).attr('y', y - 5).style('fill', '#b3261e')
    .attr('text-anchor', isRight ? 'end' : 'start').text(`peak ${bytes(peak.live_bytes)}`);
}

function drawRates(chart, xOf, points) {
  const x = xOf(chart);
  const y = addValueAxis(chart, 0, max(points, (p) => p.rate), count);
  addBottomAxis(chart, x, (axis) => axis.ticks(8).tickFormat(seconds));
  chart.group.append('g').selectAll('rect').data(points.slice(1)).join('rect').attr('fill', '#7fb58d')
    .attr('x', (_, i) => x(points[i].at)).attr('width', (p, i) => Math.max(x(p.at) - x(points[i].at) - 0.3, 0.3))
    .attr('y', (p) => y(p.rate)).attr('height', (p) => chart.height - y(p.rate));
  listen(chart, x, points);
}

/** Tells the numbers of the point nearest to the mouse. */
function listen(chart, x, points) {
  const { center } = bisector((p) => p.at);
  const cursor = chart.group.append('line').attr('y2', chart.height).attr('stroke', '#1c2430').attr('opacity', 0);
  chart.group.append('rect').attr('width', chart.width).attr('height', chart.height).attr('fill', 'transparent')
    .on('mousemove', (event) => {
      const point = points[center(points, x.invert(pointer(event)[0]))];
      cursor.attr('opacity', 0.4).attr('x1', x(point.at)).attr('x2', x(point.at));
      showTip(event, element('b', {}, seconds(point.at)),
        element('div', {}, `${bytes(point.live_bytes)} live in ${count(point.live_allocations)} blocks`),
        element('div', {}, `${bytes(point.resident_bytes)} resident`),
        element('div', {}, `${count(Math.round(point.rate))} allocations per second; ${count(point.allocations)} since the start`));
    })
    .on('mouseleave', () => { cursor.attr('opacity', 0); hideTip(); });
}

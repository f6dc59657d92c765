// All stacks as a table that is sorted by any column; only the rows in sight are elements.
import { byId, element } from './dom.js';
import { frameItem } from './frames.js';
import { count, signed } from './units.js';

const ROW = 25;
/** Rows above and below those in sight. */
const SPARE = 8;
/** Frames named in a row; the detail has all. */
const NAMED = 12;

export class StackTable {
  constructor(view) {
    this.view = view;
    this.sort = { metric: view.metric, ascending: false };
    this.selected = -1;
    this.rows = [];
    byId('table-scroll').scrollTop = 0;
    byId('detail').hidden = true;
    view.onChange((change) => {
      if ('metric' in change) this.sort = { metric: view.metric, ascending: false };
      this.draw();
    });
  }

  /** Sorts, and draws the part in sight. */
  draw() {
    if (this.view.tab !== 'stacks') return;
    this.rows = this.sorted();
    const { size } = this.view.report;
    byId('stack-count').textContent = this.view.found === null
      ? `${count(size)} stacks, what allocated first, then its callers. Click one for all of its frames; click a heading to sort.`
      : `${count(this.rows.length)} of ${count(size)} stacks have a frame that was searched for: ${this.view.show(this.view.totalFound())} of ${this.view.show(this.view.total())}`;
    this.drawHead();
    this.drawRows();
    if (this.selected >= 0) this.drawDetail();
  }

  sorted() {
    const numbers = this.view.numbers(this.sort.metric);
    const { found, isDifference } = this.view;
    const rows = [];
    for (let s = 0; s < numbers.length; ++s) if (found === null || found.stacks[s]) rows.push(s);
    const size = isDifference && !this.sort.ascending ? Math.abs : (number) => number;
    const sign = this.sort.ascending ? 1 : -1;
    return rows.sort((a, b) => sign * (size(numbers[a]) - size(numbers[b])) || a - b);
  }

  /** The greatest first; the other way round where it is sorted so already. */
  sortBy(metric) {
    this.sort = { metric, ascending: metric === this.sort.metric && !this.sort.ascending };
    byId('table-scroll').scrollTop = 0;
    this.draw();
  }

  /** Few stacks map memory, so that column stands there on request. */
  columns() {
    const { report, metric } = this.view;
    return report.metrics.filter((one) => one.of !== 'mappings' || one === metric);
  }

  drawHead() {
    const cells = this.columns().map((metric) => {
      const isSorted = metric === this.sort.metric;
      return element('th', {
        scope: 'col', title: metric.meaning, style: 'width:84px',
        'aria-sort': isSorted ? (this.sort.ascending ? 'ascending' : 'descending') : null,
        onclick: () => this.sortBy(metric),
      }, metric.name);
    });
    byId('table-scroll').querySelector('thead').replaceChildren(
      element('tr', {}, ...cells, element('th', { class: 'text', scope: 'col' }, 'Stack')));
  }

  drawRows() {
    const scroll = byId('table-scroll');
    const first = Math.max(0, Math.floor(scroll.scrollTop / ROW) - SPARE);
    const last = Math.min(this.rows.length, Math.ceil((scroll.scrollTop + scroll.clientHeight) / ROW) + SPARE);
    const filler = (rows) => element('tr', { style: `height:${rows * ROW}px` });
    scroll.querySelector('tbody').replaceChildren(
      filler(first), ...this.rows.slice(first, last).map((s) => this.row(s)),
      filler(this.rows.length - last));
  }

  row(s) {
    const { view } = this;
    const cells = this.columns().map((metric) => {
      const number = view.numbers(metric)[s];
      const sign = number === 0 ? 'zero' : !view.isDifference ? null : number > 0 ? 'up' : 'down';
      return element('td', { class: sign, title: count(number) }, view.show(number, metric));
    });
    const [leaf, ...callers] = this.names(s);
    const stack = element('td', { class: 'text' }, leaf,
      element('span', { class: 'from' }, callers.map((caller) => ` ← ${caller}`).join('')));
    return element('tr', {
      'aria-selected': String(s === this.selected), 'data-stack': s, onclick: () => this.select(s),
    }, ...cells, stack);
  }

  names(s) {
    const { report } = this.view;
    const places = report.flat.subarray(report.start[s], Math.min(report.start[s] + NAMED, report.start[s + 1]));
    return Array.from(places, (place) => report.labels.text[report.places.label[place]]);
  }

  select(s) {
    this.selected = s;
    this.drawRows();
    this.drawDetail();
  }

  drawDetail() {
    const { view, selected } = this;
    const { report } = view;
    const frames = Array.from(
      report.flat.subarray(report.start[selected], report.start[selected + 1]),
      (place) => this.frame(place));
    const detail = byId('detail');
    detail.hidden = false;
    detail.replaceChildren(
      element('h2', {}, `Stack of ${frames.length} frame${frames.length === 1 ? '' : 's'}`),
      element('p', { class: 'soft' }, 'What allocated comes first, its callers below.'),
      element('table', {}, ...report.metrics.map((metric) => this.detailRow(metric))),
      element('ol', {}, ...frames));
  }

  detailRow(metric) {
    const { report, isDifference } = this.view;
    const after = report.values[metric.key][this.selected];
    const exact = metric.show === count ? '' : ` (${count(after)})`;
    const before = isDifference ? report.base[metric.key][this.selected] : 0;
    const text = isDifference
      ? `${metric.show(before)} → ${metric.show(after)} (${signed(metric.show)(after - before)})`
      : metric.show(after) + exact;
    return element('tr', {}, element('td', { class: 'soft' }, metric.name), element('td', {}, text));
  }

  frame(place) {
    const { report, found } = this.view;
    return frameItem(report, place, found !== null && found.labels[report.places.label[place]]);
  }
}

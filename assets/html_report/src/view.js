// What the reader has chosen to see, and the numbers for it. Every part of the page listens to it.
import { CallTree } from './call_tree.js';
import { search } from './search.js';
import { signed } from './units.js';

export class View {
  constructor(report) {
    this.report = report;
    this.metric = report.metrics[0];
    this.leafFirst = false;
    /** Of a difference: 'change', or 'both' for what was there before or after. */
    this.widths = 'change';
    this.query = '';
    this.found = null;
    this.tab = 'flame';
    this.listeners = [];
    this.kept = new Map();
  }

  get isDifference() {
    return this.report.base !== undefined;
  }

  /** Changes what is shown, and tells everybody. */
  set(change) {
    if ('query' in change) this.found = search(this.report, change.query);
    Object.assign(this, change);
    for (const listener of this.listeners) listener(change);
  }

  onChange(listener) {
    this.listeners.push(listener);
  }

  keep(name, make) {
    if (!this.kept.has(name)) this.kept.set(name, make());
    return this.kept.get(name);
  }

  /** The numbers of the stacks; of a difference, how much they grew. */
  numbers(metric = this.metric) {
    const { values, base } = this.report;
    if (!this.isDifference) return values[metric.key];
    return this.keep(`numbers ${metric.key}`, () =>
      values[metric.key].map((value, s) => value - base[metric.key][s]));
  }

  /** How wide stacks are in the flame graph; none is negative. */
  weights() {
    if (!this.isDifference) return this.numbers();
    const { values, base } = this.report;
    const { key } = this.metric;
    return this.keep(`weights ${key} ${this.widths}`, () =>
      values[key].map((value, s) =>
        (this.widths === 'change' ? Math.abs(value - base[key][s]) : Math.max(value, base[key][s]))));
  }

  tree(leafFirst = this.leafFirst) {
    return this.keep(`tree ${leafFirst}`, () => new CallTree(this.report, leafFirst));
  }

  /** The numbers of the nodes of the tree: `widths`, and what to say of them. */
  sums() {
    const tree = this.tree();
    const name = `${this.leafFirst} ${this.metric.key}`;
    const numbers = this.keep(`sums ${name}`, () => tree.sum(this.numbers()));
    if (!this.isDifference) return { widths: numbers, numbers };
    return { numbers, widths: this.keep(`widths ${name} ${this.widths}`, () => tree.sum(this.weights())) };
  }

  total(metric = this.metric) {
    return this.keep(`total ${metric.key}`, () => this.numbers(metric).reduce((a, b) => a + b, 0));
  }

  /** The sum over the stacks that the search found. */
  totalFound() {
    const numbers = this.numbers();
    return this.found.stacks.reduce((sum, found, s) => (found ? sum + numbers[s] : sum), 0);
  }

  /** A number of the metric as text, with its sign in a difference. */
  show(number, metric = this.metric) {
    return (this.isDifference ? signed(metric.show) : metric.show)(number);
  }
}

// One colour for each module; in a difference, red for what grew and blue for what shrank.
import { rgb } from 'd3-color';
import { scaleLinear } from 'd3-scale';
import { element } from './dom.js';
import { baseName } from './report.js';

const PALETTE = ['#f2b48c', '#9fc5e8', '#f7d774', '#b6d7a8', '#d5a6e0', '#8fd3c8', '#f4a6b7', '#c9c27a'];
const OTHERS = '#d5d9df';
/** Neighbours in one module can be told apart by these. */
const SHADES = [-0.12, 0, 0.12, 0.24];
export const FOUND = '#ff6ad5';

const change = scaleLinear().domain([-1, 0, 1]).range(['#4f8fe6', '#eceff3', '#ee5a4f']).clamp(true);

/** The modules whose code allocates most in the shown metric come first. */
function ranking(view) {
  const { report } = view;
  const sums = new Map();
  const weights = view.weights();
  for (let s = 0; s < report.size; ++s) {
    const module = report.labels.module[report.places.label[report.flat[report.start[s]]]];
    if (module >= 0) sums.set(module, (sums.get(module) ?? 0) + weights[s]);
  }
  return [...sums].sort((a, b) => b[1] - a[1]).map(([module]) => module);
}

export class Colours {
  /** Colours stay the same while a report is shown, whatever metric is chosen. */
  constructor(view) {
    this.view = view;
    this.made = new Map();
    this.ofModule = new Map(
      ranking(view).slice(0, PALETTE.length).map((module, i) => [module, PALETTE[i]]));
  }

  of(node, tree, { widths, numbers }) {
    if (this.view.isDifference) return change(widths[node] > 0 ? numbers[node] / widths[node] : 0);
    if (node === 0) return OTHERS;
    const label = tree.label[node];
    return this.shades(this.ofModule.get(this.view.report.labels.module[label]) ?? OTHERS)[label % SHADES.length];
  }

  shades(colour) {
    if (!this.made.has(colour)) {
      this.made.set(colour, SHADES.map((shade) => rgb(colour).darker(shade).formatHex()));
    }
    return this.made.get(colour);
  }

  legend() {
    const entry = (colour, text) => element('span', {}, element('i', { style: `background:${colour}` }), text);
    if (this.view.isDifference) {
      return [entry(change(1), 'grew'), entry(change(0), 'as before'), entry(change(-1), 'shrank')];
    }
    const modules = [...this.ofModule].slice(0, 4).map(([module, colour]) =>
      entry(colour, baseName(this.view.report.about.modules[module].path)));
    return [...modules, entry(OTHERS, this.ofModule.size > 4 ? '…' : 'other')];
  }
}

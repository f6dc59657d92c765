// The flame graph, drawn on a canvas: an element for each frame would be too slow.
import { hierarchy, partition } from 'd3-hierarchy';
import { Colours, FOUND } from './colours.js';
import { byId, element, hideTip, press, pressable, showTip } from './dom.js';
import { baseName } from './report.js';
import { percent } from './units.js';

const ROW = 18;
/** Frames that would be narrower are left out, in pixels. */
const NARROWEST = 0.75;
const FONT = '11px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace';
/** Browsers draw no canvas that is higher, in device pixels. */
const HIGHEST = 16000;

export class FlameGraph {
  constructor(view) {
    this.view = view;
    this.focus = 0;
    this.colours = new Colours(view);
    this.canvas = byId('flame-canvas');
    this.scroll = byId('flame-scroll');
    view.onChange((change) => {
      if ('leafFirst' in change) this.focus = 0;
      this.draw();
    });
  }

  /** Lays out the focused frame over the whole width, and what is below it. */
  layOut(width) {
    const tree = this.view.tree();
    const sums = this.view.sums();
    const least = (NARROWEST * sums.widths[this.focus]) / width;
    const root = hierarchy(this.focus, (node) => tree.children(node, sums.widths, least || Infinity));
    root.each((one) => { one.value = sums.widths[one.data]; });
    partition().size([width, root.height + 1])(root);
    const above = this.focus === 0 ? [] : [0, ...tree.path(this.focus).slice(0, -1)];
    this.frames = above.map((node, row) => ({ node, row, x: 0, width, isAbove: true }));
    for (const one of root.descendants()) {
      this.frames.push({ node: one.data, row: one.depth + above.length, x: one.x0, width: one.x1 - one.x0 });
    }
    return { tree, sums, rows: above.length + root.height + 1 };
  }

  draw() {
    if (this.view.tab !== 'flame') return;
    const width = Math.max(this.scroll.clientWidth - 32, 200);
    const { tree, sums, rows } = this.layOut(width);
    const scale = Math.min(devicePixelRatio || 1, HIGHEST / (rows * ROW));
    this.canvas.width = width * scale;
    this.canvas.height = rows * ROW * scale;
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${rows * ROW}px`;
    const context = this.canvas.getContext('2d');
    context.scale(scale, scale);
    context.font = FONT;
    context.textBaseline = 'middle';
    const letter = context.measureText('m').width;
    for (const frame of this.frames) this.drawFrame(context, frame, tree, sums, letter);
    this.describe(tree, sums);
  }

  drawFrame(context, { node, row, x, width, isAbove }, tree, sums, letter) {
    const { found } = this.view;
    const isFound = found !== null && node !== 0 && found.labels[tree.label[node]];
    context.globalAlpha = isAbove ? 0.55 : found !== null && !isFound ? 0.4 : 1;
    context.fillStyle = isFound ? FOUND : this.colours.of(node, tree, sums);
    context.fillRect(x, row * ROW, width > 2 ? width - 1 : width, ROW - 1);
    const room = Math.floor((width - 7) / letter);
    if (room < 3) return;
    const text = tree.text(node);
    context.globalAlpha = 1;
    context.fillStyle = '#1c2430';
    context.fillText(text.length > room ? `${text.slice(0, room - 1)}…` : text, x + 4, row * ROW + ROW / 2);
  }

  /** Says what is selected, and how much of it the search found. */
  describe(tree, sums) {
    const { view } = this;
    const parts = [`Selected: ${tree.text(this.focus)} – ${view.show(sums.numbers[this.focus])}`];
    if (this.focus !== 0) parts.push(`, ${percent(sums.widths[this.focus], sums.widths[0])} of all`);
    if (view.found !== null) {
      const sum = view.totalFound();
      parts.push(`; found: ${view.show(sum)}`);
      if (!view.isDifference) parts.push(`, ${percent(sum, view.total())}`);
    }
    if (sums.widths[0] === 0) parts.push('; there is nothing to show');
    else if (this.focus === 0 && view.found === null) parts.push('. Click a frame to zoom.');
    const selected = byId('selected');
    selected.textContent = parts.join('');
    selected.title = selected.textContent;
    byId('reset').disabled = this.focus === 0;
    byId('legend').replaceChildren(...this.colours.legend());
    press(byId('direction'), 'leafFirst', view.leafFirst);
    press(byId('widths'), 'width', view.widths);
    byId('widths').hidden = !view.isDifference;
  }

  frameAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = event.clientX - box.left;
    const row = Math.floor((event.clientY - box.top) / ROW);
    return this.frames.find((frame) =>
      frame.row === row && frame.x <= x && x < frame.x + Math.max(frame.width, 1));
  }

  zoom(node) {
    this.focus = node;
    hideTip();
    this.draw();
  }

  tip(event) {
    const frame = this.frameAt(event);
    this.canvas.style.cursor = frame ? 'pointer' : 'default';
    if (!frame) return hideTip();
    const { view } = this;
    const tree = view.tree();
    const { numbers, widths } = view.sums();
    const { node } = frame;
    const inner = tree.children(node, widths, -Infinity).reduce((sum, child) => sum + numbers[child], 0);
    const module = node === 0 ? -1 : view.report.labels.module[tree.label[node]];
    const lines = [element('b', {}, tree.text(node))];
    if (module >= 0) lines.push(element('div', { class: 'soft' }, `in ${baseName(view.report.about.modules[module].path)}`));
    lines.push(element('div', {}, `${view.metric.name}: ${view.show(numbers[node])}`,
      view.isDifference ? '' : ` – ${percent(numbers[node], numbers[0])} of all`));
    if (numbers[node] !== inner && node !== 0) {
      lines.push(element('div', { class: 'soft' }, `not in frames below: ${view.show(numbers[node] - inner)}`));
    }
    showTip(event, ...lines);
  }

  /** With the arrow keys: to the caller, or to the widest frame below. */
  step(event) {
    const tree = this.view.tree();
    if (event.key === 'ArrowUp' && this.focus !== 0) this.zoom(tree.parent[this.focus]);
    else if (event.key === 'ArrowDown') {
      const [widest] = tree.children(this.focus, this.view.sums().widths, Number.MIN_VALUE);
      if (widest !== undefined) this.zoom(widest);
    } else if (event.key === 'Home' || event.key === 'Escape') this.zoom(0);
    else return;
    event.preventDefault();
  }
}

/** Buttons, mouse and keys act on the flame graph that `current` returns. */
export function listenToFlameGraph(current) {
  pressable(byId('direction'), 'leafFirst', (value) => current().view.set({ leafFirst: value === 'true' }));
  pressable(byId('widths'), 'width', (widths) => current().view.set({ widths }));
  byId('reset').onclick = () => current().zoom(0);
  const canvas = byId('flame-canvas');
  canvas.onmousemove = (event) => current().tip(event);
  canvas.onmouseleave = hideTip;
  canvas.onkeydown = (event) => current().step(event);
  canvas.onclick = (event) => {
    const frame = current().frameAt(event);
    if (frame) current().zoom(frame.node);
  };
}

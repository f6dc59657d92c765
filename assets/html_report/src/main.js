// The page: reads the report that stands in it, or one that is opened or dropped, and shows it.
import { drawModules } from './breakdown.js';
import { compare } from './difference.js';
import { byId, element, press, pressable } from './dom.js';
import { FlameGraph, listenToFlameGraph } from './flame_graph.js';
import { drawGameFrames } from './game_frames.js';
import { drawHeader } from './header.js';
import { METRICS } from './metrics.js';
import { drawMisuse } from './misuse.js';
import { Report } from './report.js';
import { drawSizes } from './sizes.js';
import { StackTable } from './stack_table.js';
import { drawTimeline } from './timeline.js';
import { View } from './view.js';

/** What is shown now; also for the console and for tests. */
const page = { view: null, flame: null, table: null };
window.alloctap = page;

function show(text, baseText) {
  const report = new Report(JSON.parse(text));
  if (baseText.trim() !== '') compare(report, new Report(JSON.parse(baseText)));
  page.view = new View(report);
  // First, because what is hidden cannot be measured.
  page.view.onChange(drawControls);
  page.flame = new FlameGraph(page.view);
  page.table = new StackTable(page.view);
  page.view.onChange(drawOthers);
  drawHeader(report);
  drawMetricButtons(report);
  byId('misuse-tab').hidden = report.misuses.length === 0;
  byId('game-tab').hidden = report.game === null;
  byId('search').value = '';
  page.view.set({ tab: 'flame' });
  // The other direction is ready before somebody asks for it.
  const { view } = page;
  setTimeout(() => view.tree(!view.leafFirst), 50);
}

function fail(error) {
  byId('program').textContent = `The report cannot be shown: ${error.message}`;
  console.error(error);
}

function drawMetricButtons(report) {
  byId('metric-buttons').replaceChildren(
    ...report.metrics.map(({ key, name, meaning }) => element('button', { 'data-metric': key, title: meaning }, name)));
}

function drawControls() {
  const { metric, tab, isDifference } = page.view;
  press(byId('metric-buttons'), 'metric', metric.key);
  byId('meaning').textContent = `${isDifference ? 'change in ' : ''}${metric.meaning}`;
  // Frames have measures of their own.
  byId('metrics').hidden = tab === 'game';
  for (const button of byId('tabs').children) {
    button.setAttribute('aria-selected', String(button.dataset.tab === tab));
    byId(button.dataset.tab).hidden = button.dataset.tab !== tab;
  }
}

function drawOthers() {
  const { view } = page;
  if (view.tab === 'modules') {
    drawModules(view, (text) => { byId('search').value = text; view.set({ query: text, tab: 'stacks' }); });
  }
  if (view.tab === 'misuse') drawMisuse(view);
  if (view.tab === 'game') drawGameFrames(view);
  if (view.tab === 'sizes') drawSizes(view);
  if (view.tab === 'timeline') {
    drawTimeline(view, () => view.set({ metric: METRICS.find(({ key }) => key === 'peak_bytes'), tab: 'flame' }));
  }
}

function listen() {
  pressable(byId('tabs'), 'tab', (tab) => page.view.set({ tab }));
  pressable(byId('metric-buttons'), 'metric', (key) =>
    page.view.set({ metric: METRICS.find((metric) => metric.key === key) }));
  listenToFlameGraph(() => page.flame);
  byId('table-scroll').onscroll = () => page.table.drawRows();
  byId('search').oninput = (event) => {
    try {
      page.view.set({ query: event.target.value });
      event.target.classList.remove('wrong');
    } catch {
      event.target.classList.add('wrong');  // An expression that is not finished.
    }
  };
  window.onresize = () => page.view?.set({});
  byId('show-licences').onclick = () => byId('licences').showModal();
}

/** Files of JSON: to show, or to compare with what is shown. */
function listenToFiles() {
  const input = byId('file');
  let compareWith = false;
  const read = async (file) => {
    try {
      const text = await file.text();
      if (compareWith) return show(shownText, text);
      show(text, '');
      shownText = text;
    } catch (error) {
      fail(error);
    }
  };
  const ask = (asBase) => () => { compareWith = asBase; input.value = ''; input.click(); };
  byId('open').onclick = ask(false);
  byId('compare').onclick = ask(true);
  input.onchange = () => input.files[0] && read(input.files[0]);
  document.body.ondragover = (event) => { event.preventDefault(); document.body.classList.add('drop'); };
  document.body.ondragleave = () => document.body.classList.remove('drop');
  document.body.ondrop = (event) => {
    event.preventDefault();
    document.body.classList.remove('drop');
    compareWith = false;
    if (event.dataTransfer.files[0]) read(event.dataTransfer.files[0]);
  };
}

let shownText = byId('report').textContent;
listen();
listenToFiles();
try {
  show(shownText, byId('base').textContent);
} catch (error) {
  fail(error);
}

// What the frames of a game allocated: the last ones as bars, the worst of all, and budgets.
import { drawBudgets, drawOffences } from './budgets.js';
import { byId, element, press, keepFocus } from './dom.js';
import { drawFrameBars } from './frame_bars.js';
import { drawFrameDetail } from './frame_detail.js';
import { drawFrameHistograms } from './frame_histograms.js';
import { barsOf, MEASURES, pathsOf, worstBy } from './game_measures.js';
import { count } from './units.js';
import { worstTable } from './worst_frames.js';

/**
 * Of the game, `view.gameMeasure` is what is shown, `view.gameFrame` the number of a frame, and
 * `view.gameTag` the path of a tag, or null; `view.gameCut`: bars far above the others are cut.
 */
export function drawGameFrames(view) {
  const { game } = view.report;
  const measure = MEASURES.find(({ key }) => key === view.gameMeasure) ?? MEASURES[0];
  const path = measure.parted ? view.gameTag ?? null : null;
  const bars = view.keep(`bars ${JSON.stringify([measure.key, path])}`, () => barsOf(game, measure, path));
  const worst = worstBy(game, measure);
  const chosen = view.gameFrame ?? worst[0]?.number ?? game.last.at(-1)?.number;
  const choose = (number) => view.set({ gameFrame: number });
  const chooseOffence = (number) => {
    choose(number);
    byId('game-detail').scrollIntoView();
  };
  const chart = element('div', {});
  const histograms = element('div', { id: 'game-histograms' });
  keepFocus(byId('game'), () => {
    byId('game').replaceChildren(
      controls(view, game, measure, path), chart,
      element('div', { id: 'game-parts' },
        element('div', { id: 'game-worst' }, ...worstTable(game, measure, worst, chosen, view)),
        element('div', { id: 'game-detail' }, ...drawFrameDetail(view.report, measure, chosen)),
        element('div', { id: 'game-rest' }, ...drawBudgets(view), histograms, ...drawOffences(view, chooseOffence))));
    drawFrameBars(chart, game, { bars, measure, path, chosen, choose, cut: view.gameCut === true });
    drawFrameHistograms(histograms, game, measure);
  });
}

function controls(view, game, measure, path) {
  const buttons = element('span', { id: 'game-measures', role: 'group', 'aria-label': 'Measure' },
    ...MEASURES.map(({ key, name }) => element('button', {
      'data-measure': key, 'data-focus': key,
      onclick: () => view.set({ gameMeasure: key, gameFrame: undefined }) }, name)));
  press(buttons, 'measure', measure.key);
  const cut = element('input', { type: 'checkbox', 'data-focus': 'cut', onchange: () => view.set({ gameCut: cut.checked }) });
  cut.checked = view.gameCut === true;
  return element('div', { class: 'line' }, buttons, tagChoice(view, game, measure, path),
    element('label', { title: 'Without the highest bars, one in a hundred, the others are higher' }, cut, ' cut the highest bars'),
    element('span', { class: 'soft' }, summary(game)));
}

function tagChoice(view, game, { parted }, path) {
  const select = element('select', {
    id: 'game-tag', 'data-focus': 'tag', disabled: parted ? null : '',
    title: parted ? null : 'Only of the whole program: this does not add up over tags',
    onchange: () => view.set({ gameTag: select.value === '' ? null : select.value.slice(1) }),
  }, element('option', { value: '' }, 'all tags'), ...pathsOf(game).map((one) => element('option', { value: `/${one}` }, one)));
  select.value = path === null ? '' : `/${path}`;
  return element('label', {}, 'of ', select);
}

function summary(game) {
  const shown = game.last.length < game.frames ? `the last ${count(game.last.length)} of ` : '';
  const notes = [`${shown}${count(game.frames)} frames`];
  if (game.refused_marks > 0) notes.push(`${count(game.refused_marks)} marks were refused`);
  if (game.lost_events > 0) notes.push(`${count(game.lost_events)} events are in no frame, for want of memory`);
  if (game.marking_thread_changes > 3) notes.push(`marks came from another thread than the one before ${count(game.marking_thread_changes)} times`);
  return notes.join('; ');
}

// Who allocates: modules, threads, tags and pools.
import { byId, element } from './dom.js';
import { baseName } from './report.js';
import { bytes, count, percent, signed } from './units.js';

/** Per module: stacks whose innermost frame is its code, and stacks with any frame of it. */
function sumModules({ report }, numbers) {
  const size = report.about.modules.length + 1;
  const own = new Float64Array(size);
  const through = new Float64Array(size);
  const lastSeen = new Int32Array(size).fill(-1);
  const moduleOf = (i) => report.labels.module[report.places.label[report.flat[i]]] + 1;
  for (let s = 0; s < report.size; ++s) {
    own[moduleOf(report.start[s])] += numbers[s];
    for (let i = report.start[s]; i < report.start[s + 1]; ++i) {
      const module = moduleOf(i);
      if (lastSeen[module] === s) continue;
      lastSeen[module] = s;
      through[module] += numbers[s];
    }
  }
  return { own, through };
}

/** `searchFor(text)` shows the stacks that match. */
export function drawModules(view, searchFor) {
  const { own, through } = sumModules(view, view.numbers());
  const most = Math.max(...own.map(Math.abs), 1);
  const rows = [...own.keys()]
    .filter((module) => own[module] !== 0 || through[module] !== 0)
    .sort((a, b) => Math.abs(own[b]) - Math.abs(own[a]) || Math.abs(through[b]) - Math.abs(through[a]));
  // A part of a difference may be more than the whole of it.
  const share = view.isDifference ? [] : ['of all'];
  const names = ['Module', 'Allocated by its own code', ...share, '', 'Anywhere in the stack', ...share];
  const body = rows.map((module) => {
    const numberCells = (number) => [view.show(number), ...share.map(() => percent(number, view.total()))]
      .map((text) => element('td', {}, text));
    return moduleRow(view, module, searchFor,
      ...numberCells(own[module]), bar(view, own[module], most), ...numberCells(through[module]));
  });
  byId('modules').replaceChildren(
    element('h2', {}, `Modules: ${view.isDifference ? 'change in ' : ''}${view.metric.name.toLowerCase()}`),
    element('p', { class: 'soft' }, 'Whose code called the allocator, and whose code is anywhere in the stacks. Click a module for its stacks.'),
    element('table', {}, head(names), element('tbody', {}, ...body)),
    ...threads(view.report.about), ...tags(view.report.about), ...pools(view.report.about));
}

/** Module 0 stands for what is in none. */
function moduleRow(view, module, searchFor, ...cells) {
  const { path, build_id: id, unloaded } = view.report.about.modules[module - 1] ?? {};
  const name = path === undefined ? 'in no module, or not known' : baseName(path);
  const attributes = path === undefined ? {} : {
    class: 'go', title: `${path}\nbuild-id ${id ?? 'unknown'}\nClick for its stacks`,
    onclick: () => searchFor(name),
  };
  const state = unloaded ? element('span', { class: 'soft' }, ' (unloaded)') : null;
  return element('tr', attributes, element('td', { class: 'text path' }, name, state), ...cells);
}

function bar(view, number, most) {
  const colour = !view.isDifference ? '#8fb4e8' : number > 0 ? '#ee5a4f' : '#4f8fe6';
  const style = `width:${(100 * Math.abs(number)) / most}%;background:${colour}`;
  return element('td', { class: 'bar' }, element('i', { style }));
}

function head(names) {
  return element('thead', {}, element('tr', {}, ...names.map((name, i) =>
    element('th', { scope: 'col', class: i === 0 ? 'text' : null, style: 'cursor:default' }, name))));
}

/** Which thread holds how much is not known, so threads have numbers of their own. */
function threads({ threads: list }) {
  const title = element('h2', {}, 'Threads');
  if (!list?.length) return [title, element('p', { class: 'soft' }, 'This report does not tell threads apart.')];
  const sorted = [...list].sort((a, b) => b.allocated_bytes - a.allocated_bytes);
  const rows = sorted.map((thread) => element('tr', {},
    element('td', { class: 'text' }, nameOf(thread)),
    element('td', {}, count(thread.allocations)), element('td', {}, bytes(thread.allocated_bytes)),
    element('td', {}, count(thread.temporary_allocations)), element('td', {}, count(thread.deallocations)),
    element('td', {}, signed(bytes)(thread.net_bytes))));
  return [
    title,
    element('p', { class: 'soft' }, 'Since the start of the process, whatever is chosen above; most bytes first. Net: allocated minus freed, whoever had allocated it; negative for a thread that frees what others allocate.'),
    element('table', {}, head(['Thread', 'Allocations', 'Allocated bytes', 'Temporary', 'Frees', 'Net']), element('tbody', {}, ...rows)),
  ];
}

/** What the program was doing, as it says itself. */
function tags({ tags: list }) {
  if (!list?.length) return [];
  const rows = asTree(list).map(({ tag, depth }) => element('tr', {}, tagCell(tag.tag, depth),
    element('td', {}, bytes(tag.live_bytes)), element('td', {}, bytes(tag.live_bytes_with_nested)),
    element('td', {}, count(tag.live_allocations)), element('td', {}, count(tag.allocations)),
    element('td', {}, bytes(tag.allocated_bytes)), element('td', {}, bytes(tag.overhead_bytes ?? 0))));
  return [
    element('h2', {}, 'Tags'),
    element('p', { class: 'soft' }, 'What the program was doing when it allocated. Overhead: what an allocator of that name holds beyond its blocks.'),
    element('table', { id: 'tags' }, head(['Tag', 'Live bytes', 'With tags inside', 'Live blocks', 'Allocations', 'Allocated bytes', 'Overhead']), element('tbody', {}, ...rows)),
  ];
}

/** What the program's own allocators hand out, as it says itself. */
function pools({ pools: known }) {
  if (!known?.pools.length) return [];
  const sorted = [...known.pools].sort((a, b) => b.live_bytes - a.live_bytes);
  const rows = sorted.map((pool) => element('tr', {},
    element('td', { class: 'text' }, pool.name || '(no name)', pool.destroyed ? element('span', { class: 'soft' }, ' (destroyed)') : null),
    element('td', {}, bytes(pool.live_bytes)), element('td', {}, count(pool.live_allocations)),
    element('td', {}, bytes(pool.peak_live_bytes)), element('td', {}, count(pool.allocations)),
    element('td', {}, bytes(pool.allocated_bytes)), element('td', {}, bytes(pool.overhead_bytes))));
  return [
    element('h2', {}, 'Pools'),
    element('p', { class: 'soft' }, 'Their blocks lie in memory that is counted elsewhere. Overhead: what the pool itself holds beside its blocks.'),
    element('table', { id: 'pools' }, head(['Pool', 'Live bytes', 'Live blocks', 'Peak', 'Allocations', 'Allocated bytes', 'Overhead']), element('tbody', {}, ...rows)),
  ];
}

/** Each tag behind the one that it is inside of, with its depth; those beside one another by what they hold. */
function asTree(list) {
  const sorted = [...list].sort((a, b) => b.live_bytes_with_nested - a.live_bytes_with_nested);
  const paths = new Set(list.map(({ tag }) => tag));
  const inside = new Map();
  for (const one of sorted) {
    const outer = outerOf(one.tag, paths);
    inside.set(outer, [...(inside.get(outer) ?? []), one]);
  }
  const walk = (path, depth) => {
    const found = inside.get(path) ?? [];
    // Names with slashes may make a path that there is twice: what is inside of it stands behind the first.
    inside.delete(path);
    return found.flatMap((tag) => [{ tag, depth }, ...walk(tag.tag, depth + 1)]);
  };
  return walk(undefined, 0);
}

/** "Game/Physics/Solver" -> "Game/Physics", or "Game" where that is not in `paths`; undefined where nothing is. */
function outerOf(tag, paths) {
  for (let end = tag?.lastIndexOf('/') ?? -1; end > 0; end = tag.lastIndexOf('/', end - 1)) {
    if (paths.has(tag.slice(0, end))) return tag.slice(0, end);
  }
  return undefined;
}

function tagCell(tag, depth) {
  if (tag === null) return element('td', { class: 'text soft' }, '(no tag)');
  const around = tag.slice(0, tag.lastIndexOf('/') + 1);
  return element('td', { class: 'text', style: `padding-left:${14 + 16 * depth}px` },
    element('span', { class: 'soft' }, around), tag.slice(around.length));
}

function nameOf({ id, name, alive, threads: together }) {
  const state = alive ? '' : ' (ended)';
  return together > 1 ? `${together} threads, the last ${id}${state}` : `${name ?? 'thread'} ${id}${state}`;
}

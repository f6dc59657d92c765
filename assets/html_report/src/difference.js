// Two reports as one: every stack of either, with its numbers before and after.
import { METRICS } from './metrics.js';
import { baseName } from './report.js';

/**
 * Makes `report` show its change since `base`: `report.base[metric][s]` are the numbers before.
 * Stacks are the same where their functions are (or module and offset, where they have no names), so
 * address randomization, restarts and moved lines do not matter.
 */
export function compare(report, base) {
  const places = adopt(report, base);
  const merged = new Map();
  const starts = [0];
  const flat = [];
  const take = (source, s, place, side) => {
    const stack = [];
    for (let i = source.start[s]; i < source.start[s + 1]; ++i) stack.push(place(source.flat[i]));
    const key = stack.map((p) => report.places.label[p]).join();
    let row = merged.get(key);
    if (row === undefined) {
      row = { values: emptyRow(), base: emptyRow() };
      merged.set(key, row);
      for (const p of stack) flat.push(p);
      starts.push(flat.length);
    }
    for (const { key: metric } of METRICS) row[side][metric] += source.values[metric][s];
  };
  for (let s = 0; s < report.size; ++s) take(report, s, (p) => p, 'values');
  for (let s = 0; s < base.size; ++s) take(base, s, (p) => places[p], 'base');

  const rows = [...merged.values()];
  report.start = Int32Array.from(starts);
  report.flat = Int32Array.from(flat);
  for (const side of ['values', 'base']) {
    report[side] = Object.fromEntries(
      METRICS.map(({ key }) => [key, Float64Array.from(rows, (row) => row[side][key])]));
  }
  const shown = new Set([...report.metrics, ...base.metrics]);
  report.metrics = METRICS.filter((metric) => shown.has(metric));
  report.distinct = rows.length;
  report.before = base.about;
}

function emptyRow() {
  return Object.fromEntries(METRICS.map(({ key }) => [key, 0]));
}

/** Adds the places of `base` to those of `report`; their new numbers. */
function adopt(report, base) {
  const modules = base.about.modules.map(({ path }, i) => {
    const same = report.about.modules.findIndex((one) => baseName(one.path) === baseName(path));
    return same >= 0 ? same : report.about.modules.push(base.about.modules[i]) - 1;
  });
  const { label, file, line, inlined } = base.places;
  return label.map((id, p) => {
    const module = base.labels.module[id];
    return report.addPlace(base.labels.text[id], module < 0 ? -1 : modules[module],
                           { file: file[p], line: line[p] }, inlined[p]);
  });
}

// What a reader searches for: a part of a function, file or module, or a /regular expression/.
import { baseName } from './report.js';

/** Which places and labels match; `null` where nothing is searched for. Throws on a bad expression. */
export function search(report, query) {
  if (query.trim() === '') return null;
  const matches = tester(query.trim());
  const modules = report.about.modules.map((module) => matches(baseName(module.path)));
  const ofText = report.labels.text.map((text, i) =>
    matches(text) || (report.labels.module[i] >= 0 && modules[report.labels.module[i]]));
  const files = new Map([[null, false]]);
  const labels = Uint8Array.from(ofText);
  const { label, file } = report.places;
  for (let place = 0; place < label.length; ++place) {
    if (!files.has(file[place])) files.set(file[place], matches(file[place]));
    if (files.get(file[place])) labels[label[place]] = 1;
  }
  return { labels, stacks: stacksWith(report, labels) };
}

function tester(query) {
  const regex = /^\/(.+)\/$/.exec(query);
  const compiled = regex ? new RegExp(regex[1], 'i') : null;
  const wanted = query.toLowerCase();
  return (text) => (compiled ? compiled.test(text) : text.toLowerCase().includes(wanted));
}

/** 1 for every stack with a frame that matches. */
function stacksWith({ start, flat, places, size }, labels) {
  const found = new Uint8Array(size);
  for (let s = 0; s < size; ++s) {
    for (let i = start[s]; i < start[s + 1]; ++i) {
      if (labels[places.label[flat[i]]]) {
        found[s] = 1;
        break;
      }
    }
  }
  return found;
}

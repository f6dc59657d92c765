// A place in the source as an item of a list.
import { element } from './dom.js';
import { baseName } from './report.js';

/** What `place` of the report is called, and where it is; marked where it was searched for. */
export function frameItem(report, place, isFound = false) {
  const { label, file, line, inlined } = report.places;
  const module = report.labels.module[label[place]];
  const where = [];
  if (inlined[place]) where.push('inlined');
  if (file[place] !== null) where.push(line[place] === null ? file[place] : `${file[place]}:${line[place]}`);
  if (module >= 0) where.push(baseName(report.about.modules[module].path));
  return element('li', {},
    element('b', { class: isFound ? 'hit' : null, style: 'font-weight:400' }, report.labels.text[label[place]]),
    element('span', {}, where.join(' · ')));
}

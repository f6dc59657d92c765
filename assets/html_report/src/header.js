// Whose memory it is, how much, and how far the numbers can be trusted.
import { byId, element } from './dom.js';
import { baseName, faultsOf } from './report.js';
import { bytes, count, moment, percent, signed } from './units.js';

export function drawHeader({ about, before, distinct }) {
  const { program, backend } = about;
  const name = baseName(program.executable) || 'unknown program';
  document.title = `${name} – ${before ? 'heap difference' : 'heap report'}`;
  document.querySelector('h1').textContent = before ? 'Heap difference' : 'Heap report';
  const since = before ? ` · compared with ${baseName(before.program.executable)}, process ${before.program.pid}, ${moment(before.program.time_ns)}` : '';
  byId('program').title = `${program.executable}\n${program.arguments.join(' ')}`;
  byId('program').replaceChildren('of ', element('b', {}, name),
    `, process ${program.pid}, taken ${moment(program.time_ns)}${since}`);
  byId('account').replaceChildren(...account(about, before));
  byId('totals').replaceChildren(...totals(about.totals, before?.totals, distinct));
  byId('made-by').textContent =
    `alloctap ${backend.alloctap} · hook ${backend.hook} · stacks ${backend.stack}, up to ${backend.max_frames} frames · names ${backend.symbolizer} · KiB, MiB, … are powers of 1024`;
}

function totals(now, before, distinct) {
  const card = (title, text, note) => element('div', {},
    element('dt', {}, title), element('dd', {}, text), element('dd', {}, note));
  const change = (key, show) => (before ? signed(show)(now[key] - before[key]) : show(now[key]));
  return [
    card('Live', change('live_bytes', bytes), `${change('live_allocations', count)} blocks`),
    card('Peak', bytes(now.peak_live_bytes), before ? `before ${bytes(before.peak_live_bytes)}` : 'most live at once'),
    card('Allocated', change('allocated_bytes', bytes), `${change('allocations', count)} allocations`),
    card('Temporary', before ? change('temporary_allocations', count) : percent(now.temporary_allocations, now.allocations),
         before ? 'allocations' : `${count(now.temporary_allocations)} of them`),
    card('Stacks', count(distinct), before ? 'before or after' : 'distinct'),
  ];
}

function account(about, before) {
  const all = [...badges(about)];
  if (before) all.push(...badges(before).filter(({ kind }) => kind === 'warn').map((one) => ({ ...one, text: `Before: ${one.text}` })));
  return all.map(({ kind, text, meaning }) => element('span', { class: `badge ${kind}`, title: meaning }, text));
}

/** Reports from before there were rules about misuse have leaks alone. */
const ruleText = ({ subject = 'leak', only, pattern, source, line }) =>
  `${only ? 'only-' : ''}${subject}:${pattern} (${source}:${line})`;

function badges({ account: numbers, sampling, backend, leaks, misuses }) {
  const list = [];
  const warn = (number, text, meaning) => {
    if (number) list.push({ kind: 'warn', text: `${count(number)} ${text}`, meaning });
  };
  if (!sampling.exact) {
    list.push({
      kind: 'warn', text: `Estimated from ${count(sampling.live_samples)} samples, live bytes ± ${bytes(sampling.live_bytes_margin)}`,
      meaning: `Not every allocation was recorded (${sampling.policy}${sampling.mean_bytes ? `, about one sample in ${bytes(sampling.mean_bytes)}` : ''}); the margin holds with a probability of 95 %.`,
    });
  }
  warn(numbers.dropped, 'events lost', 'The system had no memory for them: numbers are too small or too large by these.');
  warn(numbers.failed_unwinds, 'stacks may end too early', 'Captures whose walk ended before the outermost frame.');
  warn(numbers.truncated_stacks, `stacks cut at ${backend.max_frames} frames`, 'Captures that were deeper than the limit.');
  warn(numbers.unseen_frees, 'frees not seen', 'Blocks found gone because their address was handed out again.');
  warn(numbers.pauses, 'pauses', 'Recording was paused; what was allocated meanwhile is in no number.');
  const faults = faultsOf({ misuses }).length;
  warn(faults, `${faults === 1 ? 'fault' : 'faults'} in the use of memory`, 'What checks found; the tab Misuse tells of each.');
  if (!numbers.consistent) list.push({ kind: 'warn', text: 'A thread was stopped in the tracker', meaning: 'Numbers may be off by its event.' });
  if (list.length === 0) {
    list.push({ kind: 'good', text: 'Exact: every allocation, nothing lost, all stacks whole', meaning: `${count(numbers.events)} events` });
  }
  if (numbers.unmatched_frees) {
    list.push({ kind: 'plain', text: `${count(numbers.unmatched_frees)} frees of unknown blocks`, meaning: 'For example of blocks that were allocated before the tracker started.' });
  }
  const expected = misuses?.suppressed?.ways ?? 0;
  if (expected > 0) {
    list.push({ kind: 'plain', text: `${count(expected)} ${expected === 1 ? 'fault' : 'faults'} suppressed`, meaning: 'What rules say is expected; the JSON report has all of it.' });
  }
  const rules = [...(leaks?.rules ?? []), ...(misuses?.rules ?? [])];
  const unused = rules.filter((rule) => (rule.stacks ?? rule.ways) === 0);
  if (unused.length > 0) {
    list.push({ kind: 'plain', text: `${unused.length} of ${rules.length} suppressions matched nothing`, meaning: unused.map(ruleText).join('\n') });
  }
  list.push({ kind: 'plain', text: `${bytes(numbers.tracker_bytes)} held by the tracker itself`, meaning: 'Address space that the tracker holds for itself; in none of the other numbers.' });
  if (backend.unseen) list.push({ kind: 'plain', text: `not seen: ${backend.unseen}`, meaning: `What the hook cannot see: ${backend.unseen}` });
  return list;
}

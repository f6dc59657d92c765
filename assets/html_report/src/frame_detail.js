// One frame of a game: its numbers, its tags, its slowest call, and the stacks that made it so.
import { element } from './dom.js';
import { frameItem } from './frames.js';
import { bytes, count, duration } from './units.js';

const CAUSES = {
  page_faults: 'page faults', wait: 'it waited, as for a lock', preempted: 'others had its processor',
  size: 'its size', unknown: 'not known',
};

/** Stacks stand below the table of tags. */
const MOST_TAGS = 12;

const calls = (number) => `${count(number)} allocation${number === 1 ? '' : 's'}`;

/** Of the frame with that number: of the worst ones with stacks, of others by tag alone. */
export function drawFrameDetail(report, measure, number) {
  const { game } = report;
  if (number === undefined) return [element('p', { class: 'empty' }, 'No frame has ended.')];
  const known = game.worst.filter((frame) => frame.number === number);
  const listedBy = measure.listed ? measure.key : 'allocated_bytes';
  const worst = known.find((frame) => frame.measure === listedBy) ?? known[0];
  const last = game.last.find((frame) => frame.number === number);
  const frame = worst ?? last;
  if (frame === undefined) return [titleOf(number), element('p', { class: 'soft' }, missing(game, number))];
  const numbers = element('p', {}, `${bytes(frame.allocated_bytes)} in ${calls(frame.allocations)}, ${count(frame.deallocations)} frees of ${bytes(frame.freed_bytes)}; it lasted ${duration(frame.duration_ns)}, its threads were in the allocator for about ${duration(frame.allocator_ns)}.${heldBy(last)}`);
  const parts = [titleOf(number), numbers, ...tagsOf(game, last, measure)];
  if (worst === undefined) {
    return [...parts, element('p', { class: 'soft' }, 'Stacks are kept of the worst frames alone.')];
  }
  return [...parts, ...slowest(report, worst.slowest_call), ...stacksOf(report, worst)];
}

function titleOf(number) {
  return element('h2', {}, number === 0 ? 'Before the first frame' : `Frame ${count(number)}`);
}

function missing(game, number) {
  if (number === 0) return 'What came before the first mark is of no frame.';
  return number > game.frames ? 'It had not ended when the report was made.' : 'It is neither one of the last frames nor of the worst.';
}

function heldBy(last) {
  if (!last) return '';
  return ` ${bytes(last.held_bytes)} were held at its end, ${bytes(last.peak_bytes)} at the peak.`;
}

function tagsOf(game, frame, measure) {
  if (!frame || frame.tags.length < 2) return [];
  const key = measure.parted ? measure.key : 'allocated_bytes';
  const left = frame.tags.length - MOST_TAGS;
  const rows = [...frame.tags].sort((a, b) => b[key] - a[key]).slice(0, MOST_TAGS).map((one) =>
    element('tr', {}, element('td', { class: 'text' }, game.tagName(one.tag)),
      ...[bytes(one.allocated_bytes), count(one.allocations), duration(one.allocator_ns), bytes(one.held_bytes)].map((text) => element('td', {}, text))));
  return [element('table', {}, element('thead', {}, element('tr', {}, ...['Tag', 'Allocated', 'Allocations', 'In the allocator', 'Holds'].map((name, i) =>
    element('th', { scope: 'col', class: i === 0 ? 'text' : null, style: 'cursor:default' }, name)))), element('tbody', {}, ...rows)),
    ...(left > 0 ? [element('p', { class: 'soft' }, `${count(left)} more tag${left === 1 ? '' : 's'} did less.`)] : [])];
}

function slowest(report, call) {
  if (call === null) return [];
  const tag = call.tag === null ? '' : ` in ${call.tag}`;
  const text = `Slowest call: ${call.call} of ${bytes(call.bytes)}${tag} took ${duration(call.duration_ns)}; why: ${CAUSES[call.cause] ?? call.cause}${counted(call)}`;
  if (call.places.length === 0) return [element('p', {}, text)];
  return [element('details', { id: 'slowest-call', class: 'soft' }, element('summary', {}, text), placesOf(report, call))];
}

/** What was counted in a call, as far as there was some. */
function counted({ page_faults: faults, waits, preemptions }) {
  const known = [[faults, 'page fault'], [waits, 'wait'], [preemptions, 'preemption']]
    .filter(([number]) => number > 0);
  return known.length === 0 ? '' : ` (${known.map(([number, name]) => `${count(number)} ${name}${number === 1 ? '' : 's'}`).join(', ')})`;
}

function placesOf(report, { places }) {
  if (places.length === 0) return element('p', { class: 'soft' }, 'Its stack is not known.');
  return element('ol', {}, ...places.map((place) => frameItem(report, place)));
}

function amounts({ allocated_bytes: size, allocations, allocator_ns: time }) {
  return `${bytes(size)} in ${calls(allocations)}${time > 0 ? `, about ${duration(time)} in the allocator` : ''}`;
}

function stacksOf(report, { stacks, other_stacks: others }) {
  const parts = stacks.map((stack, i) => {
    const tag = stack.tag === null ? '' : ` · ${stack.tag}`;
    return element('details', { open: i === 0 ? '' : null },
      element('summary', {}, element('h3', {}, `${amounts(stack)}${tag}`)), placesOf(report, stack));
  });
  if (!others || others.allocations + others.allocator_ns === 0) return parts;
  return [...parts, element('h3', { class: 'rest' }, `All other stacks: ${amounts(others)}`)];
}

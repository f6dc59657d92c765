// Faults that checks found: what each is, and the stacks of the fault, the allocation and the free.
import { byId, element } from './dom.js';
import { frameItem } from './frames.js';
import { count, seconds } from './units.js';

const NAMES = {
  double_free: 'double free',
  unknown_pointer: 'free of an unknown address',
  interior_pointer: 'free of an address inside a block',
  mismatched_release: 'mismatched release',
  wrong_size: 'release with a wrong size',
  wrong_alignment: 'release with a wrong alignment',
  wrong_heap: 'release to another heap',
  write_before: 'write before a block',
  write_behind: 'write behind a block',
  write_after_free: 'write after free',
  read_before: 'read before a block',
  read_behind: 'read behind a block',
  read_after_free: 'read after free',
  overlapping_copy: 'copy of ranges that overlap',
};

const hex = (number) => `0x${number.toString(16)}`;
const plural = (number, noun) => `${count(number)} ${noun}${number === 1 ? '' : 's'}`;
/** What is no free of an address, but another call with it. */
const USES = { unknown_pointer: 'use of an unknown address', interior_pointer: 'use of an address inside a block' };
const nameOf = ({ kind, access }) => (access && USES[kind]) ?? NAMES[kind] ?? kind;
const describe = (block) => `the block of ${plural(block.size, 'byte')} at ${hex(block.address)}`;
const alignmentOf = (number) => (number === null ? 'no alignment' : `an alignment of ${count(number)}`);
const freedText = (block) => (block.freed === null ? '' : ', which was freed');

/** "8 bytes inside the block of 24 bytes at 0x...": `offset` counts from where the block begins. */
function placeIn(offset, block) {
  if (offset < 0) return `${plural(-offset, 'byte')} before ${describe(block)}`;
  if (offset < block.size) return `${plural(offset, 'byte')} inside ${describe(block)}`;
  return `${plural(offset - block.size, 'byte')} behind the end of ${describe(block)}`;
}

function accessText({ access, block }) {
  const who = access.function ?? 'an instruction';
  const range = access.bytes === null ? `at ${hex(access.address)}, `
    : `${plural(access.bytes, 'byte')} from ${hex(access.address)} on, the first bad one `;
  const begin = access.address - block.address;
  const bad = block.freed !== null || begin < 0 ? begin : Math.max(begin, block.size);
  return `${who} ${access.writes ? 'writes' : 'reads'} ${range}${placeIn(bad, block)}${freedText(block)}`;
}

function overlapText({ access, block }) {
  const inBlock = block === null ? '' : `, in ${describe(block)}`;
  return `${access.function} copies ${plural(access.bytes, 'byte')} from ${hex(access.source)} to ${hex(access.address)}${inBlock}`;
}

function changedText({ changed, block }) {
  const byte = (number) => number.toString(16).padStart(2, '0');
  return `${plural(changed.count, 'byte')} changed, the first ${placeIn(changed.first, block)}; from there ${changed.found.map(byte).join(' ')} (each was ${byte(changed.expected)})`;
}

/** What was wrong with a call that gives a block back, behind the name of the call. */
const RELEASES = {
  double_free: ({ block }) => ` of ${describe(block)}, which was freed before`,
  mismatched_release: ({ block }) => ` of ${describe(block)}, which came from ${block.kind}`,
  wrong_size: ({ block, stated_size: size }) => ` states ${plural(size, 'byte')} for ${describe(block)}`,
  wrong_alignment: ({ block, stated_alignment: stated }) =>
    ` states ${alignmentOf(stated)}, not ${alignmentOf(block.alignment)}, for ${describe(block)}`,
  wrong_heap: ({ block, heap }) =>
    ` to the heap ${hex(heap ?? 0)} of ${describe(block)}, which is of the heap ${hex(block.heap ?? 0)}`,
};

function releaseText(fault) {
  const { kind, address, access, block } = fault;
  const call = access === null ? fault.call : access.function;
  if (kind in RELEASES) return call + RELEASES[kind](fault);
  const unknown = block === null ? ', which no allocation returned' : ', where no block begins';
  const origin = kind === 'unknown_pointer' ? unknown : '';
  const place = block === null ? '' : `, ${placeIn(address - block.address, block)}${freedText(block)}`;
  return `${call} of ${hex(address)}${origin}${place}`;
}

function sentence(fault) {
  if (fault.kind === 'overlapping_copy') return overlapText(fault);
  if (fault.kind in USES) return releaseText(fault);
  if (fault.access !== null) return accessText(fault);
  return fault.changed !== null ? changedText(fault) : releaseText(fault);
}

/** A call with its stack. */
function stackOf(report, title, call) {
  return element('div', {}, element('h3', {}, title),
    element('ol', {}, ...call.places.map((place) => frameItem(report, place))));
}

function stacksOf(report, fault) {
  const { found, block, changed, call } = fault;
  const before = (one) => `thread ${one.thread}, ${seconds((found.time_ns - one.time_ns) / 1e9)} before`;
  const list = [];
  if (changed !== null && call === null) list.push(element('div', {}, element('h3', {}, 'Found in a look at all blocks')));
  else list.push(stackOf(report, `${changed === null ? 'By' : 'Found by'} thread ${found.thread}`, found));
  if (block?.freed) list.push(stackOf(report, `Freed by ${block.freed_by}, ${before(block.freed)}`, block.freed));
  if (block) list.push(stackOf(report, `Allocated by ${block.kind}, ${before(block.allocated)}`, block.allocated));
  return list;
}

function card(report, fault, i) {
  const times = fault.times > 1 ? ` · ${count(fault.times)} times` : '';
  return element('article', { 'data-fault': fault.kind },
    element('h2', {}, `${i + 1}. ${nameOf(fault)}`, element('span', { class: 'soft' }, times)),
    element('p', {}, sentence(fault)),
    element('div', { class: 'calls' }, ...stacksOf(report, fault)));
}

export function drawMisuse({ report }) {
  const { left_out: leftOut } = report.about.misuses;
  const more = leftOut > 0 ? ` ${count(leftOut)} more found no room here.` : '';
  byId('misuse').replaceChildren(
    element('p', { class: 'soft' },
      `Each fault once, first found first.${more} Stacks begin with the call itself, its callers below.`),
    ...report.misuses.map((fault, i) => card(report, fault, i)));
}

// What of a game's frames can be shown, and how much of it tags have.
import { bytes, count, duration } from './units.js';

/**
 * `listed`: the report has a list of the worst of all frames by it, and a histogram.
 * `parted`: what tags have adds up to what the frame has.
 * `limit`: the kind of limit that a budget sets to it.
 */
export const MEASURES = [
  { key: 'allocated_bytes', name: 'Allocated bytes', show: bytes, listed: true, parted: true, limit: 'bytes_per_frame' },
  { key: 'allocations', name: 'Allocations', show: count, listed: true, parted: true, limit: 'allocations_per_frame' },
  { key: 'held_bytes', name: 'Held at the end', show: bytes, listed: false, parted: true, limit: 'held_bytes' },
  { key: 'peak_bytes', name: 'Held at the peak', show: bytes, listed: false, parted: false, limit: 'held_bytes' },
  { key: 'allocator_ns', name: 'Time in the allocator', show: duration, listed: true, parted: true, limit: null },
  { key: 'duration_ns', name: 'Duration', show: duration, listed: true, parted: false, limit: null },
];

const WORST_SHOWN = 16;

/** The frames with most, the worst first: of all, or of the last ones where no list is kept of all. */
export function worstBy(game, measure) {
  if (measure.listed) return game.worst.filter((frame) => frame.measure === measure.key);
  return [...game.last].sort((a, b) => b[measure.key] - a[measure.key]).slice(0, WORST_SHOWN);
}

/** Whether the tag of that path is `outer`, or inside of it. */
export function isInside(path, outer) {
  return path !== null && (path === outer || path.startsWith(`${outer}/`));
}

/** Every path that can be chosen: those of tags, of what is around them, and of budgets. */
export function pathsOf(game) {
  const paths = new Set();
  for (const path of [...game.tags, ...game.budgets].map(({ tag }) => tag).filter((tag) => tag !== null)) {
    for (let end = path.indexOf('/'); end >= 0; end = path.indexOf('/', end + 1)) paths.add(path.slice(0, end));
    paths.add(path);
  }
  return [...paths].sort();
}

/** What each tag held in each of the last frames: those that did nothing hold what they held. */
function heldByTag(game) {
  const held = game.tags.map(() => new Array(game.last.length));
  const filled = new Array(game.tags.length).fill(0);
  const fill = (tag, end, number) => { held[tag].fill(number, filled[tag], end); filled[tag] = end; };
  game.last.forEach((frame, i) => {
    for (const one of frame.tags) {
      const before = one.held_bytes - one.allocated_bytes + one.freed_bytes;
      fill(one.tag, i, filled[one.tag] === 0 ? Math.max(before, 0) : held[one.tag][filled[one.tag] - 1]);
      fill(one.tag, i + 1, one.held_bytes);
    }
  });
  held.forEach((list, tag) => fill(tag, list.length, list[filled[tag] - 1] ?? 0));
  return held;
}

function partsOf(game, measure) {
  if (!measure.parted) return () => [];
  if (measure.key !== 'held_bytes') {
    return (i) => game.last[i].tags.map((one) => ({ tag: one.tag, value: one[measure.key] }));
  }
  const held = heldByTag(game);
  return (i) => held.map((list, tag) => ({ tag, value: list[i] }));
}

/**
 * The last frames, each with how much it has of the measure, and which tags have how much of that.
 * `path`: of that tag and those inside of it alone; null for all.
 */
export function barsOf(game, measure, path) {
  const parts = partsOf(game, measure);
  const isChosen = game.tags.map(({ tag }) => path === null || isInside(tag, path));
  return game.last.map((frame, i) => {
    const tags = parts(i).filter(({ tag, value }) => value > 0 && isChosen[tag]);
    const value = path === null ? frame[measure.key] : tags.reduce((sum, one) => sum + one.value, 0);
    return { frame, value, tags };
  });
}

/** The limit that the budget of that path sets to the measure; null if there is none. */
export function limitOf(game, measure, path) {
  const budget = game.budgets.find(({ tag }) => tag === path);
  return budget?.limits.find(({ kind }) => kind === measure.limit)?.limit ?? null;
}

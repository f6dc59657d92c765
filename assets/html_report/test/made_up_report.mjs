// Reports of any size with every part that a page can show, the same for the same seed.

const WORDS = 'load parse update render physics mesh texture audio level entity cache queue'.split(' ');
const SECOND = 1e9;
const START = 1.7e18;

/** Numbers from 0 to 1 (the linear congruential generator of Numerical Recipes). */
function numbersFrom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

function modulesOf(names) {
  return names.map((name, i) => ({
    path: `/opt/game/${name}`, build_id: 'ab', start: (i + 1) * 2 ** 32, end: (i + 2) * 2 ** 32,
    bias: (i + 1) * 2 ** 32, unloaded: false,
  }));
}

function framesOf(modules, amount, random) {
  const word = () => WORDS[Math.floor(random() * WORDS.length)];
  return Array.from({ length: amount }, (_, i) => {
    const isNamed = i % 20 !== 19;
    return {
      address: modules[i % modules.length].start + i * 16 + 5,
      function: isNamed ? `engine::${word()}::${word()}<${i}>(std::vector<int> const&)` : null,
      file: isNamed ? `src/${word()}.cpp` : null,
      line: isNamed ? i + 1 : null,
      inlined: i % 4 === 3 ? [{ function: `std::vector<${word()}>::push_back`, file: null, line: null }] : [],
      module: i % modules.length,
      offset: i * 16 + 4,
    };
  });
}

/** Stacks that have their outer frames in common, as those of programs have. */
function pathsOf(amount, depth, frames, random) {
  const paths = [[0, 1, 2]];
  while (paths.length < amount) {
    const like = paths[Math.floor(paths.length * (1 - random() ** 3 * 0.2)) - 1] ?? paths[0];
    const path = like.slice(0, Math.max(1, like.length - Math.floor(random() * 8)));
    const more = 1 + Math.floor(random() * 9);
    for (let i = 0; i < more && path.length < depth; ++i) path.push(Math.floor(random() * frames));
    paths.push(path);
  }
  return paths;
}

function stacksOf(paths, random) {
  return paths.map((path) => {
    const allocations = 1 + Math.floor(random() ** 4 * 1000);
    const size = Math.floor(2 ** (3 + random() * 12));
    const live = Math.floor(allocations * random() ** 3);
    return {
      frames: path.slice().reverse(), outside_size_range: false, allocations,
      allocated_bytes: allocations * size, live_allocations: live, live_bytes: live * size,
      temporary_allocations: Math.floor((allocations - live) * random() * 0.5),
    };
  });
}

function totalsOf(stacks) {
  const sum = (key) => stacks.reduce((all, stack) => all + stack[key], 0);
  return {
    allocations: sum('allocations'), deallocations: sum('allocations') - sum('live_allocations'),
    allocated_bytes: sum('allocated_bytes'), live_allocations: sum('live_allocations'),
    live_bytes: sum('live_bytes'), peak_live_bytes: 2 * sum('live_bytes'),
    temporary_allocations: sum('temporary_allocations'),
  };
}

function timelineOf(totals, points) {
  return Array.from({ length: points }, (_, i) => {
    const share = i + 1 === Math.floor(points / 2) ? 1 : 0.5 + 0.3 * Math.sin(i / 20);
    const live = Math.floor(totals.peak_live_bytes * share);
    return {
      time_ns: START + i * SECOND, live_bytes: live, live_allocations: 10 * i,
      allocations: Math.floor((totals.allocations * i) / points), allocated_bytes: 100 * i,
      resident_bytes: Math.floor(live * 1.2),
    };
  });
}

function peakOf(stacks, totals, timeline) {
  return {
    time_ns: timeline[timeline.length / 2 - 1].time_ns,
    live_bytes: totals.peak_live_bytes,
    stacks: stacks.filter((stack) => stack.live_bytes > 0).map((stack) =>
      ({ frames: stack.frames, live_allocations: stack.live_allocations, live_bytes: 2 * stack.live_bytes })),
  };
}

/** `seed` changes the numbers of the stacks, not the stacks. */
export function madeUpReport({ stacks: amount, depth = 40, seed = 1 }) {
  const random = numbersFrom(7);
  const modules = modulesOf(['game', 'libphysics.so', 'libc.so.6']);
  const frames = framesOf(modules, Math.min(3 * amount, 50_000), random);
  const stacks = stacksOf(pathsOf(amount, depth, frames.length, random), numbersFrom(seed));
  const totals = totalsOf(stacks);
  const timeline = timelineOf(totals, 120);
  return {
    schema: 'alloctap.heap/1',
    program: { pid: 4711, executable: '/opt/game/game', arguments: ['game'], time_ns: START + 120 * SECOND },
    backend: { alloctap: '0.1.0', hook: 'interpose', stack: 'unwind-table', max_frames: 256, symbolizer: 'libdw', unseen: '' },
    account: {
      events: 1, dropped: 3, unmatched_frees: null, unseen_frees: 0, failed_unwinds: 5,
      truncated_stacks: 0, tracker_bytes: 2 ** 20, pauses: 0, consistent: true,
    },
    sampling: {
      policy: 'every-allocation', exact: true, mean_bytes: null, min_bytes: null, max_bytes: null,
      live_samples: totals.live_allocations, live_bytes_margin: 0,
    },
    totals,
    mappings: {
      mappings: 1, unmappings: 0, mapped_bytes: 4096, live_mappings: 1, live_bytes: 4096,
      peak_live_bytes: 4096, stacks: [{ frames: [5, 0], live_mappings: 1, live_bytes: 4096 }],
    },
    threads: [{
      id: 4711, name: 'game', alive: true, threads: 1, allocations: 7, allocated_bytes: 700,
      temporary_allocations: 1, deallocations: 9, net_bytes: -200,
    }],
    modules, frames, stacks,
    sizes: [
      { min_bytes: 8, max_bytes: 15, live_allocations: 3, live_bytes: 30 },
      { min_bytes: 32, max_bytes: 63, live_allocations: 1, live_bytes: 40 },
    ],
    timeline,
    markers: [{ time_ns: START + 30 * SECOND, name: 'level <1>' }],
    peak: peakOf(stacks, totals, timeline),
  };
}

/** 3,000 frames of a game: the hitch is in number 1,000, where a budget was exceeded. */
export function madeUpGame() {
  const counts = (bytes) => ({
    allocations: bytes > 2 ** 20 ? 3 : 2 + (bytes % 5), allocated_bytes: bytes, deallocations: 2, freed_bytes: 64,
    allocator_ns: 2000, held_bytes: 1000 + bytes, peak_bytes: 2000 + bytes,
  });
  const last = Array.from({ length: 3000 }, (_, i) => {
    const bytes = i === 999 ? 2 ** 26 : 100 + (i % 50);
    return {
      number: i + 1, begin_ns: START + i * 16e6, duration_ns: i === 1999 ? 90e6 : 16e6, ...counts(bytes),
      // Streaming does nothing for a while, and holds what it held.
      tags: [...(i >= 2500 && i < 2600 ? [] : [{ tag: 0, ...counts(bytes - 50) }]), { tag: 1, ...counts(50) }],
    };
  });
  const worst = (measure, numbers) => numbers.map((number) => ({
    measure, ...last[number - 1], tags: undefined,
    slowest_call: { call: 'allocate', cause: 'page_faults', duration_ns: 45e6, bytes: 2 ** 26, tag: 'Game/<Streaming>',
                    page_faults: 16384, waits: 0, preemptions: 0, frames: [3, 1] },
    stacks: [{ frames: [3, 1, 0], tag: 'Game/<Streaming>', thread: null, allocations: 1, allocated_bytes: 2 ** 26, allocator_ns: 45e6 }],
    other_stacks: { allocations: 2, allocated_bytes: 50, allocator_ns: 100 },
  }));
  const limit = (kind, number, most, offences) => ({ kind, limit: number, value: 0, most, offences });
  return {
    frames: 5000, refused_marks: 2, marking_thread_changes: 0, lost_events: 0,
    tags: [{ tag: 'Game/<Streaming>', others: false }, { tag: null, others: false }],
    last,
    histograms: [{ measure: 'allocated_bytes', classes: [
      { min: 64, max: 127, frames: 4000 }, { min: 256, max: 511, frames: 999 }, { min: 2 ** 26, max: 2 ** 27 - 1, frames: 1 }] }],
    worst: [...worst('allocated_bytes', [1000, 50]), ...worst('allocations', [4]), ...worst('allocator_ns', [7]), ...worst('duration_ns', [2000])],
    budgets: [{ tag: 'Game/<Streaming>', limits: [
      limit('held_bytes', 2 ** 24, 2 ** 26, 1), limit('allocations_per_frame', null, 3, 0), limit('bytes_per_frame', null, 9, 0)] },
      { tag: 'Game', limits: [limit('allocations_per_frame', 5, 6, 1)] }],
    offences: [{ tag: 'Game', kind: 'allocations_per_frame', limit: 5, value: 6, frame: 0, time_ns: START, frames: [] },
      { tag: 'Game/<Streaming>', kind: 'held_bytes', limit: 2 ** 24, value: 2 ** 26, frame: 1000, time_ns: START, frames: [3, 1, 0] }],
    forgotten_offences: 0,
  };
}

// A report of schema alloctap.heap/1, packed for 100,000 stacks and more.
import { isIn, METRICS } from './metrics.js';

export const SCHEMA = 'alloctap.heap/1';

export function baseName(path) {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** Those that no rule names. */
export function faultsOf({ misuses }) {
  return (misuses?.faults ?? []).filter((fault) => (fault.suppressed_by ?? null) === null);
}

/**
 * Functions, once each:   labels.text[i], labels.module[i] (index into modules, or -1)
 * Places in the source:   places.label[i], .file[i], .line[i], .inlined[i]
 * Stacks, leaf first:     flat[start[s]] .. flat[start[s + 1] - 1] are places
 * Numbers of the stacks:  values[metric][s]
 */
export class Report {
  constructor(json) {
    if (json.schema !== SCHEMA) {
      throw new Error(`this is not a report of schema ${SCHEMA}, but of ${json.schema}`);
    }
    this.about = json;
    this.labels = { text: [], module: [] };
    this.places = { label: [], file: [], line: [], inlined: [] };
    this.labelIds = new Map();
    const ofFrames = json.frames.map((frame) => this.addFrame(frame));
    /** Stacks that have allocated; others have mapped memory. */
    this.distinct = json.stacks.length;
    this.addStacks(rowsOf(json), ofFrames);
    this.misuses = faultsOf(json).map((fault) => withPlaces(fault, ofFrames));
    this.game = json.game_frames ? gameOf(json.game_frames, ofFrames) : null;
    this.metrics = METRICS.filter((metric) => isIn(json, metric));
    for (const part of [json.mappings, json.peak ?? {}, json]) delete part.stacks;
    delete json.frames;
  }

  get size() {
    return this.start.length - 1;
  }

  /** The number of a function; new ones get one. */
  labelId(text, module) {
    const key = module < 0 ? text : `${text}\0${baseName(this.about.modules[module].path)}`;
    let id = this.labelIds.get(key);
    if (id === undefined) {
      id = this.labels.text.push(text) - 1;
      this.labels.module.push(module);
      this.labelIds.set(key, id);
    }
    return id;
  }

  addPlace(text, module, source, inlined) {
    this.places.label.push(this.labelId(text, module));
    this.places.file.push(source.file);
    this.places.line.push(source.line);
    return this.places.inlined.push(inlined) - 1;
  }

  /** The places of one call, the innermost inlined function first. */
  addFrame(frame) {
    const module = frame.module ?? -1;
    const nameless = () =>
      module < 0 ? `0x${frame.address.toString(16)}`
                 : `${baseName(this.about.modules[module].path)}+0x${frame.offset.toString(16)}`;
    const places = frame.inlined.map((inner) =>
      this.addPlace(inner.function ?? nameless(), module, inner, true));
    places.push(this.addPlace(frame.function ?? nameless(), module, frame, false));
    return places;
  }

  addStacks(rows, ofFrames) {
    const nowhere = { file: null, line: null };
    const unknown = this.addPlace('[stack not known]', -1, nowhere, false);
    const notTaken = this.addPlace('[sizes whose stacks were not taken]', -1, nowhere, false);
    const flat = [];
    this.start = new Int32Array(rows.length + 1);
    this.values = Object.fromEntries(METRICS.map(({ key }) => [key, new Float64Array(rows.length)]));
    rows.forEach((row, s) => {
      for (const frame of row.frames) {
        for (const place of ofFrames[frame]) flat.push(place);
      }
      if (row.frames.length === 0) flat.push(row.notTaken ? notTaken : unknown);
      this.start[s + 1] = flat.length;
      for (const { key, of, field } of METRICS) this.values[key][s] = row[of]?.[field] ?? 0;
    });
    this.flat = Int32Array.from(flat);
  }
}

/** A fault whose calls have places in the place of frames. */
function withPlaces(fault, ofFrames) {
  const placed = (call) => (call === null ? null : { ...call, places: call.frames.flatMap((frame) => ofFrames[frame]) });
  const { found, block } = fault;
  if (block === null) return { ...fault, found: placed(found) };
  return { ...fault, found: placed(found),
           block: { ...block, allocated: placed(block.allocated), freed: placed(block.freed) } };
}

/** The frames of a game: their stacks have places in the place of frames. */
function gameOf(game, ofFrames) {
  const placed = (stack) => ({ ...stack, places: stack.frames.flatMap((frame) => ofFrames[frame]) });
  return {
    ...game,
    worst: game.worst.map((frame) => ({
      ...frame, stacks: frame.stacks.map(placed),
      slowest_call: frame.slowest_call && placed(frame.slowest_call),
    })),
    offences: game.offences.map(placed),
    tagName: (tag) => (game.tags[tag].others ? 'other tags' : game.tags[tag].tag ?? '(no tag)'),
  };
}

/** One row for each stack, whichever list it is in. */
function rowsOf(json) {
  const rows = json.stacks.map((stack) => ({
    frames: stack.frames, notTaken: stack.outside_size_range, stacks: stack,
    leaks: json.leaks && stack.suppressed_by === null && !stack.expected_to_stay ? leaksOf(stack) : undefined,
  }));
  const others = [['mappings', json.mappings.stacks], ['peak', json.peak?.stacks ?? []]];
  if (others.every(([, stacks]) => stacks.length === 0)) return rows;
  const byFrames = new Map(rows.map((row) => [keyOf(row.frames, row.notTaken), row]));
  for (const [of, stacks] of others) {
    for (const stack of stacks) {
      const key = keyOf(stack.frames, stack.outside_size_range);
      let row = byFrames.get(key);
      if (row === undefined) {
        row = { frames: stack.frames, notTaken: false };
        byFrames.set(key, row);
        rows.push(row);
      }
      // Several may be alike to a reader: other threads or tags.
      row[of] = { live_bytes: stack.live_bytes + (row[of]?.live_bytes ?? 0) };
    }
  }
  return rows;
}

/** What of a stack's has leaked: where a scan told what is unreachable, that alone. */
function leaksOf({ live_bytes, unreachable }) {
  if (!unreachable) return { live_bytes };
  return { live_bytes: unreachable.definite_bytes + unreachable.indirect_bytes };
}

function keyOf(frames, notTaken) {
  return notTaken ? 'not taken' : frames.join();
}

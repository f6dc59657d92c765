// All stacks of a report as one tree of functions.

/**
 * Nodes are numbered depth-first, so those below node i are i + 1 .. end[i] - 1, and the children of
 * i are i + 1, end[i + 1], end[end[i + 1]], ... Node 0 stands for the whole program.
 */
export class CallTree {
  /** `leafFirst`: what allocated comes first and its callers below it. */
  constructor(report, leafFirst) {
    this.report = report;
    this.leafFirst = leafFirst;
    const { start, size } = report;
    const labels = labelsOf(report, leafFirst);
    const order = Int32Array.from({ length: size }, (_, s) => s);
    order.sort((a, b) => {
      let [i, j] = [start[a], start[b]];
      const end = i + Math.min(start[a + 1] - i, start[b + 1] - j);
      for (; i < end; ++i, ++j) {
        if (labels[i] !== labels[j]) return labels[i] - labels[j];
      }
      return start[a + 1] - start[a] - (start[b + 1] - start[b]);
    });
    this.build(order, start, labels);
  }

  /** `order`: stacks that begin alike stand side by side. */
  build(order, start, labels) {
    const label = new Int32Array(labels.length + 1).fill(-1);
    const parent = new Int32Array(labels.length + 1);
    const end = new Int32Array(labels.length + 1);
    const path = [0];
    let size = 1;
    /** The node whose value a stack counts for. */
    this.nodeOf = new Int32Array(order.length);
    for (const s of order) {
      const begin = start[s];
      const depth = start[s + 1] - begin;
      let common = 0;
      while (common < depth && common + 1 < path.length
             && label[path[common + 1]] === labels[begin + common]) {
        ++common;
      }
      while (path.length > common + 1) end[path.pop()] = size;
      for (let level = common; level < depth; ++level) {
        label[size] = labels[begin + level];
        parent[size] = path[level];
        path.push(size++);
      }
      this.nodeOf[s] = path[depth];
    }
    while (path.length > 0) end[path.pop()] = size;
    this.label = label.slice(0, size);
    this.parent = parent.slice(0, size);
    this.end = end.slice(0, size);
  }

  /** The sums over everything below each node, itself included, of the numbers of stacks. */
  sum(ofStacks) {
    const sums = new Float64Array(this.label.length);
    for (let s = 0; s < this.nodeOf.length; ++s) sums[this.nodeOf[s]] += ofStacks[s];
    for (let node = sums.length - 1; node > 0; --node) sums[this.parent[node]] += sums[node];
    return sums;
  }

  /** The children of `node` whose value is at least `least`, the greatest first. */
  children(node, values, least) {
    const found = [];
    for (let child = node + 1; child < this.end[node]; child = this.end[child]) {
      if (values[child] >= least) found.push(child);
    }
    return found.sort((a, b) => values[b] - values[a] || a - b);
  }

  /** From the child of node 0 to `node`. */
  path(node) {
    const path = [];
    for (; node !== 0; node = this.parent[node]) path.push(node);
    return path.reverse();
  }

  text(node) {
    return node === 0 ? 'all' : this.report.labels.text[this.label[node]];
  }
}

/** The functions of all stacks, in the order in which a tree has them. */
function labelsOf({ start, flat, places, size }, leafFirst) {
  const labels = new Int32Array(flat.length);
  for (let i = 0; i < flat.length; ++i) labels[i] = places.label[flat[i]];
  for (let s = 0; s < size && !leafFirst; ++s) labels.subarray(start[s], start[s + 1]).reverse();
  return labels;
}

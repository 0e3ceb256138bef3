/* Boxes in layers: what reads another box stands below it (Sugiyama, Tagawa, Toda 1981, IEEE Trans. SMC 11:2). */

const GAP_X = 22;
const GAP_Y = 34;
const WIDEST = 9; // boxes in a layer: more of them stand below one another

/**
 * Place boxes that are connected by edges.
 * @param {Array<{w: number, h: number, kind?: string}>} boxes in the order in which they are computed
 * @param {Array<[number, number]>} edges pairs of boxes; one against the order is drawn upwards
 * @returns {{x: number[], y: number[], w: number, h: number, bends: Array<Array<[number, number]>>}} corners of the
 *     boxes, the size of all, and by edge the points between its ends
 */
function layered(boxes, edges) {
  const n = boxes.length;
  if (!n) return { x: [], y: [], w: 0, h: 0, bends: [] };
  const layers = layersOf(n, edges);
  // What is given follows the step that reads it, so that chains of steps are straight.
  const nodes = boxes.map((box, i) => ({
    w: box.w, h: box.h, weight: box.kind === "argument" ? 0.05 : 1, layer: layers[i], x: 0, up: [], down: [], order: i,
  }));
  // An edge over several layers passes a point in each of those between; edges from one box share their points.
  const points = new Map();
  const paths = edges.map(([from, to]) => {
    const isDown = layers[from] <= layers[to];
    const [top, bottom] = isDown ? [from, to] : [to, from];
    const path = [];
    let last = nodes[top];
    for (let layer = layers[top] + 1; layer < layers[bottom]; layer += 1) {
      const key = isDown ? `${from}/${layer}` : `${from}>${to}/${layer}`;
      let point = points.get(key);
      if (!point) {
        point = { w: 6, h: 0, weight: 3, layer, x: 0, up: [], down: [], order: last.order };
        points.set(key, point);
        nodes.push(point);
        connect(last, point);
      }
      path.push(point);
      last = point;
    }
    if (last !== nodes[bottom]) connect(last, nodes[bottom]);
    return isDown ? path : path.reverse();
  });
  const rows = [];
  for (const node of nodes) (rows[node.layer] ??= []).push(node);
  for (const row of rows) row.sort((a, b) => a.order - b.order);
  untangle(rows);
  straighten(rows);
  const heights = rows.map((row) => Math.max(...row.map((node) => node.h)));
  const tops = [];
  let h = 0;
  heights.forEach((height, i) => { tops[i] = h; h += height + GAP_Y; });
  const left = Math.min(...nodes.map((node) => node.x)), right = Math.max(...nodes.map((node) => node.x + node.w));
  const middle = (node) => tops[node.layer] + (heights[node.layer] - node.h) / 2;
  return {
    x: boxes.map((_, i) => nodes[i].x - left),
    y: boxes.map((_, i) => middle(nodes[i])),
    w: right - left,
    h: h - GAP_Y,
    bends: paths.map((path) => path.map((point) => [point.x - left + point.w / 2, tops[point.layer] + heights[point.layer] / 2])),
  };
}

function connect(above, below) {
  above.down.push(below);
  below.up.push(above);
}

/** A box's layer is below all that it reads, if there is room. What reads nothing stands just above its first reader. */
function layersOf(n, edges) {
  const before = Array.from({ length: n }, () => []), after = Array.from({ length: n }, () => []);
  for (const [from, to] of edges) {
    before[Math.max(from, to)].push(Math.min(from, to));
    after[Math.min(from, to)].push(Math.max(from, to));
  }
  const layers = new Array(n).fill(0), many = new Map();
  const put = (i, layer, step) => {
    while ((many.get(layer) || 0) >= WIDEST) layer += step;
    layers[i] = layer;
    many.set(layer, (many.get(layer) || 0) + 1);
  };
  const isSource = (i) => before[i].length === 0 && after[i].length > 0;
  for (let i = 0; i < n; i += 1) {
    if (!isSource(i)) put(i, Math.max(0, ...before[i].map((j) => (isSource(j) ? 1 : layers[j] + 1))), 1);
  }
  for (let i = n - 1; i >= 0; i -= 1) if (isSource(i)) put(i, Math.min(...after[i].map((j) => layers[j])) - 1, -1);
  const used = [...new Set(layers)].sort((a, b) => a - b);
  const rank = new Map(used.map((layer, i) => [layer, i]));
  return layers.map((layer) => rank.get(layer));
}

/** Order the nodes of each layer by where their neighbours stand, down and up a few times. */
function untangle(rows) {
  const number = (row) => row.forEach((node, i) => { node.at = i; });
  rows.forEach(number);
  const sweep = (row, side) => {
    for (const node of row) {
      const near = node[side];
      node.wish = near.length ? near.reduce((sum, other) => sum + other.at, 0) / near.length : node.at;
    }
    row.sort((a, b) => a.wish - b.wish || a.at - b.at);
    number(row);
  };
  for (let round = 0; round < 4; round += 1) {
    for (let i = 1; i < rows.length; i += 1) sweep(rows[i], "up");
    for (let i = rows.length - 2; i >= 0; i -= 1) sweep(rows[i], "down");
  }
}

/** Give each node the x nearest to its neighbours' that the order of its layer allows. */
function straighten(rows) {
  for (const row of rows) {
    let x = 0;
    for (const node of row) { node.x = x; x += node.w + GAP_X; }
  }
  const middle = (node) => node.x + node.w / 2;
  const sweep = (row, sides) => {
    const wishes = row.map((node) => {
      const near = sides.flatMap((side) => node[side]);
      const weights = near.reduce((sum, other) => sum + other.weight, 0);
      return (near.length ? near.reduce((sum, other) => sum + other.weight * middle(other), 0) / weights : middle(node)) - node.w / 2;
    });
    nearest(row, wishes);
  };
  for (let round = 0; round < 6; round += 1) {
    for (let i = 1; i < rows.length; i += 1) sweep(rows[i], ["up"]);
    for (let i = rows.length - 2; i >= 0; i -= 1) sweep(rows[i], ["down"]);
  }
  for (let i = 0; i < rows.length; i += 1) sweep(rows[i], ["up", "down"]);
}

/** The places in order, and apart, whose squared distances from the wishes, by weight, are least: pooling of adjacent violators. */
function nearest(row, wishes) {
  const offsets = [];
  let offset = 0;
  row.forEach((node, i) => { offsets[i] = offset; offset += node.w + GAP_X; });
  const pools = [];
  wishes.forEach((wish, i) => {
    pools.push({ sum: row[i].weight * (wish - offsets[i]), weight: row[i].weight, many: 1 });
    while (pools.length > 1) {
      const last = pools[pools.length - 1], other = pools[pools.length - 2];
      if (other.sum / other.weight <= last.sum / last.weight) break;
      other.sum += last.sum;
      other.weight += last.weight;
      other.many += last.many;
      pools.pop();
    }
  });
  let i = 0;
  for (const pool of pools) {
    for (let k = 0; k < pool.many; k += 1, i += 1) row[i].x = pool.sum / pool.weight + offsets[i];
  }
}

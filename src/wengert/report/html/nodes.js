/* The nodes of the graph: steps within lines within calls, so that no node has more parts than can be looked at. */

const MOST_CHILDREN = 40;

/** @typedef {{id: string, kind: "group"|"step"|"argument", label: string, parent: any, children: any[], steps: number[],
 *     value: number, role: string, depth: number}} GraphNode */

function graphNode(kind, id, label, role, more = {}) {
  return { kind, id, label, role, parent: null, children: [], steps: [], value: -1, frame: -1, line: null, depth: 0, ...more };
}

function adopt(parent, children) {
  parent.children = children;
  for (const child of children) child.parent = parent;
  if (parent.kind === "group") parent.steps = children.flatMap((child) => child.steps);
}

const stepNode = (s) => graphNode("step", `s${s}`, report.steps[s].op, ROLES[report.steps[s].role] ?? "forward", { steps: [s] });

/** Children of one line that follow one another become a node of that line, where there are too many for one look. */
function byLine(children, id, role) {
  if (children.length <= 24) return children;
  const groups = new Map();
  const out = [];
  for (const child of children) {
    if (child.kind !== "step") { out.push(child); continue; }
    const { file, line } = report.steps[child.steps[0]];
    const key = lineKey(file, line);
    if (!groups.has(key)) {
      groups.set(key, []);
      out.push(key);
    }
    groups.get(key).push(child);
  }
  if (groups.size <= 1) return children;
  return out.map((child) => {
    if (typeof child !== "string") return child;
    const members = groups.get(child);
    return members.length === 1 ? members[0] : lineNode(child, `${id}/${child}`, role, members);
  });
}

function lineNode(key, id, role, members) {
  const [file, line] = key.split(":").map(Number);
  const text = sourceText(file, line).trim();
  const node = graphNode("group", id, line > 0 ? text || place(file, line) : "elsewhere", role, { line: { file, line } });
  adopt(node, inRuns(members, id, role));
  return node;
}

/** Many children become runs of them, and those runs too, until there are few. */
function inRuns(children, id, role) {
  if (children.length <= MOST_CHILDREN) return children;
  const size = Math.max(20, Math.ceil(children.length / MOST_CHILDREN));
  const runs = [];
  for (let i = 0; i < children.length; i += size) {
    const members = children.slice(i, i + size);
    const steps = members.flatMap((child) => child.steps);
    const label = steps.length ? `steps ${steps[0]} to ${steps[steps.length - 1]}` : `${members.length} values`;
    const node = graphNode("group", `${id}#${i}`, label, role);
    adopt(node, inRuns(members, node.id, role));
    runs.push(node);
  }
  return inRuns(runs, `${id}#`, role);
}

/**
 * The arguments and captured arrays that steps of a role read, by the step that reads them first. One that several
 * roles read stands with those that come first on the tape.
 * @returns {Map<number, {node: GraphNode, steps: number[]}[]>}
 */
function argumentsOf(role) {
  const found = new Map();
  report.values.forEach((value, v) => {
    if (value.step >= 0 || value.kind === "literal" || !readers[v].length) return;
    const roleOf = (s) => ROLES[report.steps[s].role] ?? "forward";
    const [first] = readers[v];
    if (roleOf(first) !== role) return;
    const node = graphNode("argument", `v${v}`, value.name, role, { value: v });
    if (!found.has(first)) found.set(first, []);
    found.get(first).push({ node, steps: readers[v].filter((s) => roleOf(s) === role) });
  });
  return found;
}

/** What paths begin with, all of them. */
function commonStart(paths) {
  const [first, ...others] = paths;
  let n = first.length;
  for (const path of others) {
    let i = 0;
    while (i < n && path[i] === first[i]) i += 1;
    n = i;
  }
  return first.slice(0, n);
}

/**
 * @param {"calls"|"lines"} by
 * @returns {{root: GraphNode, leaves: Map<string, GraphNode>}}
 */
function graphTree(by) {
  const root = graphNode("group", "root", "", "");
  const parts = [];
  for (const role of new Set(report.steps.map((step) => ROLES[step.role] ?? "forward"))) {
    const steps = report.steps.flatMap((step, s) => ((ROLES[step.role] ?? "forward") === role ? [s] : []));
    const part = graphNode("group", role, PARTS[role] ?? role, role);
    adopt(part, by === "lines" ? linesOf(steps, role) : callsOf(steps, role));
    parts.push(part);
  }
  adopt(root, parts);
  const leaves = new Map();
  const walk = (node, depth) => {
    node.depth = depth;
    if (node.kind !== "group") leaves.set(node.id, node);
    for (const child of node.children) walk(child, depth + 1);
  };
  walk(root, 0);
  return { root, leaves };
}

function linesOf(steps, role) {
  const given = argumentsOf(role);
  const groups = new Map(), loose = [];
  const keyOf = (s) => lineKey(report.steps[s].file, report.steps[s].line);
  const group = (key) => {
    if (!groups.has(key)) groups.set(key, []);
    return groups.get(key);
  };
  for (const s of steps) {
    for (const { node, steps: its } of given.get(s) || []) {
      if (its.every((other) => keyOf(other) === keyOf(s))) group(keyOf(s)).push(node);
      else loose.push(node);
    }
    group(keyOf(s)).push(stepNode(s));
  }
  const lines = [...groups].map(([key, members]) =>
    (members.length === 1 ? members[0] : lineNode(key, `${role}/${key}`, role, members)));
  return [...gathered(loose, role), ...inRuns(lines, role, role)];
}

/** Arguments that belong to no one line or call: one group, if there are many. */
function gathered(nodes, role) {
  if (nodes.length <= 8) return nodes;
  const group = graphNode("group", `given ${role}`, "arguments", role);
  adopt(group, inRuns(nodes, group.id, role));
  return [group];
}

function callsOf(steps, role) {
  const given = argumentsOf(role);
  const top = { id: role, children: [], given: [] };
  const frames = new Map();
  const open = (path) => {
    let parent = top;
    for (const f of path) {
      if (!frames.has(f)) {
        const node = graphNode("group", `${role}/f${f}`, report.frames[f].what, role, { frame: f, given: [] });
        frames.set(f, node);
        parent.children.push(node);
      }
      parent = frames.get(f);
    }
    return parent;
  };
  const pathOf = (s) => framePath(report.steps[s].frame);
  for (const s of steps) {
    for (const { node, steps: its } of given.get(s) || []) open(commonStart(its.map(pathOf))).given.push(node);
    open(pathOf(s)).children.push(stepNode(s));
  }
  const finish = (node) => {
    for (const child of node.children) if (child.frame >= 0 && child.kind === "group") finish(child);
    const children = [...gathered(node.given, node.id), ...inRuns(byLine(node.children, node.id, role), node.id, role)];
    if (node !== top) adopt(node, children);
    return children;
  };
  // A call that is all there is needs no node of its own.
  let children = finish(top);
  while (children.length === 1 && children[0].kind === "group") children = children[0].children;
  return children;
}

/** The edges of leaves: from the node that makes a value to a step that reads it. */
function leafEdges(leaves) {
  const edges = [];
  report.steps.forEach((step, s) => {
    const to = leaves.get(`s${s}`);
    if (!to) return;
    for (const v of new Set(step.reads)) {
      const value = report.values[v];
      const from = value && leaves.get(value.step >= 0 ? `s${value.step}` : `v${v}`);
      if (from && from !== to) edges.push({ from, to, value: v });
    }
  });
  // A body hangs on the step of its loop or branch by its first step.
  const firsts = new Set();
  report.steps.forEach((step, s) => {
    const owner = ownerOfFrame.get(step.frame);
    const from = leaves.get(`s${owner}`), to = leaves.get(`s${s}`);
    if (owner === undefined || firsts.has(step.frame) || !from || !to) return;
    firsts.add(step.frame);
    edges.push({ from, to, value: -1 });
  });
  return edges;
}

/** What is at most `far` steps away from a value or a step, before and behind it; the nearest come first. */
function around(centre, far, most) {
  const found = new Map();
  const ids = [];
  const visit = (id, distance) => {
    if (found.has(id) || ids.length >= most) return;
    found.set(id, distance);
    ids.push(id);
  };
  visit(centre, 0);
  for (let i = 0; i < ids.length; i += 1) {
    const id = ids[i], distance = found.get(id) + 1, number = Number(id.slice(1));
    if (distance > far) break;
    const isStep = id[0] === "s";
    const gives = isStep ? report.steps[number].gives : [number];
    for (const v of isStep ? report.steps[number].reads : []) {
      const value = report.values[v];
      if (value && value.kind !== "literal") visit(value.step >= 0 ? `s${value.step}` : `v${v}`, distance);
    }
    for (const v of gives) for (const s of readers[v].slice(0, 12)) visit(`s${s}`, distance);
    for (const v of gives) {
      const other = report.values[v].cotangent >= 0 ? report.values[v].cotangent : primals[v];
      if (other >= 0 && report.values[other].step >= 0) visit(`s${report.values[other].step}`, distance);
    }
  }
  const numbers = [...found.keys()];
  const root = graphNode("group", "root", "", "");
  const given = numbers.filter((id) => id[0] === "v").map((id) => {
    const v = Number(id.slice(1));
    return graphNode("argument", id, report.values[v].name, "argument", { value: v });
  });
  const steps = numbers.filter((id) => id[0] === "s").map((id) => Number(id.slice(1))).sort((a, b) => a - b).map(stepNode);
  adopt(root, [...given, ...steps]);
  for (const child of root.children) child.depth = 1;
  return { root, leaves: new Map(root.children.map((child) => [child.id, child])) };
}

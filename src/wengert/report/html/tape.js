/* The tape as a tree: calls, loops and branches are nodes that fold, steps are leaves. */

/**
 * @typedef {Object} Node
 * @property {"group"|"step"} kind
 * @property {string} id
 * @property {number} step of a leaf
 * @property {number} frame of a group; -1 for the parts forward and back
 * @property {Node|null} parent
 * @property {Node[]} children
 * @property {number} many steps in it
 */

function groupNode(id, label, frame, parent) {
  const node = { kind: "group", id, label, frame, parent, children: [], many: 0, depth: parent ? parent.depth + 1 : 0, steps: [] };
  if (parent) parent.children.push(node);
  return node;
}

/** The frames above a frame, from the outermost. */
function framePath(frame) {
  const path = [];
  for (let f = frame; f >= 0 && report.frames[f] && path.length < 200; f = report.frames[f].parent) path.unshift(f);
  return path;
}

/**
 * The steps by role and call. Where all have one role there is no node for it.
 * @returns {{root: Node, groups: Map<string, Node>, leaves: Node[]}}
 */
function callTree() {
  const root = groupNode("", "", -1, null);
  root.depth = -1;
  const groups = new Map();
  const roles = new Set(report.steps.map((step) => step.role));
  const group = (id, label, frame, parent) => {
    if (!groups.has(id)) groups.set(id, groupNode(id, label, frame, parent));
    return groups.get(id);
  };
  const leaves = report.steps.map((step, s) => {
    const role = ROLES[step.role] ?? step.role;
    let parent = roles.size > 1 ? group(role, PARTS[role] ?? role, -1, root) : root;
    for (const f of framePath(step.frame)) parent = group(`${role}/${f}`, report.frames[f].what, f, parent);
    const leaf = { kind: "step", id: `s${s}`, step: s, frame: step.frame, parent, children: [], many: 1, depth: parent.depth + 1 };
    parent.children.push(leaf);
    for (let node = parent; node; node = node.parent) { node.many += 1; node.steps.push(s); }
    return leaf;
  });
  return { root, groups, leaves };
}

const PARTS = { forward: "forward", tangent: "tangents", backward: "back: cotangents" };

/** Names of values as links that a click follows. */
function valueWords(values) {
  return values.map((v, i) => {
    const value = report.values[v];
    const isLink = value && value.kind !== "literal";
    return [i ? " " : "", h(isLink ? "span.value" : "span.literal", { "data-value": isLink ? v : undefined }, value ? value.name : "?")];
  });
}

const tape = {
  name: "tape",
  label: "Tape",
  make(panel) {
    this.tree = callTree();
    this.folded = new Set();
    this.foldMost(300);
    this.most = Math.max(0, ...report.steps.map((step) => mainMetric.of(step.cost)));
    this.bar = h("div.toolbar");
    this.list = new VirtualList({
      role: "tree", label: "Tape", height: 24, draw: (node) => this.draw(node),
      open: (node, _, event) => this.open(node, event), key: (event, node, index) => this.key(event, node, index),
    });
    panel.append(this.bar, this.list.element);
  },

  /** Fold what makes more than `most` rows, from the outside; a call that is all there is is unfolded. */
  foldMost(most) {
    let rows = this.tree.root.children.length;
    const waiting = [...this.tree.root.children];
    while (waiting.length) {
      const node = waiting.shift();
      if (node.kind !== "group") continue;
      if (node.depth > 0 && node.parent.children.length > 1 && rows + node.children.length > most) this.folded.add(node.id);
      else { rows += node.children.length; waiting.push(...node.children); }
    }
    // What lies in a folded group is folded too, so that it is unfolded level by level.
    for (const node of this.tree.groups.values()) {
      for (let above = node.parent; above; above = above.parent) if (this.folded.has(above.id)) this.folded.add(node.id);
    }
  },

  /** The rows in sight: a node's children follow it if it is unfolded. While a filter holds, all that is left is. */
  visible() {
    const rows = [];
    const walk = (node) => {
      for (const child of node.children) {
        if (child.kind === "step") { if (isShown(child.step)) rows.push(child); continue; }
        if (shown && !child.steps.some(isShown)) continue;
        rows.push(child);
        if (shown ? !this.foldedInSearch.has(child.id) : !this.folded.has(child.id)) walk(child);
      }
    };
    walk(this.tree.root);
    return rows;
  },
  foldedInSearch: new Set(),

  get folds() { return shown ? this.foldedInSearch : this.folded; },

  draw(node) {
    const isOpen = !this.folds.has(node.id);
    const siblings = node.parent.children;
    const attributes = {
      role: "treeitem", "aria-level": node.depth + 1, "aria-setsize": siblings.length,
      "aria-posinset": shown ? undefined : this.position(node), "aria-expanded": node.kind === "group" ? String(isOpen) : undefined,
    };
    const indent = h("span.indent", { style: { width: `${Math.min(node.depth, 24) * 14}px` } });
    if (node.kind === "group") {
      const frame = report.frames[node.frame];
      const cost = this.costOf(node);
      return h("div.group", attributes, h("span.index"), indent,
        h("span.twist", { "aria-hidden": "true" }, isOpen ? "▾" : "▸"),
        h("b.code", {}, node.label), frame && frame.line > 0 ? h("span.place", {}, place(frame.file, frame.line)) : null,
        h("span.quiet", {}, plural(node.many, "step")), h("span.space"),
        h("span.number", {}, mainMetric.of(cost) > 0 ? mainMetric.show(mainMetric.of(cost)) : ""));
    }
    const step = report.steps[node.step];
    const isSelected = state.selected && (
      (state.selected.kind === "step" && state.selected.id === node.step)
      || (state.selected.kind === "value" && step.gives.includes(state.selected.id)));
    const type = step.gives.length === 1 && report.values[step.gives[0]] ? report.values[step.gives[0]].type : "";
    const cost = mainMetric.of(step.cost);
    return h(`div.step.${ROLES[step.role] ?? "forward"}${isSelected ? ".chosen" : ""}`, { ...attributes, "aria-selected": String(Boolean(isSelected)) },
      h("span.index", {}, node.step), indent, h("span.twist"),
      h("span.code.words", {},
        valueWords(step.gives), step.gives.length ? " = " : "", h("b.op", {}, step.op), step.params ? h("span.params", {}, ` ${step.params}`) : "",
        step.reads.length ? " " : "", valueWords(step.reads)),
      h("span.space"), guardsOfStep.has(node.step) && badge("guard", "guard"),
      h("span.type", { title: type }, type),
      h("span.place", {}, place(step.file, step.line)),
      h("span.number", {}, cost > 0 ? mainMetric.show(cost) : ""));
  },

  position(node) {
    const parent = node.parent;
    if (!parent.positions) parent.positions = new Map(parent.children.map((child, i) => [child, i + 1]));
    return parent.positions.get(node);
  },

  costOf(node) {
    if (!node.cost) node.cost = total(node.steps.map((s) => report.steps[s].cost));
    return node.cost;
  },

  open(node, event) {
    const value = event.target && event.target.dataset ? event.target.closest("[data-value]") : null;
    if (value) { select("value", Number(value.dataset.value)); return; }
    if (node.kind === "group") this.fold(node, !this.folds.has(node.id));
    else selectStep(node.step);
  },

  fold(node, isFolded) {
    if (isFolded) this.folds.add(node.id); else this.folds.delete(node.id);
    this.show(node.id);
  },

  foldAll(isFolded) {
    this.folds.clear();
    if (isFolded) for (const id of this.tree.groups.keys()) this.folds.add(id);
    this.show(null);
  },

  key(event, node, index) {
    const rows = this.list.items;
    if (event.key === "ArrowRight" && node.kind === "group") {
      if (this.folds.has(node.id)) this.fold(node, false);
      else this.list.activate(index + 1);
      return true;
    }
    if (event.key === "ArrowLeft") {
      if (node.kind === "group" && !this.folds.has(node.id)) this.fold(node, true);
      else if (node.parent.parent) this.list.activate(rows.indexOf(node.parent));
      return true;
    }
    return node.kind === "step" && followKey(event.key, node.step);
  },

  show(keepId) {
    const active = keepId ?? (this.list.items[this.list.active] || {}).id;
    this.list.set(this.visible(), (node) => node.id === active);
    replace(this.bar,
      h("span.quiet", { role: "status" }, counted(shownCount(), report.steps.length, "step")),
      h("span.space"),
      h("button", { type: "button", click: () => this.foldAll(true) }, "Fold all"),
      h("button", { type: "button", click: () => this.foldAll(false) }, "Unfold all"));
  },

  /** Unfold what a step lies in, and make it the active row. */
  reveal(step, where) {
    const leaf = this.tree.leaves[step];
    if (!leaf || !isShown(step)) return;
    for (let node = leaf.parent; node; node = node.parent) this.folds.delete(node.id);
    this.show(leaf.id);
    this.list.activate(this.list.items.indexOf(leaf), where);
  },

  update(now, before) {
    if (before && (now.text !== before.text || now.line !== before.line)) {
      this.foldedInSearch.clear();
      this.list.element.scrollTop = 0;
    }
    const step = before && sameThing(now.selected, before.selected) ? -1 : selectedStep();
    if (step >= 0) this.reveal(step, "middle");
    else this.show(null);
  },
};

/** The step that is selected, or that makes the selected value; -1 if there is none. */
function selectedStep() {
  const { kind, id } = state.selected || {};
  return kind === "step" ? id : kind === "value" && report.values[id] ? report.values[id].step : -1;
}

/** A step is looked at by what it gives; one that gives nothing by itself. */
function selectStep(s) {
  const [value] = report.steps[s].gives;
  if (value !== undefined && report.steps[s].gives.length === 1) select("value", value);
  else select("step", s);
}

/**
 * The keys that follow a value from where it is: m to its maker's first operand, r to its first reader, c to its cotangent.
 * @returns {boolean} whether the key was one of them
 */
function followKey(key, step) {
  const { gives, reads } = report.steps[step];
  if (key === "m") {
    const maker = reads.map((v) => report.values[v]).find((value) => value && value.step >= 0);
    if (maker) selectStep(maker.step);
  } else if (key === "r") {
    const reader = gives.flatMap((v) => readers[v])[0];
    if (reader !== undefined) selectStep(reader);
  } else if (key === "c") {
    const other = gives.map((v) => (report.values[v].cotangent >= 0 ? report.values[v].cotangent : primals[v])).find((v) => v >= 0);
    if (other !== undefined) select("value", other);
  } else return false;
  return true;
}

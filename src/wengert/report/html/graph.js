/* The tape as a graph. Groups fold; only what is unfolded is laid out, and only what is in sight is drawn. */

const BOX = { step: { w: 138, h: 42 }, argument: { w: 138, h: 42 }, group: { w: 178, h: 48 } };
const PAD = 14;
const TITLE = 30;
const MOST_UNFOLDED = 500; // boxes at a time

/** The beginning of a text, if it is long; its width in letters of about 7 px. */
const short = (text, most) => (text.length > most ? text.slice(0, most - 1) + "…" : text);

const graph = {
  name: "graph",
  label: "Graph",
  mode: "calls",
  trees: {},

  make(panel) {
    this.edgesLayer = svg("g");
    this.nodesLayer = svg("g");
    this.groundLayer = svg("g");
    this.scene = svg("g", {}, this.groundLayer, this.edgesLayer, this.nodesLayer);
    this.picture = svg("svg", { role: "presentation" },
      svg("defs", {}, ["", "near"].map((name) => svg("marker", {
        id: `arrow${name}`, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, orient: "auto", markerUnits: "userSpaceOnUse",
      }, svg(`path.head${name ? "." + name : ""}`, { d: "M0 0.5L8 4L0 7.5z" })))), this.scene);
    this.bar = h("div.toolbar");
    this.element = h("div.graph", {
      role: "tree", "aria-label": "Graph of the tape", tabindex: 0, keydown: (event) => this.keydown(event),
      wheel: (event) => this.wheel(event), pointerdown: (event) => this.pointerdown(event),
      focus: () => { if (!this.active) this.activate(this.boxes[0]); },
    }, this.picture);
    this.element.addEventListener("wheel", (event) => event.preventDefault(), { passive: false });
    panel.append(this.bar, this.element);
    this.view = { x: 0, y: 0, zoom: 1 };
    this.boxes = [];
    this.edges = [];
    this.open = new Set();
    this.active = null;
    new ResizeObserver(() => { this.paint(); }).observe(this.element);
  },

  /** The nodes, as they are folded: a tree of calls or lines is made once. */
  grow() {
    if (this.mode === "around") {
      const { kind, id } = state.selected || {};
      const step = selectedStep();
      const centre = step >= 0 ? `s${step}` : kind === "value" ? `v${id}` : report.steps.length ? "s0" : null;
      const tree = centre ? around(centre, 3, 60) : { root: graphNode("group", "root", "", ""), leaves: new Map() };
      this.tree = { ...tree, edges: leafEdges(tree.leaves) };
      return;
    }
    if (!this.trees[this.mode]) {
      const tree = graphTree(this.mode);
      this.trees[this.mode] = { ...tree, edges: leafEdges(tree.leaves) };
      this.unfoldSome(this.trees[this.mode].root, 40);
    }
    this.tree = this.trees[this.mode];
  },

  /** Unfold from the outside, as long as there are not more boxes than `most`. */
  unfoldSome(root, most) {
    let many = root.children.length;
    const waiting = [...root.children];
    while (waiting.length) {
      const node = waiting.shift();
      const isRuns = node.depth > 1 && node.children.some((child) => child.id.includes("#"));
      if (node.kind !== "group" || node.id.startsWith("given") || isRuns) continue;
      if (many + node.children.length > most) continue;
      many += node.children.length;
      this.open.add(node.id);
      waiting.push(...node.children);
    }
  },

  isOpen(node) { return node.id === "root" || this.open.has(node.id); },

  /** The box that stands for a leaf: itself, or the outermost folded group around it. */
  shownFor(leaf) {
    let box = leaf;
    for (let node = leaf.parent; node; node = node.parent) if (!this.isOpen(node)) box = node;
    return box;
  },

  layout() {
    const { root, edges } = this.tree;
    const merged = new Map();
    const boxOf = new Map();
    for (const leaf of this.tree.leaves.values()) boxOf.set(leaf, this.shownFor(leaf));
    for (const edge of edges) {
      const from = boxOf.get(edge.from), to = boxOf.get(edge.to);
      if (from === to) continue;
      const key = `${from.id}>${to.id}`;
      if (!merged.has(key)) merged.set(key, { from, to, values: [], bends: [] });
      if (edge.value >= 0) merged.get(key).values.push(edge.value);
    }
    this.edges = [...merged.values()];
    // Each edge is routed among the children of the innermost group that holds both of its ends.
    const within = new Map();
    for (const edge of this.edges) {
      let a = edge.from, b = edge.to;
      while (a.parent !== b.parent) { if (a.depth >= b.depth) a = a.parent; else b = b.parent; }
      if (!within.has(a.parent)) within.set(a.parent, new Map());
      const among = within.get(a.parent);
      const key = `${a.id}>${b.id}`;
      if (!among.has(key)) among.set(key, { a, b, edges: [] });
      among.get(key).edges.push(edge);
      edge.inside = a.parent;
    }
    this.boxes = [];
    this.place(root, within);
    const set = (node, x, y) => {
      node.x = x;
      node.y = y;
      if (node !== root) this.boxes.push(node);
      if (this.isOpen(node)) for (const child of node.children) set(child, x + child.dx, y + child.dy);
    };
    set(root, 0, 0);
    for (const edge of this.edges) this.route(edge);
  },

  /** Give a node its size, and its children their places in it. */
  place(node, within) {
    if (node.kind !== "group" || !this.isOpen(node)) { Object.assign(node, BOX[node.kind]); return; }
    for (const child of node.children) this.place(child, within);
    const isRoot = node.id === "root";
    // The way back stands beside the way forward, and goes up: a cotangent is about as high as its primal.
    const beside = isRoot && node.children.find((child) => child.role === "backward" && child.kind === "group");
    const children = node.children.filter((child) => child !== beside);
    const index = new Map(children.map((child, i) => [child, i]));
    const links = [...(within.get(node) || new Map()).values()].filter(({ a, b }) => index.has(a) && index.has(b));
    const placed = layered(children, links.map(({ a, b }) => [index.get(a), index.get(b)]));
    const left = isRoot ? 0 : PAD, top = isRoot ? 0 : TITLE;
    children.forEach((child, i) => { child.dx = left + placed.x[i]; child.dy = top + placed.y[i]; });
    links.forEach(({ edges }, i) => {
      for (const edge of edges) edge.bends = placed.bends[i].map(([x, y]) => [left + x, top + y]);
    });
    node.w = placed.w + 2 * left;
    node.h = placed.h + top + (isRoot ? 0 : PAD);
    if (!isRoot) node.w = Math.max(node.w, 170);
    if (node.role === "backward" && node.parent.id === "root") this.turn(node, within, TITLE, PAD);
    if (beside) {
      const height = Math.max(node.h, beside.h);
      for (const child of children) child.dy += height - node.h;
      for (const { edges } of links) for (const edge of edges) for (const bend of edge.bends) bend[1] += height - node.h;
      beside.dx = node.w + (children.length ? 90 : 0);
      beside.dy = height - beside.h;
      node.w = beside.dx + beside.w;
      node.h = height;
    }
  },

  /** Turn what is in a node upside down, the titles of its groups left where they are. */
  turn(node, within, top, bottom) {
    const inner = node.h - top - bottom;
    for (const child of node.children) {
      child.dy = top + inner - (child.dy - top) - child.h;
      if (child.kind === "group" && this.isOpen(child)) this.turn(child, within, TITLE, PAD);
    }
    for (const { edges } of (within.get(node) || new Map()).values()) {
      for (const edge of edges) for (const bend of edge.bends) bend[1] = top + inner - (bend[1] - top);
    }
  },

  /** The curve of an edge: down, up on the way back, and sideways from one to the other. */
  route(edge) {
    const { from, to } = edge;
    const isUp = from.role === "backward" && to.role === "backward";
    edge.isAcross = from.role !== "backward" && to.role === "backward" && this.mode !== "around";
    const { x: ox, y: oy } = edge.inside;
    if (edge.isAcross) {
      const x1 = from.x + from.w, y1 = from.y + from.h / 2, x2 = to.x, y2 = to.y + to.h / 2;
      const bend = Math.max(30, (x2 - x1) / 2);
      edge.path = `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
      edge.box = boundsOf([[x1, y1], [x2, y2]]);
      return;
    }
    const turned = isUp && this.mode !== "around";
    const start = [from.x + from.w / 2, turned ? from.y : from.y + from.h];
    const end = [to.x + to.w / 2, turned ? to.y + to.h : to.y];
    const points = [start, ...edge.bends.map(([x, y]) => [ox + x, oy + y]), end];
    let path = `M${start[0].toFixed(1)} ${start[1].toFixed(1)}`;
    for (let i = 1; i < points.length; i += 1) {
      const [x1, y1] = points[i - 1], [x2, y2] = points[i];
      const half = (y1 + y2) / 2;
      path += `C${x1.toFixed(1)} ${half.toFixed(1)} ${x2.toFixed(1)} ${half.toFixed(1)} ${x2.toFixed(1)} ${y2.toFixed(1)}`;
    }
    edge.path = path;
    edge.box = boundsOf(points);
  },

  /** Draw what is in sight. */
  paint() {
    const { x, y, zoom } = this.view;
    const width = this.element.clientWidth, height = this.element.clientHeight;
    if (!width) return;
    this.scene.setAttribute("transform", `translate(${x} ${y}) scale(${zoom})`);
    const sight = { left: -x / zoom - 60, top: -y / zoom - 60, right: (width - x) / zoom + 60, bottom: (height - y) / zoom + 60 };
    const isSeen = (box) => box.x < sight.right && box.x + box.w > sight.left && box.y < sight.bottom && box.y + box.h > sight.top;
    const chosen = this.chosenBox();
    // Unfolded groups lie under the edges, all others above them.
    const seen = this.boxes.filter(isSeen), isGround = (box) => box.kind === "group" && this.isOpen(box);
    this.groundLayer.replaceChildren(...seen.filter(isGround).map((box) => this.drawBox(box, chosen)));
    this.nodesLayer.replaceChildren(...seen.filter((box) => !isGround(box)).map((box) => this.drawBox(box, chosen)));
    const near = (edge) => chosen && (edge.from === chosen || edge.to === chosen);
    const edges = this.edges.filter((edge) => isSeen(edge.box));
    edges.sort((a, b) => Number(near(a)) - Number(near(b)));
    this.edgesLayer.replaceChildren(...edges.map((edge) => svg(
      `path.edge${edge.values.length ? "" : ".body"}${edge.isAcross ? ".across" : ""}${near(edge) ? (edge.from === chosen ? ".out.near" : ".in.near") : ""}`, {
        d: edge.path, "stroke-width": Math.min(4, 1 + Math.log2(Math.max(1, edge.values.length)) / 2), "marker-end": `url(#arrow${near(edge) ? "near" : ""})`,
      }, svg("title", {}, edge.values.slice(0, 12).map((v) => report.values[v].name).join(", ") || "its body"))));
    if (this.active && this.scene.querySelector(".active")) this.element.setAttribute("aria-activedescendant", this.domId(this.active));
    else this.element.removeAttribute("aria-activedescendant");
  },

  domId: (box) => "node-" + box.id.replace(/[^\w-]/g, "_"),

  drawBox(box, chosen) {
    const isOpen = box.kind === "group" && this.isOpen(box);
    const isLeft = shown === null || box.steps.some(isShown) || (box.kind === "argument" && readers[box.value].some(isShown));
    const name = `g.box.${box.kind}.${box.role}${isOpen ? ".open" : ""}${box === this.active ? ".active" : ""}${box === chosen ? ".chosen" : ""}${isLeft ? "" : ".dim"}`;
    const { title, detail, words } = this.wordsOf(box);
    const letters = Math.floor((box.w - (box.kind === "group" ? 34 : 20)) / 7.3);
    return svg(name, {
      id: this.domId(box), transform: `translate(${box.x.toFixed(1)} ${box.y.toFixed(1)})`, role: "treeitem", "aria-label": words,
      "aria-level": box.depth, "aria-expanded": box.kind === "group" ? String(isOpen) : undefined, "aria-selected": String(box === chosen),
      "data-id": box.id,
    },
    svg("title", {}, words),
    svg("rect", { width: box.w, height: box.h, rx: box.kind === "argument" ? 16 : 6 }),
    box.kind === "group" && svg("text.twist", { x: 10, y: 19 }, isOpen ? "▾" : "▸"),
    svg("text.name", { x: box.kind === "group" ? 24 : 10, y: 18 }, short(title, letters)),
    !isOpen && detail && svg("text.detail", { x: 10, y: box.h - 9 }, short(detail, Math.floor((box.w - 16) / 6.4))));
  },

  wordsOf(box) {
    if (box.kind === "argument") {
      const value = report.values[box.value];
      return { title: value.name, detail: value.type, words: `${value.kind} ${value.name}, ${value.type}` };
    }
    if (box.kind === "step") {
      const step = report.steps[box.steps[0]];
      const name = atomNames(step.gives).join(", ");
      const type = step.gives.length ? report.values[step.gives[0]].type : "";
      return {
        title: `${step.op}  ${name}`, detail: type,
        words: [`${name} = ${step.op} ${atomNames(step.reads).join(" ")}`, type, place(step.file, step.line)].filter(Boolean).join(", "),
      };
    }
    if (!box.cost) box.cost = total(box.steps.map((s) => report.steps[s].cost));
    const cost = mainMetric.of(box.cost);
    const many = box.steps.length ? plural(box.steps.length, "step") : plural(box.children.length, "value");
    const frame = report.frames[box.frame];
    const where = box.line ? place(box.line.file, box.line.line) : frame ? place(frame.file, frame.line) : "";
    const detail = [where, many, cost > 0 && mainMetric.show(cost)].filter(Boolean).join(" · ");
    return { title: box.label, detail, words: `${box.label}, ${detail}` };
  },

  /** The box of what is selected. */
  chosenBox() {
    const step = selectedStep();
    const { kind, id } = state.selected || {};
    const leaf = this.tree && this.tree.leaves.get(step >= 0 ? `s${step}` : kind === "value" ? `v${id}` : "");
    return leaf ? this.shownFor(leaf) : null;
  },

  /** Show all of the picture, or its top if that would be too small to read. */
  fit() {
    const { w, h: height } = this.tree.root;
    const room = { w: this.element.clientWidth - 32, h: this.element.clientHeight - 32 };
    if (room.w <= 0 || !w) return;
    const zoom = Math.max(0.7, Math.min(1.1, room.w / w, room.h / height));
    this.view = {
      zoom,
      x: Math.max(16, 16 + (room.w - w * zoom) / 2),
      y: Math.max(16, 16 + (room.h - height * zoom) / 2),
    };
    this.paint();
  },

  centre(box, isAlways = true) {
    if (!box) return;
    const width = this.element.clientWidth, height = this.element.clientHeight;
    const { x, y, zoom } = this.view;
    const at = { x: (box.x + Math.min(box.w, 300) / 2) * zoom + x, y: (box.y + Math.min(box.h, 200) / 2) * zoom + y };
    const isInside = at.x > 80 && at.y > 40 && at.x < width - 80 && at.y < height - 40;
    if (isInside && !isAlways) return;
    this.view.x += width / 2 - at.x;
    this.view.y += height / 2 - at.y;
  },

  zoomBy(factor, x = this.element.clientWidth / 2, y = this.element.clientHeight / 2) {
    const zoom = Math.max(0.12, Math.min(2.5, this.view.zoom * factor));
    const real = zoom / this.view.zoom;
    this.view = { zoom, x: x - (x - this.view.x) * real, y: y - (y - this.view.y) * real };
    this.soon();
  },

  soon() {
    if (this.isWaiting) return;
    this.isWaiting = true;
    requestAnimationFrame(() => { this.isWaiting = false; this.paint(); });
  },

  wheel(event) {
    const { left, top } = this.element.getBoundingClientRect();
    this.zoomBy(Math.exp(-event.deltaY * (event.deltaMode ? 0.04 : 0.0015)), event.clientX - left, event.clientY - top);
  },

  pointerdown(event) {
    if (event.button !== 0) return;
    const start = { x: event.clientX, y: event.clientY, view: { ...this.view } };
    const node = event.target.closest("[data-id]");
    let isDrag = false;
    const move = (e) => {
      const dx = e.clientX - start.x, dy = e.clientY - start.y;
      if (Math.abs(dx) + Math.abs(dy) > 4) { isDrag = true; this.element.classList.add("dragging"); }
      if (isDrag) { this.view.x = start.view.x + dx; this.view.y = start.view.y + dy; this.soon(); }
    };
    const end = (e) => {
      this.element.removeEventListener("pointermove", move);
      this.element.removeEventListener("pointerup", end);
      this.element.removeEventListener("pointercancel", end);
      this.element.classList.remove("dragging");
      if (!isDrag && node && e.type === "pointerup") this.choose(this.boxes.find((box) => box.id === node.dataset.id));
    };
    this.element.setPointerCapture(event.pointerId);
    this.element.addEventListener("pointermove", move);
    this.element.addEventListener("pointerup", end);
    this.element.addEventListener("pointercancel", end);
  },

  /** A click or Enter: groups fold and unfold, steps and arguments are selected. */
  choose(box) {
    if (!box) return;
    this.active = box;
    if (box.kind === "group") this.fold(box, this.isOpen(box));
    else if (box.kind === "argument") select("value", box.value);
    else selectStep(box.steps[0]);
  },

  fold(box, isFolded) {
    const before = { x: box.x * this.view.zoom + this.view.x, y: box.y * this.view.zoom + this.view.y };
    if (isFolded) this.open.delete(box.id);
    else this.open.add(box.id);
    this.layout();
    if (!isFolded && this.boxes.length > MOST_UNFOLDED) {
      this.open.delete(box.id);
      this.layout();
      this.say(`No more than ${MOST_UNFOLDED} boxes are shown: fold another one first.`);
    }
    // What was clicked stays under the pointer.
    this.view.x = before.x - box.x * this.view.zoom;
    this.view.y = before.y - box.y * this.view.zoom;
    this.paint();
    if (!this.warned) this.toolbar();
    this.warned = false;
  },

  say(text) {
    this.warned = true;
    this.toolbar(text);
  },

  activate(box) {
    if (!box) return;
    this.active = box;
    this.centre(box, false);
    this.paint();
  },

  keydown(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const side = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (side && event.shiftKey) {
      this.view.x -= 80 * side[0];
      this.view.y -= 80 * side[1];
      this.soon();
    } else if (side) this.activate(this.neighbour(side));
    else if (event.key === "+" || event.key === "=") this.zoomBy(1.25);
    else if (event.key === "-") this.zoomBy(0.8);
    else if (event.key === "0") this.fit();
    else if ((event.key === "Enter" || event.key === " ") && this.active) this.choose(this.active);
    else if (this.active && this.active.kind === "step" && followKey(event.key, this.active.steps[0])) { /* followed */ }
    else return;
    event.preventDefault();
  },

  /** The nearest box to one side of the active one; what is off that side's way counts as farther. */
  neighbour([sx, sy]) {
    const from = this.active || this.boxes[0];
    if (!from) return null;
    const middle = (box) => (box.kind === "group" && this.isOpen(box)
      ? [box.x + Math.min(box.w, 170) / 2, box.y + TITLE / 2] : [box.x + box.w / 2, box.y + box.h / 2]);
    const [fx, fy] = middle(from);
    let best = null, least = Infinity;
    for (const box of this.boxes) {
      if (box === from) continue;
      const [x, y] = middle(box);
      const ahead = (x - fx) * sx + (y - fy) * sy, aside = Math.abs((x - fx) * sy) + Math.abs((y - fy) * sx);
      if (ahead <= 1) continue;
      const far = ahead + 2.5 * aside;
      if (far < least) { least = far; best = box; }
    }
    return best;
  },

  /** Unfold what a leaf lies in. */
  reveal(leaf) {
    let isNew = false;
    for (let node = leaf.parent; node; node = node.parent) {
      if (!this.isOpen(node)) { this.open.add(node.id); isNew = true; }
    }
    return isNew;
  },

  toolbar(message = "") {
    const focused = document.activeElement && this.bar.contains(document.activeElement) ? document.activeElement.textContent : null;
    replace(this.bar,
      choice("How the graph is folded", { calls: "By call", lines: "By line", around: "Around the selection" }, this.mode, (mode) => this.setMode(mode)),
      h("span.quiet", { role: "status" }, message || `${plural(this.boxes.length, "box", "boxes")}${shown ? `, ${plural(shownCount(), "step")} match` : ""}`),
      h("span.space"),
      h("button", { type: "button", title: "Fold all", click: () => this.foldAll() }, "Fold all"),
      h("button", { type: "button", "aria-label": "Zoom out", click: () => this.zoomBy(0.8) }, "−"),
      h("button", { type: "button", "aria-label": "Zoom in", click: () => this.zoomBy(1.25) }, "+"),
      h("button", { type: "button", click: () => this.fit() }, "Fit"));
    if (focused) [...this.bar.querySelectorAll("button")].find((button) => button.textContent === focused)?.focus();
  },

  foldAll() {
    if (this.mode !== "around") {
      const walk = (node) => { this.open.delete(node.id); node.children.forEach(walk); };
      walk(this.tree.root);
    }
    this.layout();
    this.fit();
    this.toolbar();
  },

  setMode(mode) {
    this.mode = mode;
    this.active = null;
    this.grow();
    this.layout();
    this.toolbar();
    const box = this.chosenBox();
    this.fit();
    if (box) { this.centre(box, false); this.paint(); }
  },

  update(now, before) {
    const isNew = before === null;
    const isMoved = isNew || !sameThing(now.selected, before.selected);
    if (isNew || (this.mode === "around" && isMoved)) {
      this.grow();
      this.layout();
      this.fit();
    }
    if (isMoved) {
      const step = selectedStep();
      const leaf = this.tree.leaves.get(step >= 0 ? `s${step}` : now.selected && now.selected.kind === "value" ? `v${now.selected.id}` : "");
      if (leaf) {
        if (this.reveal(leaf)) this.layout();
        this.active = leaf;
        this.centre(leaf, this.mode === "around");
      }
    }
    this.toolbar();
    this.paint();
  },
};

function boundsOf(points) {
  const xs = points.map(([x]) => x), ys = points.map(([, y]) => y);
  const x = Math.min(...xs), y = Math.min(...ys);
  return { x, y, w: Math.max(...xs) - x, h: Math.max(...ys) - y };
}

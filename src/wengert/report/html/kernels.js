/* What the program runs, in order: a strip of time, and a table. */

/** Whether the line and the text leave a kernel: one of its steps, or its own name. */
function isKernelShown(kernel, k) {
  if (!isFiltered()) return true;
  if (stepsOfKernel[k].some(isShown)) return true;
  if (state.line) {
    const { file, line } = state.line;
    if (!kernel.lines.some(([f, l]) => f === file && l === line)) return false;
    return !state.text.trim();
  }
  const text = `${kernel.name} ${kernel.kind} ${kernel.fused.join(" ")} ${kernel.why}`.toLowerCase();
  return state.text.toLowerCase().split(/\s+/).filter(Boolean).every((word) => text.includes(word));
}

const kernels = {
  name: "kernels",
  label: "Kernels",
  sorted: { key: "order", down: false },

  make(panel) {
    this.most = Math.max(0, ...report.kernels.map((kernel) => mainMetric.of(kernel.cost)));
    this.bar = h("div.toolbar");
    this.strip = h("div.strip", { "aria-hidden": "true" });
    this.heads = h("div");
    this.list = new VirtualList({
      role: "grid", label: "Kernels", draw: (k) => this.draw(k), open: (k) => select("kernel", k), head: this.heads,
    });
    this.list.element.classList.add("kernels");
    panel.append(this.bar, this.strip, this.list.element);
    if (!report.kernels.length) replace(panel, nothing("The program runs no kernels."));
  },

  keys: {
    order: (k) => k,
    name: (k) => report.kernels[k].name,
    kind: (k) => report.kernels[k].kind,
    time: (k) => report.kernels[k].cost.time_s ?? 0,
    flops: (k) => report.kernels[k].cost.flops,
    bytes: (k) => report.kernels[k].cost.moved_bytes,
  },

  sort(key) {
    const { sorted } = this;
    this.sorted = { key, down: sorted.key === key ? !sorted.down : !["order", "name", "kind"].includes(key) };
    this.show();
    this.heads.querySelector(`[aria-sort]:not([aria-sort=none]) button`)?.focus();
  },

  draw(k) {
    const kernel = report.kernels[k];
    const { time_s: seconds, flops: work, moved_bytes: moved } = kernel.cost;
    const isChosen = state.selected && state.selected.kind === "kernel" && state.selected.id === k;
    const [first] = kernel.lines;
    return h(`div${isChosen ? ".chosen" : ""}`, { "aria-selected": String(Boolean(isChosen)) },
      h("span.index", {}, k),
      h("span.kind", {}, kindBadge(kernel.kind)),
      h("span.text.code", { title: kernelWords(kernel) }, kernelWords(kernel),
        kernel.why && h("span.why", {}, ` ${kernel.why}`)),
      h("span.place.wide", {}, first ? lineLink(first[0], first[1]) : "",
        kernel.lines.length > 1 ? h("span.quiet", {}, ` +${kernel.lines.length - 1}`) : ""),
      isMeasured && h("span.number", {}, time(seconds)),
      h("span.barcell", {}, bar(mainMetric.of(kernel.cost), 0, this.most)),
      h("span.number.wide", {}, work > 0 ? flops(work) : ""),
      h("span.number.wide", {}, moved > 0 ? bytes(moved) : ""));
  },

  show() {
    const order = [...report.kernels.keys()].filter((k) => isKernelShown(report.kernels[k], k));
    const { key, down } = this.sorted;
    const of = this.keys[key];
    if (key !== "order" || down) {
      order.sort((a, b) => {
        const [x, y] = [of(a), of(b)];
        return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1) || a - b;
      });
    }
    const active = this.list.items[this.list.active];
    this.list.set(order, (k) => k === active);
    replace(this.heads, columnHeads([
      { key: "order", text: "#", name: "index" }, { key: "kind", text: "Kind", name: "kind" }, { key: "name", text: "What it does", name: "text" },
      { text: "Lines", name: "place.wide" }, ...(isMeasured ? [{ key: "time", text: "Time", name: "number" }] : []), { text: "", name: "barcell" },
      { key: "flops", text: "Flops", name: "number.wide" }, { key: "bytes", text: "Bytes", name: "number.wide" },
    ], this.sorted, (k) => this.sort(k)));
    this.list.element.setAttribute("aria-rowcount", order.length);
    const kinds = new Map();
    for (const kernel of report.kernels) kinds.set(kernel.kind, (kinds.get(kernel.kind) || 0) + 1);
    replace(this.bar,
      h("span.quiet", { role: "status" }, counted(order.length, report.kernels.length, "kernel")),
      h("span.space"),
      h("p.legend", {}, [...kinds].map(([kind, many]) =>
        h("span", {}, h(`i.swatch.${KINDS[kind] || "quiet"}`, { "aria-hidden": "true" }), `${kind} ${count(many)}`))));
    this.drawStrip(order);
  },

  /** The kernels one after another, as wide as they take long; short ones in a row are one part. */
  drawStrip(order) {
    const shownOnes = new Set(order);
    const costs = report.kernels.map((kernel) => mainMetric.of(kernel.cost));
    const sum = costs.reduce((a, b) => a + b, 0);
    const parts = [];
    costs.forEach((cost, k) => {
      const kind = report.kernels[k].kind, isLeft = shownOnes.has(k);
      const last = parts[parts.length - 1];
      if (last && last.isLeft === isLeft && (last.cost + cost) / sum < 0.004) {
        last.cost += cost;
        last.to = k;
        last.byKind.set(kind, (last.byKind.get(kind) || 0) + cost);
      } else parts.push({ isLeft, cost, from: k, to: k, byKind: new Map([[kind, cost]]) });
    });
    for (const part of parts) [[part.kind]] = [...part.byKind].sort((a, b) => b[1] - a[1]);
    this.strip.classList.toggle("fine", parts.length > 120);
    replace(this.strip, sum > 0 ? parts.map(({ kind, isLeft, cost, from, to }) => h(`span.part.${KINDS[kind] || "quiet"}${isLeft ? "" : ".dim"}`, {
      style: { "flex-grow": String(cost / sum) },
      title: `${from === to ? `kernel ${from}: ${kernelWords(report.kernels[from])}` : `kernels ${from} to ${to}`}, ${mainMetric.show(cost)}, ${percent(cost / sum)}`,
      click: () => select("kernel", from),
    })) : null);
  },

  update(now, before) {
    this.show();
    const { kind, id } = now.selected || {};
    if (kind === "kernel" && (!before || !sameThing(now.selected, before.selected))) {
      this.list.activate(this.list.items.indexOf(id), "middle");
    }
  },
};

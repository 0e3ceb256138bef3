/* Memory as a map: kernels from left to right, addresses from top to bottom. */

const memory = {
  name: "memory",
  label: "Memory",
  choice: "moment",

  make(panel) {
    this.kernels = Math.max(report.kernels.length, ...report.memory.stored.map((s) => s.last + 1));
    this.arena = Math.max(report.memory.arena_bytes, ...report.memory.stored.map((s) => (s.offset >= 0 ? s.offset + s.nbytes : 0)), 1);
    this.moment = Math.max(0, report.memory.peak_kernel);
    this.hovered = -1;
    this.view = { from: 0, to: Math.max(1, this.kernels) };
    this.live = this.liveBytes();
    this.bar = h("div.toolbar");
    this.canvas = h("canvas");
    this.map = h("div.map", {
      tabindex: 0, role: "application", "aria-label": "Map of memory: arrow keys go through kernels and values",
      pointermove: (event) => this.hover(event), pointerleave: () => this.unhover(), click: (event) => this.click(event),
      keydown: (event) => this.keydown(event), blur: () => this.unhover(),
    }, this.canvas);
    this.map.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.shiftKey) return; // the wheel alone scrolls the page
      event.preventDefault();
      this.zoomBy(Math.exp(event.deltaY * 0.002), this.kernelAt(event.offsetX));
    }, { passive: false });
    this.tip = h("div.tip", { hidden: true });
    this.spoken = h("div.spoken", { "aria-live": "polite" });
    this.heads = columnHeads([
      { text: "Value", name: "name" }, { text: "Op", name: "op" }, { text: "Line", name: "place" }, { text: "Bytes", name: "number" },
      { text: "", name: "barcell" }, { text: "Kernels", name: "life" }, { text: "Why it is kept", name: "text" },
    ]);
    this.list = new VirtualList({
      role: "grid", label: "Values in memory", head: this.heads, draw: (s) => this.draw(s), open: (s) => this.choose(s),
    });
    this.list.element.classList.add("stored");
    panel.append(this.bar, h("div.mapbox", {}, this.map, this.tip), this.spoken, this.list.element);
    if (!report.memory.stored.length) replace(panel, nothing("The program keeps nothing in memory."));
    new ResizeObserver(() => this.paint()).observe(this.map);
  },

  /** Bytes that live at each kernel. What is written over a value that is read for the last time has its bytes. */
  liveBytes() {
    const changes = new Float64Array(this.kernels + 1), shared = new Float64Array(this.kernels + 1);
    const beginning = new Map();
    for (const s of report.memory.stored) {
      changes[Math.max(0, s.first)] += s.nbytes;
      changes[Math.min(this.kernels, Math.max(s.last, s.first) + 1)] -= s.nbytes;
      if (s.offset < 0) continue;
      if (!beginning.has(s.first)) beginning.set(s.first, []);
      beginning.get(s.first).push(s);
    }
    for (const s of report.memory.stored) {
      if (s.offset < 0 || s.first === s.last) continue;
      for (const next of beginning.get(s.last) || []) {
        const both = Math.min(s.offset + s.nbytes, next.offset + next.nbytes) - Math.max(s.offset, next.offset);
        if (both > 0) shared[s.last] += both;
      }
    }
    let sum = 0;
    return Array.from({ length: this.kernels }, (_, k) => (sum += changes[k]) - shared[k]);
  },

  /** The values that a choice lists: those at a moment, residuals or all, the largest first. */
  chosen() {
    const { stored } = report.memory;
    const all = [...stored.keys()].filter((i) => this.isLeft(i));
    const chosen = this.choice === "moment" ? all.filter((i) => stored[i].first <= this.moment && this.moment <= stored[i].last)
      : this.choice === "residuals" ? all.filter((i) => stored[i].is_residual) : all;
    return chosen.sort((a, b) => stored[b].nbytes - stored[a].nbytes || a - b);
  },

  isLeft(i) {
    if (!isFiltered()) return true;
    const s = report.memory.stored[i];
    if (state.line && !(s.file === state.line.file && s.line === state.line.line)) return false;
    const step = s.value >= 0 && report.values[s.value] ? report.values[s.value].step : -1;
    if (step >= 0) return isShown(step);
    const text = `${this.nameOf(s)} ${s.op} ${s.why}`.toLowerCase();
    return state.text.toLowerCase().split(/\s+/).filter(Boolean).every((word) => text.includes(word));
  },

  nameOf: (s) => (s.value >= 0 && report.values[s.value] ? report.values[s.value].name : s.op || "workspace"),

  draw(i) {
    const s = report.memory.stored[i];
    const isChosen = state.selected && state.selected.kind === "value" && s.value >= 0 && state.selected.id === s.value;
    return h(`div${isChosen ? ".chosen" : ""}`, { "aria-selected": String(Boolean(isChosen)) },
      h("span.name.code", {}, this.nameOf(s)), h("span.op.code", {}, s.op), h("span.place", {}, lineLink(s.file, s.line) || ""),
      h("span.number", {}, bytes(s.nbytes)), h("span.barcell", {}, bar(s.is_residual ? 0 : s.nbytes, s.is_residual ? s.nbytes : 0, this.largest)),
      h("span.life", {}, s.first === s.last ? s.first : `${s.first}–${s.last}`),
      h("span.text", { title: s.why }, s.is_residual && badge("residual", "backward"), s.why));
  },

  choose(i) {
    const s = report.memory.stored[i];
    this.hovered = i;
    if (s.value >= 0) select("value", s.value);
    this.paint();
  },

  show() {
    const { stored, peak_bytes: peak, peak_kernel: at } = report.memory;
    this.largest = Math.max(1, ...stored.map((s) => s.nbytes));
    const items = this.chosen();
    this.list.set(items);
    const sum = items.reduce((n, i) => n + stored[i].nbytes, 0);
    const moment = this.moment === at ? `At the peak, kernel ${at}` : `At kernel ${this.moment}`;
    replace(this.bar,
      choice("Which values are listed", { moment, residuals: "Residuals", all: "All" }, this.choice, (name) => { this.choice = name; this.show(); }),
      h("span.quiet", { role: "status" }, `${plural(items.length, "value")}, ${bytes(sum)}`),
      h("span.space"),
      this.moment !== at && at >= 0 && h("button", { type: "button", click: () => this.go(at) }, `Peak: ${bytes(peak)}`),
      h("button", { type: "button", "aria-label": "Show more kernels", click: () => this.zoomBy(1.6) }, "−"),
      h("button", { type: "button", "aria-label": "Show fewer kernels", click: () => this.zoomBy(1 / 1.6) }, "+"),
      legend(["temporary", "temporary"], ["backward", "kept for the way back"], ["result", "result"]));
    this.paint();
  },

  /** Look at another kernel. */
  go(kernel) {
    this.moment = Math.max(0, Math.min(this.kernels - 1, kernel));
    this.choice = "moment";
    const { from, to } = this.view;
    if (this.moment < from || this.moment >= to) {
      const half = (to - from) / 2;
      this.view = this.inside(this.moment - half, this.moment + half);
    }
    this.show();
  },

  inside(from, to) {
    const width = Math.min(Math.max(1, this.kernels), Math.max(4, to - from));
    from = Math.max(0, Math.min(this.kernels - width, from));
    return { from, to: from + Math.max(1, width) };
  },

  zoomBy(factor, around = this.moment + 0.5) {
    const { from, to } = this.view;
    this.view = this.inside(around - (around - from) * factor, around + (to - around) * factor);
    this.paint();
  },

  /* -- the picture: a curve of what lives above, the arena below, results and others without an address under it */

  measure() {
    const width = this.map.clientWidth, height = this.map.clientHeight;
    const left = 64, right = 12, top = 16, curve = Math.round(height * 0.24), foot = 22;
    const hasOutside = report.memory.stored.some((s) => s.offset < 0);
    const outside = hasOutside ? Math.round(height * 0.16) : 0;
    const arena = { y: top + curve + 14, h: height - foot - outside - (top + curve + 14) - (hasOutside ? 8 : 0) };
    return { width, height, left, right: width - right, curve: { y: top, h: curve }, arena, outside: { y: arena.y + arena.h + 8, h: outside } };
  },

  x(kernel, m) { return m.left + ((kernel - this.view.from) / (this.view.to - this.view.from)) * (m.right - m.left); },

  kernelAt(x) {
    const m = this.measure();
    return this.view.from + ((x - m.left) / (m.right - m.left)) * (this.view.to - this.view.from);
  },

  /** Rows for what has no address in the arena, so that those of the same time do not lie on one another. */
  rowsOutside() {
    if (this.outsideRows) return this.outsideRows;
    const ends = [];
    const rows = new Map();
    report.memory.stored.forEach((s, i) => {
      if (s.offset >= 0) return;
      let row = ends.findIndex((end) => end < s.first);
      if (row < 0) row = ends.length;
      ends[row] = s.last;
      rows.set(i, row);
    });
    this.outsideRows = { rows, many: Math.max(1, ends.length) };
    return this.outsideRows;
  },

  boxOf(s, i, m) {
    const x = this.x(s.first, m), w = Math.max(1, this.x(s.last + 1, m) - x);
    if (s.offset >= 0) return { x, w, y: m.arena.y + (s.offset / this.arena) * m.arena.h, h: Math.max(1.5, (s.nbytes / this.arena) * m.arena.h) };
    const { rows, many } = this.rowsOutside();
    return { x, w, y: m.outside.y + (rows.get(i) / many) * m.outside.h, h: Math.max(1.5, m.outside.h / many - 1) };
  },

  paint() {
    const m = this.measure();
    if (!m.width || !m.height || !report.memory.stored.length) return;
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(m.width * ratio);
    this.canvas.height = Math.round(m.height * ratio);
    const g = this.canvas.getContext("2d");
    g.scale(ratio, ratio);
    const colours = Object.fromEntries(["text", "muted", "line", "temporary", "backward", "result", "accent", "view", "soft"].map((c) => [c, colour(c)]));
    g.font = "11px system-ui, sans-serif";
    g.textBaseline = "middle";
    const { peak_bytes: peak, peak_kernel: at, stored } = report.memory;
    const most = Math.max(peak, ...this.live, 1);
    // The curve of what lives.
    g.save();
    g.beginPath();
    g.rect(m.left, 0, m.right - m.left, m.height);
    g.clip();
    const bottom = m.curve.y + m.curve.h;
    const from = Math.max(0, Math.floor(this.view.from)), to = Math.min(this.kernels, Math.ceil(this.view.to));
    g.beginPath();
    g.moveTo(this.x(from, m), bottom);
    for (let k = from; k < to; k += 1) {
      const y = bottom - (this.live[k] / most) * m.curve.h;
      g.lineTo(this.x(k, m), y);
      g.lineTo(this.x(k + 1, m), y);
    }
    g.lineTo(this.x(to, m), bottom);
    g.closePath();
    g.fillStyle = colours.soft;
    g.fill();
    g.strokeStyle = colours.accent;
    g.lineWidth = 1.2;
    g.stroke();
    // Who lives where.
    const chosenValue = state.selected && state.selected.kind === "value" ? state.selected.id : -1;
    stored.forEach((s, i) => {
      if (s.last < this.view.from - 1 || s.first > this.view.to) return;
      const box = this.boxOf(s, i, m);
      g.globalAlpha = this.isLeft(i) ? 1 : 0.18;
      g.fillStyle = s.is_residual ? colours.backward : s.offset < 0 ? colours.result : colours.temporary;
      g.fillRect(box.x, box.y, box.w, box.h);
      if (box.w > 3 && box.h > 3) {
        g.strokeStyle = colours.view;
        g.lineWidth = 1;
        g.strokeRect(box.x + 0.5, box.y + 0.5, box.w - 1, box.h - 1);
      }
      if (box.w > 46 && box.h > 13) {
        g.fillStyle = colours.view;
        const name = `${this.nameOf(s)}  ${bytes(s.nbytes)}`;
        g.fillText(short(name, Math.floor((box.w - 10) / 6.2)), box.x + 6, box.y + box.h / 2);
      }
      g.globalAlpha = 1;
      if (i === this.hovered || (s.value >= 0 && s.value === chosenValue)) {
        g.strokeStyle = colours.text;
        g.lineWidth = 2;
        g.strokeRect(box.x, box.y, Math.max(2, box.w), Math.max(2, box.h));
      }
    });
    // The moment, and the peak.
    const column = (kernel, style, dash) => {
      const x = this.x(kernel + 0.5, m);
      g.strokeStyle = style;
      g.lineWidth = 1.2;
      g.setLineDash(dash);
      g.beginPath();
      g.moveTo(x, m.curve.y - 4);
      g.lineTo(x, m.height - 20);
      g.stroke();
      g.setLineDash([]);
    };
    if (this.moment !== at) column(this.moment, colours.accent, []);
    if (at >= 0) column(at, colours.text, [4, 3]);
    g.restore();
    this.labels(g, m, colours, most, at, peak);
  },

  labels(g, m, colours, most, at, peak) {
    g.fillStyle = colours.muted;
    g.textAlign = "right";
    g.fillText(bytes(most), m.left - 8, m.curve.y + 4);
    g.fillText("0", m.left - 8, m.curve.y + m.curve.h);
    g.fillText("arena", m.left - 8, m.arena.y + 8);
    g.fillText(bytes(this.arena), m.left - 8, m.arena.y + m.arena.h - 6);
    if (m.outside.h) g.fillText("results", m.left - 8, m.outside.y + m.outside.h / 2);
    g.textAlign = "center";
    const width = this.view.to - this.view.from;
    const step = niceStep(width / Math.max(2, (m.right - m.left) / 90));
    for (let k = Math.ceil(this.view.from / step) * step; k < this.view.to; k += step) g.fillText(String(k), this.x(k + 0.5, m), m.height - 10);
    g.textAlign = "right";
    g.fillText("kernel", m.left - 8, m.height - 10);
    if (at >= this.view.from && at < this.view.to) {
      const x = this.x(at + 0.5, m), text = `peak ${bytes(peak)}`;
      g.fillStyle = colours.text;
      g.textAlign = x > m.right - 110 ? "right" : "left";
      g.fillText(text, x + (g.textAlign === "left" ? 5 : -5), 8);
    }
  },

  /** What lies at a point: the last drawn, which is on top. */
  at(x, y) {
    const m = this.measure();
    const { stored } = report.memory;
    for (let i = stored.length - 1; i >= 0; i -= 1) {
      const box = this.boxOf(stored[i], i, m);
      if (x >= box.x && x <= box.x + box.w && y >= box.y && y <= box.y + box.h) return i;
    }
    return -1;
  },

  hover(event) {
    const found = this.at(event.offsetX, event.offsetY);
    if (found !== this.hovered) { this.hovered = found; this.paint(); }
    this.showTip(found, event.offsetX, event.offsetY);
  },

  unhover() {
    this.hovered = -1;
    this.tip.hidden = true;
    this.paint();
  },

  showTip(i, x, y) {
    this.tip.hidden = i < 0;
    if (i < 0) return;
    const s = report.memory.stored[i];
    const value = report.values[s.value];
    replace(this.tip,
      h("b.code", {}, this.nameOf(s)), value && h("span.type", {}, ` ${value.type}`),
      h("div", {}, [s.op, place(s.file, s.line)].filter(Boolean).join(" · ")),
      h("div", {}, `${bytes(s.nbytes)}, ${s.first === s.last ? `kernel ${s.first}` : `kernels ${s.first} to ${s.last}`}`),
      s.why && h("div.quiet", {}, s.why));
    const width = this.map.clientWidth;
    this.tip.style.left = `${Math.max(4, Math.min(x + 14, width - 270))}px`;
    this.tip.style.top = `${y + 16}px`;
  },

  click(event) {
    const found = this.at(event.offsetX, event.offsetY);
    if (found >= 0) this.choose(found);
    this.go(Math.floor(this.kernelAt(event.offsetX)));
  },

  /** Left and right go to other kernels, up and down through what lives there. */
  keydown(event) {
    const { stored, peak_kernel: peak } = report.memory;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const alive = () => [...stored.keys()].filter((i) => stored[i].first <= this.moment && this.moment <= stored[i].last)
      .sort((a, b) => stored[a].offset - stored[b].offset || a - b);
    if (event.key === "ArrowLeft") this.go(this.moment - 1);
    else if (event.key === "ArrowRight") this.go(this.moment + 1);
    else if (event.key === "Home") this.go(0);
    else if (event.key === "End") this.go(this.kernels - 1);
    else if (event.key === "p" && peak >= 0) this.go(peak);
    else if (event.key === "+" || event.key === "=") this.zoomBy(1 / 1.6);
    else if (event.key === "-") this.zoomBy(1.6);
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const there = alive();
      if (there.length) {
        const step = event.key === "ArrowDown" ? 1 : -1;
        const index = there.indexOf(this.hovered);
        this.hovered = there[index < 0 ? (step > 0 ? 0 : there.length - 1) : (index + step + there.length) % there.length];
        const m = this.measure(), box = this.boxOf(stored[this.hovered], this.hovered, m);
        this.paint();
        this.showTip(this.hovered, this.x(this.moment + 0.5, m), box.y);
        this.spoken.textContent = this.tip.textContent;
      }
    } else if (event.key === "Enter" && this.hovered >= 0) this.choose(this.hovered);
    else return;
    if (event.key.startsWith("Arrow") && !["ArrowDown", "ArrowUp"].includes(event.key)) {
      this.spoken.textContent = `Kernel ${this.moment}, ${bytes(this.live[this.moment] || 0)} live`;
    }
    event.preventDefault();
  },

  update(now, before) {
    if (before && now.text === before.text && now.line === before.line && !sameThing(now.selected, before.selected)) {
      this.list.paint(true);
      this.paint();
      return;
    }
    this.show();
  },
};

/** 1, 2 or 5 times a power of ten, at least x and at least 1. */
function niceStep(x) {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, x)));
  return [1, 2, 5, 10].map((k) => k * power).find((step) => step >= x) || power;
}

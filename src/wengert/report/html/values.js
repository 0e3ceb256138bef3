/* Every value with the reason why it is active, or not, and why it is kept. */

const values = {
  name: "values",
  label: "Values",
  choice: "all",

  choices: {
    all: ["All", () => true],
    residual: ["Residuals", (_, v) => storedOf.has(v) && report.memory.stored[storedOf.get(v)].is_residual],
    active: ["Active", (value) => value.is_active],
    inactive: ["Inactive", (value) => !value.is_active && !roleOf(value)],
    derivative: ["Of derivatives", (value) => Boolean(roleOf(value))],
    argument: ["Arguments", (value) => value.kind === "argument" || value.kind === "captured"],
    result: ["Results", (value) => value.is_result],
  },

  make(panel) {
    this.bar = h("div.toolbar");
    this.numbers = [...report.values.keys()].filter((v) => report.values[v].kind !== "literal");
    this.many = Object.fromEntries(Object.entries(this.choices).map(([name, [, test]]) =>
      [name, this.numbers.filter((v) => test(report.values[v], v)).length]));
    this.list = new VirtualList({
      role: "grid", label: "Values", draw: (v) => this.draw(v), open: (v) => select("value", v),
      head: columnHeads([
        { text: "Value", name: "name" }, { text: "Type", name: "type" }, { text: "Bytes", name: "number" }, { text: "Made by", name: "op" },
        { text: "Line", name: "place" }, { text: "Active", name: "kind" }, { text: "Reason", name: "text" },
      ]),
      key: (event, v) => report.values[v].step >= 0 && followKey(event.key, report.values[v].step),
    });
    this.list.element.classList.add("values");
    panel.append(this.bar, this.list.element);
  },

  /** The reason that is asked for: why it is kept, or why it is active or not. */
  reason(v) {
    if (this.choice === "residual") return report.memory.stored[storedOf.get(v)].why;
    return report.values[v].why;
  },

  draw(v) {
    const value = report.values[v], step = report.steps[value.step];
    const isChosen = state.selected && state.selected.kind === "value" && state.selected.id === v;
    return h(`div${isChosen ? ".chosen" : ""}`, { "aria-selected": String(Boolean(isChosen)) },
      h("span.name.code", {}, value.name), h("span.type", { title: value.type }, value.type), h("span.number", {}, bytes(value.nbytes)),
      h("span.op.code", {}, step ? step.op : value.kind), h("span.place", {}, step ? lineLink(step.file, step.line) || "" : ""),
      h("span.kind", {}, activityBadge(value), value.is_result && badge("result", "result")),
      h("span.text", { title: this.reason(v) }, this.reason(v)));
  },

  isLeft(v) {
    if (!isFiltered()) return true;
    const value = report.values[v];
    if (value.step >= 0) return isShown(value.step);
    if (state.line) return readers[v].some(isShown);
    const text = `${value.name} ${value.type} ${value.kind}`.toLowerCase();
    return state.text.toLowerCase().split(/\s+/).filter(Boolean).every((word) => text.includes(word));
  },

  show() {
    const test = this.choices[this.choice][1];
    const items = this.numbers.filter((v) => test(report.values[v], v) && this.isLeft(v));
    const active = this.list.items[this.list.active];
    this.list.set(items, (v) => v === active);
    replace(this.bar,
      choice("Which values are listed", Object.fromEntries(Object.entries(this.choices).filter(([name]) => this.many[name] || name === "all")
        .map(([name, [text]]) => [name, `${text} ${count(this.many[name])}`])), this.choice, (name) => { this.choice = name; this.list.element.scrollTop = 0; this.show(); }),
      h("span.quiet", { role: "status" }, `${plural(items.length, "value")}, ${bytes(items.reduce((n, v) => n + report.values[v].nbytes, 0))}`));
  },

  update(now, before) {
    this.show();
    const { kind, id } = now.selected || {};
    if (kind === "value" && (!before || !sameThing(now.selected, before.selected))) this.list.activate(this.list.items.indexOf(id), "middle");
  },
};

/* The user's code, with what each line costs beside it. */

const KEYWORDS = new Set(("and as assert async await break case class continue def del elif else except finally for from "
  + "global if import in is lambda match nonlocal not or pass raise return try while with yield True False None").split(" "));
const TOKEN = /("""|'''|"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?)|(#.*)|(\b\d[\w.]*\b)|([A-Za-z_]\w*)|([\s\S])/g;

/**
 * A line of Python in colours.
 * @param {{quote: string}} memory the quotes of a long text in which the line before ended
 */
function highlighted(text, memory = { quote: "" }) {
  const parts = [];
  const plain = (word) => {
    if (typeof parts[parts.length - 1] === "string") parts[parts.length - 1] += word;
    else parts.push(word);
  };
  let rest = text;
  if (memory.quote) {
    const end = text.indexOf(memory.quote);
    if (end < 0) return [h("span.string", {}, text)];
    parts.push(h("span.string", {}, text.slice(0, end + 3)));
    rest = text.slice(end + 3);
    memory.quote = "";
  }
  TOKEN.lastIndex = 0;
  for (let match; (match = TOKEN.exec(rest)); ) {
    const [word, string, comment, number, name] = match;
    if (string === '"""' || string === "'''") {
      const end = rest.indexOf(string, TOKEN.lastIndex);
      const stop = end < 0 ? rest.length : end + 3;
      if (end < 0) memory.quote = string;
      parts.push(h("span.string", {}, rest.slice(match.index, stop)));
      TOKEN.lastIndex = stop;
      if (stop >= rest.length) break;
    } else if (string) parts.push(h("span.string", {}, word));
    else if (comment) parts.push(h("span.comment", {}, word));
    else if (number) parts.push(h("span.literal", {}, word));
    else if (name && KEYWORDS.has(name)) parts.push(h("span.keyword", {}, word));
    else plain(word);
  }
  return parts;
}

/** What is to be said at lines: loops, guards and advice, by the key of the line. */
const marks = new Map();
function mark(file, line, name, text, title) {
  const key = lineKey(file, line);
  if (!marks.has(key)) marks.set(key, []);
  const there = marks.get(key), known = there.find((m) => m.text === text);
  if (known) { known.many += 1; known.title += `\n${title}`; }
  else there.push({ name, text, title, many: 1 });
}
report.advice.forEach((advice) => mark(advice.file, advice.line, "warn", "slow", advice.text));
report.loops.forEach((loop) => mark(loop.file, loop.line, loop.became ? "good" : "warn", loop.became || "unrolled", loop.why));
report.guards.forEach((guard) => mark(guard.file, guard.line, "guard", "guard", guard.text));

const source = {
  name: "source",
  label: "Source",
  make(panel) {
    this.file = Math.max(0, usedFiles[0] ?? 0);
    this.bar = h("div.toolbar");
    this.most = {};
    this.list = new VirtualList({
      role: "grid",
      label: "Source lines",
      height: 24,
      head: columnHeads([
        { text: "Line", name: "lineno" }, { text: "Code", name: "text" }, { text: "", name: "marks" },
        { text: "Forward", name: "number.wide" }, { text: hasBackward ? capital(backWord) : "", name: "number.wide" },
        { text: "Total", name: "number" }, { text: "", name: "barcell" },
      ]),
      draw: (row) => this.draw(row),
      open: (row) => this.open(row),
    });
    this.list.element.classList.add("source");
    panel.append(this.bar, this.list.element);
    if (!usedFiles.length) replace(panel, nothing("The source of the function could not be read."));
  },

  rows() {
    const file = report.files[this.file];
    if (!file) return [];
    const memory = { quote: "" };
    return file.text.map((text, i) => {
      const number = file.first + i;
      const quote = memory.quote;
      highlighted(text, memory);
      return { text, quote, number, line: lineCosts.get(lineKey(this.file, number)) };
    });
  },

  draw({ text, quote, number, line }) {
    const key = lineKey(this.file, number);
    const metric = METRICS[state.metric];
    const [there, way] = line ? [metric.of(line.forward), metric.of(line.backward)] : [0, 0];
    const isChosen = state.line && state.line.file === this.file && state.line.line === number;
    const isDim = state.text.trim() && !(stepsOfLine.get(key) || []).some(isShown);
    const faint = (x) => (x < 0.01 * this.most ? ".faint" : "");
    return h(`div.line${isChosen ? ".chosen" : ""}${isDim ? ".dim" : ""}${line ? "" : ".idle"}`, {
      "aria-selected": String(Boolean(isChosen)),
    },
    h("span.lineno", {}, number),
    h("span.text.code", {}, highlighted(text, { quote })),
    h("span.marks", {}, (marks.get(key) || []).map((m) => h(`span.badge.${m.name}`, { title: m.title }, m.many > 1 ? `${m.many} × ${m.text}` : m.text))),
    h(`span.number.wide${faint(there)}`, {}, there > 0 ? metric.show(there) : ""),
    h(`span.number.wide${faint(way)}`, {}, way > 0 ? metric.show(way) : ""),
    h(`span.number${faint(there + way)}`, {}, there + way > 0 ? metric.show(there + way) : ""),
    h("span.barcell", {}, there + way > 0 && bar(there, way, this.most)));
  },

  /** Filter everything by a line; the same line again filters no more. */
  open({ number }) {
    const isChosen = state.line && state.line.file === this.file && state.line.line === number;
    if (isChosen) { change({ line: null, selected: null }); return; }
    change({ line: { file: this.file, line: number }, selected: { kind: "line", id: lineKey(this.file, number) } });
  },

  update(now, before) {
    const isNew = before === null;
    if (now.line && (isNew || now.line !== before.line) && usedFiles.includes(now.line.file)) this.file = now.line.file;
    const metric = METRICS[now.metric];
    this.most = Math.max(0, ...[...lineCosts.values()].map((line) => metric.of(lineTotal(line))));
    replace(this.bar,
      usedFiles.length > 1
        ? h("label", {}, "File ", h("select", { change: (event) => { this.file = Number(event.target.value); this.update(state, state); } },
          usedFiles.map((f) => h("option", { value: f, selected: f === this.file }, report.files[f].path))))
        : h("span.path", {}, report.files[this.file] ? report.files[this.file].path : ""),
      choice("What is shown beside the lines", Object.fromEntries(Object.entries(METRICS)
        .filter(([name]) => name !== "time" || isMeasured).map(([name, m]) => [name, m.label])), now.metric,
      (name) => change({ metric: name })),
      hasBackward && legend(["forward", "forward"], ["backward", backWord]));
    this.list.set(this.rows());
    if (now.line && (isNew || now.line !== before.line)) {
      this.list.activate(now.line.line - report.files[this.file].first, "middle");
    }
  },
};

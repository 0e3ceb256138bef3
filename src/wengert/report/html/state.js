/* What is looked at: a tab, a line and a text that filter everything, a selected thing; and the way back. */

const state = {
  tab: "overview",
  /** @type {{file: number, line: number}|null} */
  line: null,
  text: "",
  /** @type {{kind: "value"|"step"|"kernel"|"line"|"frame", id: any}|null} */
  selected: null,
  metric: isMeasured ? "time" : report.cost.flops > 0 ? "flops" : "bytes",
};

const listeners = [];

/** The steps that the line and the text leave, by number; null if all are left. */
let shown = null;

function isFiltered() { return state.line !== null || state.text.trim() !== ""; }

function isShown(step) { return shown === null || shown[step] === 1; }

function filterSteps() {
  if (!isFiltered()) { shown = null; return; }
  const asked = stepQuery(state.text);
  shown = new Uint8Array(report.steps.length);
  const candidates = state.line ? stepsOfLine.get(lineKey(state.line.file, state.line.line)) || [] : report.steps.keys();
  for (const s of candidates) if (asked(s)) shown[s] = 1;
}

function shownCount() { return shown === null ? report.steps.length : shown.reduce((n, x) => n + x, 0); }

const sameThing = (a, b) => a === b || (a !== null && b !== null && a.kind === b.kind && String(a.id) === String(b.id));

/**
 * Change what is looked at, and tell everyone.
 * @param {Partial<typeof state>} changes
 * @param {boolean} isStep whether the browser's way back leads to what was before
 */
function change(changes, isStep = true) {
  const before = { ...state };
  Object.assign(state, changes);
  if (state.line !== before.line || state.text !== before.text) filterSteps();
  if (isStep && (state.tab !== before.tab || !sameThing(state.selected, before.selected) || state.line !== before.line)) {
    remember();
  }
  for (const listener of listeners) listener(state, before);
}

const select = (kind, id, more = {}) => change({ selected: kind === null ? null : { kind, id }, ...more });

/* A page in a notebook's frame has no address of its own: it keeps its way back to itself. */
const hasAddress = location.protocol !== "about:";
const visited = [];

function remember() {
  const words = [`tab=${state.tab}`];
  if (state.line) words.push(`line=${state.line.file}.${state.line.line}`);
  if (state.selected) words.push(`at=${state.selected.kind}.${encodeURIComponent(state.selected.id)}`);
  visited.push(words.join("&"));
  if (hasAddress) {
    try { history.pushState(null, "", "#" + words.join("&")); } catch { /* a browser that allows no address here */ }
  }
}

/** Look at what an address says, if it says something of this report. */
function recall(address) {
  const said = new URLSearchParams(address);
  const tab = said.get("tab");
  const [file, line] = (said.get("line") || "").split(".").map(Number);
  const [, kind, id] = (said.get("at") || "").match(/^(\w+)\.(.+)$/) || [];
  const many = { value: report.values, step: report.steps, kernel: report.kernels, frame: report.frames }[kind];
  const isThere = many ? Number(id) >= 0 && Number(id) < many.length : kind === "line" && /^\d+:\d+$/.test(id);
  change({
    tab: tab && tabs.some((t) => t.name === tab) ? tab : state.tab,
    line: said.get("line") && report.files[file] ? { file, line } : null,
    selected: isThere ? { kind, id: kind === "line" ? id : Number(id) } : null,
  }, false);
}

/** The last thing that was looked at. */
function back() {
  if (hasAddress) { history.back(); return; }
  visited.pop();
  recall(visited[visited.length - 1] || "tab=overview");
}

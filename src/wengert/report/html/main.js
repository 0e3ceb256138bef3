/* The page: a head with the search, tabs, one view at a time, and the inspector beside it. */

const tabs = [overview, source, tape, graph, kernels, memory, values, decisions];

const KEYS = [
  ["/", "search"], ["Esc", "clear the search, the line, the selection, one after another"], ["?", "this list"],
  ["Tab", "to the next part of the page"], ["← →", "other tabs; fold and unfold in the tape; neighbours in the graph"],
  ["↑ ↓", "rows of lists and of the tape; values in the map of memory"], ["Enter", "select, or filter by a line of the source"],
  ["m  r  c", "in the tape and the graph: to the maker of an operand, to the first reader, to the cotangent"],
  ["+  −  0", "zoom the graph; 0 shows all of it"], ["Shift and arrows", "move the graph"], ["p", "in memory: to the peak"],
];

function themeButton() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (document.documentElement.dataset.theme || (dark.matches ? "dark" : "light")) === "dark";
  const button = h("button.quietly", { type: "button", id: "theme" });
  const show = () => {
    button.textContent = isDark() ? "☀" : "☾";
    button.setAttribute("aria-label", isDark() ? "Light colours" : "Dark colours");
    button.title = button.getAttribute("aria-label");
    if (memory.canvas) memory.paint();
  };
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("wengert-theme", document.documentElement.dataset.theme); } catch { /* a frame without storage */ }
    show();
  });
  dark.addEventListener("change", show);
  try {
    const kept = localStorage.getItem("wengert-theme");
    if (kept === "dark" || kept === "light") document.documentElement.dataset.theme = kept;
  } catch { /* a frame without storage */ }
  return { button, show };
}

function helpDialog() {
  const dialog = h("dialog", { "aria-labelledby": "help-title", click: (event) => { if (event.target === dialog) dialog.close(); } },
    h("h2", { id: "help-title" }, "Keys"),
    h("dl.keys", {}, KEYS.map(([key, what]) => [h("dt", {}, key.split(/ {2,}| (?=[→↓])/).map((k) => h("kbd", {}, k))), h("dd", {}, what)])),
    h("h2", {}, "Search"),
    h("p", {}, "Every word must be in a step: its op, values, types, call, line or the text of the line. ",
      h("code", {}, "op:add"), ", ", h("code", {}, "value:v12"), " and ", h("code", {}, "line:7"), " ask for one of these exactly."),
    h("form", { method: "dialog" }, h("button", {}, "Close")));
  return dialog;
}

function build() {
  const search = h("input", {
    type: "search", id: "search", placeholder: "Search steps, values, lines", "aria-label": "Search steps, values, lines",
    autocomplete: "off", spellcheck: "false",
    input: () => change({ text: search.value, tab: ["overview", "source"].includes(state.tab) && search.value ? "tape" : state.tab }, false),
    keydown: (event) => {
      if (event.key === "Enter" || event.key === "ArrowDown") { focusView(); event.preventDefault(); }
    },
  });
  const chip = h("button.chip", { type: "button", hidden: true, title: "Show all lines again", click: () => change({ line: null }) });
  const help = helpDialog();
  const theme = themeButton();
  const buttons = tabs.map((tab) => h("button", {
    role: "tab", type: "button", id: `tab-${tab.name}`, "aria-controls": `panel-${tab.name}`, click: () => change({ tab: tab.name }),
    "data-label": tab.label,
  }, tab.label));
  const panels = tabs.map((tab) => h("section.panel", { role: "tabpanel", id: `panel-${tab.name}`, "aria-labelledby": `tab-${tab.name}`, hidden: true }));
  const made = new Set();

  function focusView() {
    const panel = panels[tabs.findIndex((tab) => tab.name === state.tab)];
    (panel.querySelector(".list, .graph") || panel.querySelector("button"))?.focus();
  }

  const tablist = h("nav.tabs", { "aria-label": "Views" }, h("div", {
    role: "tablist",
    keydown: (event) => {
      const at = tabs.findIndex((tab) => tab.name === state.tab);
      const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
      if (to === undefined) return;
      const tab = tabs[(to + tabs.length) % tabs.length];
      change({ tab: tab.name });
      buttons[tabs.indexOf(tab)].focus();
      event.preventDefault();
    },
  }, buttons));

  document.body.append(
    h("header.head-bar", {},
      h("h1", { title: report.title }, report.title),
      h("p.summary", {}, [isMeasured && time(report.cost.time_s), report.cost.flops > 0 && flops(report.cost.flops),
        `${bytes(report.memory.peak_bytes)} peak`].filter(Boolean).join(" · ")),
      h("span.space"), chip, h("div.searchbox", {}, search, h("kbd", { "aria-hidden": "true" }, "/")), theme.button,
      h("button.quietly", { type: "button", "aria-label": "Keys and help", title: "Keys and help (?)", click: () => help.showModal() }, "?")),
    tablist,
    h("main", {}, panels, inspector.make()),
    help,
    h("span", { id: "probe", hidden: true }));
  theme.show();

  function update(now, before) {
    tabs.forEach((tab, i) => {
      const isOn = tab.name === now.tab;
      buttons[i].setAttribute("aria-selected", String(isOn));
      buttons[i].tabIndex = isOn ? 0 : -1;
      panels[i].hidden = !isOn;
      if (!isOn) return;
      if (!before || before.tab !== now.tab) buttons[i].scrollIntoView({ block: "nearest", inline: "nearest" });
      const isFirst = !made.has(tab.name);
      if (isFirst) { made.add(tab.name); tab.make(panels[i]); tab.seen = null; }
      const seen = tab.seen;
      tab.seen = { ...now };
      tab.update(now, isFirst ? null : seen);
    });
    chip.hidden = now.line === null;
    if (now.line) replace(chip, `only ${place(now.line.file, now.line.line)}`, h("span", { "aria-hidden": "true" }, " ✕"));
    if (search.value !== now.text) search.value = now.text;
    inspector.update(now, before);
  }
  listeners.push(update);

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const isTyping = event.target.matches("input, select, textarea");
    if (help.open) return;
    if (event.key === "Escape") {
      if (state.text) change({ text: "" }, false);
      else if (state.line) change({ line: null });
      else if (state.selected) {
        const had = inspector.element.contains(document.activeElement);
        select(null);
        if (had) focusView();
      } else return;
    } else if (isTyping) return;
    else if (event.key === "/") { search.focus(); search.select(); } else if (event.key === "?") help.showModal();
    else return;
    event.preventDefault();
  });
  if (hasAddress) {
    addEventListener("popstate", () => recall(location.hash.slice(1)));
  }
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));

  /** On paper all views stand one after another, with as many rows as a reader leafs through. */
  function print(isPaper) {
    document.body.classList.toggle("printing", isPaper);
    tabs.forEach((tab, i) => {
      if (isPaper && !made.has(tab.name) && tab !== graph) { made.add(tab.name); tab.make(panels[i]); tab.update(state, null); }
      panels[i].dataset.title = tab.label;
      if (tab.list) tab.list.paint(true);
    });
    if (memory.canvas) memory.paint();
  }

  update(state, null);
  if (hasAddress && location.hash.length > 1) recall(location.hash.slice(1));
  visited.push(`tab=${state.tab}`);
}

build();

/* Small things that the views share: links to lines and values, bars, badges, tables. */

/** A button that selects something. */
function link(text, kind, id, more = {}) {
  return h("button.link", { type: "button", click: () => select(kind, id, more) }, text);
}

/** A link to a line of the user's code: it opens the source, and filters everything else. */
function lineLink(file, line) {
  const text = place(file, line);
  if (!text) return null;
  return h("button.link.place", {
    type: "button", title: sourceText(file, line).trim() || report.files[file].path,
    click: () => change({ tab: "source", line: { file, line }, selected: { kind: "line", id: lineKey(file, line) } }),
  }, text);
}

/** A value's name as a link to it, with its type. */
function valueLink(v, withType = false) {
  const value = report.values[v];
  if (!value) return "?";
  if (value.kind === "literal") return h("span.literal", {}, value.name);
  return [link(value.name, "value", v), withType && h("span.type", {}, " " + value.type)];
}

/** Two parts of a bar, forward and backward, of a whole that is `most`. */
function bar(forward, backward, most, title) {
  const share = (x) => `${most > 0 ? Math.max(0, (100 * x) / most) : 0}%`;
  return h("span.bar", { title, "aria-hidden": "true" },
    forward > 0 && h("span.forward", { style: { width: share(forward) } }),
    backward > 0 && h("span.backward", { style: { width: share(backward) } }));
}

const KINDS = { loops: "loops", BLAS: "blas", library: "library", guard: "guard", callback: "callback" };

const badge = (text, name = "") => h(`span.badge${name ? "." + name : ""}`, {}, text);

const kindBadge = (kind) => badge(kind, KINDS[kind] || "");

const roleBadge = (role) => (role ? badge(ROLES[role] ?? role, ROLES[role] ?? "") : null);

/** The role of the step that makes a value: "" for what the function computes. */
const roleOf = (value) => (report.steps[value.step] ? report.steps[value.step].role : "");

/** Whether a value takes part in the derivative; what a derivative computes is not asked. */
function activityBadge(value) {
  if (value.is_active) return badge("active", "good");
  return roleOf(value) ? roleBadge(roleOf(value)) : badge("inactive");
}

/** A choice of one of a few, as a row of buttons. */
function choice(label, options, chosen, choose) {
  return h("div.choice", { role: "group", "aria-label": label }, Object.entries(options).map(([name, text]) =>
    h("button", { type: "button", "aria-pressed": String(name === chosen), click: () => choose(name) }, text)));
}

/** A row of titles; those with a key sort by it. */
function columnHeads(columns, sorted = null, sort = null) {
  return h("div.head.row", { role: "row" }, columns.map(({ key, text, name = "", title }) => h(`span.${name || "cell"}`, {
    role: "columnheader", title,
    "aria-sort": key && sorted && sorted.key === key ? (sorted.down ? "descending" : "ascending") : undefined,
  }, key && sort ? h("button.sort", { type: "button", click: () => sort(key) },
    text, sorted.key === key ? (sorted.down ? " ▾" : " ▴") : "") : text)));
}

const nothing = (text) => h("p.nothing", {}, text);

/** How many there are, of how many. */
function counted(shownMany, all, word, words) {
  return shownMany === all ? plural(all, word, words) : `${count(shownMany)} of ${plural(all, word, words)}`;
}

/* What the recorded function decided: guards and paths; and what became of its loops. */

const decisions = {
  name: "decisions",
  label: "Branches and loops",

  make(panel) { this.panel = panel; },

  update() {
    const isLeft = ({ file, line }) => (!state.line || (state.line.file === file && state.line.line === line));
    const words = state.text.toLowerCase().split(/\s+/).filter(Boolean);
    const has = (...texts) => { const all = texts.join(" ").toLowerCase(); return words.every((word) => all.includes(word)); };
    const guards = report.guards.filter((guard) => isLeft(guard) && has(guard.text, sourceText(guard.file, guard.line)));
    const loops = report.loops.filter((loop) => isLeft(loop) && has(loop.became, loop.why, sourceText(loop.file, loop.line)));
    const found = loops.filter((loop) => loop.became), missed = loops.filter((loop) => !loop.became);
    replace(this.panel, h("div.page", {}, h("div.columns.even", {},
      h("section.card", {}, h("h2", {}, "Loops that were not found"),
        missed.length ? h("ul.decisions", {}, missed.slice(0, 200).map((loop) => this.loop(loop)))
          : nothing(report.loops.length ? "None here." : "No loop of the function was recorded.")),
      h("section.card", {}, h("h2", {}, "Loops that are one step, or a few"),
        found.length ? h("ul.decisions", {}, found.slice(0, 200).map((loop) => this.loop(loop))) : nothing("None here.")),
      h("section.card", {}, h("h2", {}, "Guards"),
        h("p.quiet", {}, "Each call checks these. Another outcome is another path, which is recorded when it is first taken."),
        guards.length ? h("ul.decisions", {}, this.byLine(guards).slice(0, 200).map((its) => this.guards(its)))
          : nothing("No branch depends on a value.")),
      h("section.card", {}, h("h2", {}, "Paths"),
        report.paths.length ? h("ol.paths", {}, report.paths.map((path, i) => h("li", {}, h("span.code", {}, path), i === 0 && badge("taken", "good"))))
          : nothing("There is one path.")))));
  },

  /** Guards of one line together: a loop may have one an iteration. */
  byLine(guards) {
    const groups = new Map();
    for (const guard of guards) {
      const key = lineKey(guard.file, guard.line);
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(guard);
    }
    return [...groups.values()];
  },

  guards(its) {
    const [{ file, line }] = its;
    return h("li", {},
      h("div.what", {}, lineLink(file, line), its.length > 1 && h("span.quiet", {}, plural(its.length, "guard"))),
      sourceText(file, line) && h("pre.code", {}, highlighted(sourceText(file, line).trim())),
      links(its, ({ text, step }) => [h("span.code", {}, `${text} `),
        step >= 0 && h("button.link", { type: "button", click: () => change({ selected: { kind: "step", id: step }, tab: "tape" }) }, `step ${step}`)]));
  },

  loop(loop) {
    return h("li", {},
      h("div.what", {}, lineLink(loop.file, loop.line),
        loop.became ? badge(loop.became, "good") : badge("every iteration is on the tape", "warn"),
        h("span.quiet", {}, loop.iterations >= 0 ? plural(loop.iterations, "iteration")
          : loop.became ? "any number of iterations" : "")),
      sourceText(loop.file, loop.line) && h("pre.code", {}, highlighted(sourceText(loop.file, loop.line).trim())),
      loop.why && h("p", {}, loop.why));
  },
};

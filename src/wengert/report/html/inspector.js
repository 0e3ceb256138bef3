/* What is selected, with everything that hangs together with it: a place to follow values from. */

const MOST_LINKS = 8;

/** A row of the inspector; a list of links is cut short, and can be shown whole. */
function entry(name, ...content) { return [h("dt", {}, name), h("dd", {}, ...content)]; }

function links(items, draw) {
  if (!items.length) return h("span.quiet", {}, "none");
  const list = h("ul.links", {}, items.slice(0, MOST_LINKS).map((item) => h("li", {}, draw(item))));
  if (items.length > MOST_LINKS) {
    list.append(h("li", {}, h("button", {
      type: "button",
      click: (event) => {
        const button = event.target.closest("li");
        button.replaceWith(...items.slice(MOST_LINKS, 400).map((item) => h("li", {}, draw(item))));
      },
    }, `${count(items.length - MOST_LINKS)} more`)));
  }
  return list;
}

/** A step as a link: what it gives, its op and its line. */
function stepLink(s) {
  const step = report.steps[s];
  const [first] = step.gives;
  return [
    h("button.link.code", { type: "button", click: () => selectStep(s) }, first === undefined ? `step ${s}` : report.values[first].name),
    h("span.code", {}, ` ${step.op}`), h("span.quiet", {}, ` ${place(step.file, step.line)}`),
  ];
}

function costWords(cost) {
  return [cost.time_s !== null && time(cost.time_s), cost.flops > 0 && flops(cost.flops), cost.moved_bytes > 0 && `${bytes(cost.moved_bytes)} moved`]
    .filter(Boolean).join(", ") || "nothing";
}

const inspectors = {
  value(v) {
    const value = report.values[v], step = report.steps[value.step];
    const stored = storedOf.has(v) ? report.memory.stored[storedOf.get(v)] : null;
    return {
      title: [h("span.code", {}, value.name), h("span.type", {}, ` ${value.type}`)],
      badges: [value.is_result && badge("result", "result"), activityBadge(value),
        stored && stored.is_residual && badge("residual", "backward")],
      rows: [
        value.cotangent >= 0 && entry("Its cotangent", valueLink(value.cotangent, true)),
        primals[v] >= 0 && entry("Is the cotangent of", valueLink(primals[v], true)),
        step ? entry("Made by", h("b.code", {}, step.op), step.params && h("span.params", {}, ` ${step.params}`)) : entry("Is", value.kind),
        step && entry("From", links(step.reads, (r) => [valueLink(r, true), madeBy(r)])),
        entry("Read by", links(readers[v], stepLink)),
        step && step.line > 0 && entry("Line", lineLink(step.file, step.line), h("code", {}, sourceText(step.file, step.line).trim())),
        step && entry("Kernel", kernelOf(step)),
        step && entry("Costs", costWords(step.cost)),
        value.why && !roleOf(value) && entry(value.is_active ? "Why it is active" : "Why it is not active", value.why),
        entry("Memory", bytes(value.nbytes), stored && ` at kernels ${stored.first} to ${stored.last}`),
        stored && stored.why && entry("Why it is kept", stored.why),
        step && framePath(step.frame).length > 0 && entry("Called from", framePath(step.frame).map((f, i) => [i ? " › " : "", frameWords(f)])),
      ],
    };
  },

  step(s) {
    const step = report.steps[s], guard = guardsOfStep.get(s);
    return {
      title: [h("span.code", {}, step.op), h("span.type", {}, ` step ${s}`)],
      badges: [roleBadge(step.role), guard && badge("guard", "guard")],
      rows: [
        step.params && entry("Parameters", h("span.code", {}, step.params)),
        guard && entry("Checks", guard.text),
        entry("Gives", links(step.gives, (v) => valueLink(v, true))),
        entry("From", links(step.reads, (r) => [valueLink(r, true), madeBy(r)])),
        step.line > 0 && entry("Line", lineLink(step.file, step.line), h("code", {}, sourceText(step.file, step.line).trim())),
        entry("Kernel", kernelOf(step)),
        entry("Costs", costWords(step.cost)),
      ],
    };
  },

  kernel(k) {
    const kernel = report.kernels[k];
    const alive = report.memory.stored.filter((s) => s.first <= k && k <= s.last).reduce((n, s) => n + s.nbytes, 0);
    return {
      title: [h("span.code", {}, kernel.name), h("span.type", {}, ` kernel ${k}`)],
      badges: [kindBadge(kernel.kind)],
      rows: [
        kernel.why && entry("Why Python is called", kernel.why),
        entry("Costs", costWords(kernel.cost)),
        isMeasured && kernel.cost.time_s > 0 && entry("Rate", `${flops(kernel.cost.flops / kernel.cost.time_s)}/s, ${bytes(kernel.cost.moved_bytes / kernel.cost.time_s)}/s`),
        kernel.fused.length > 0 && entry("Does in one pass", h("span.code", {}, kernel.fused.join(" · "))),
        entry("Steps", links(stepsOfKernel[k], stepLink)),
        entry("Lines", links(kernel.lines, ([file, line]) => [lineLink(file, line), h("code", {}, ` ${sourceText(file, line).trim()}`)])),
        alive > 0 && entry("Live meanwhile", bytes(alive)),
      ],
    };
  },

  line(key) {
    const [file, number] = key.split(":").map(Number);
    const line = lineCosts.get(key), steps = stepsOfLine.get(key) || [];
    const its = [...new Set(steps.map((s) => report.steps[s].kernel).filter((k) => k >= 0))];
    const loops = report.loops.filter((loop) => loop.file === file && loop.line === number);
    return {
      title: [h("span", {}, place(file, number))],
      badges: [],
      rows: [
        entry("Code", h("code", {}, sourceText(file, number).trim())),
        line && entry("Forward", costWords(line.forward)),
        line && hasBackward && entry(capital(backWord), costWords(line.backward)),
        loops.map((loop) => entry("Loop", loop.became ? `is a ${loop.became}. ` : "was not found: every iteration is on the tape. ", loop.why)),
        report.guards.filter((guard) => guard.file === file && guard.line === number).map((guard) => entry("Guard", guard.text)),
        report.advice.filter((advice) => advice.file === file && advice.line === number).map((advice) => entry("Advice", advice.text, " ", h("b", {}, advice.instead))),
        entry("Steps", links(steps, stepLink)),
        entry("Kernels", links(its, (k) => [link(`${k}`, "kernel", k), h("span.code", {}, ` ${short(kernelWords(report.kernels[k]), 60)}`)])),
      ],
    };
  },

  frame(f) {
    const frame = report.frames[f];
    return { title: [h("span.code", {}, frame.what)], badges: [], rows: [entry("Called at", lineLink(frame.file, frame.line) || "unknown")] };
  },
};

function madeBy(v) {
  const value = report.values[v];
  const step = value && report.steps[value.step];
  return step ? h("span.quiet", {}, ` ${step.op} ${place(step.file, step.line)}`) : "";
}

function kernelOf(step) {
  const kernel = report.kernels[step.kernel];
  if (!kernel) return h("span.quiet", {}, "none: a view, or part of another step");
  return [link(String(step.kernel), "kernel", step.kernel), " ", kindBadge(kernel.kind), h("span.code", {}, ` ${short(kernelWords(kernel), 60)}`)];
}

function frameWords(f) {
  const frame = report.frames[f];
  return [h("span.code", {}, frame.what), frame.line > 0 && h("span.quiet", {}, ` ${place(frame.file, frame.line)}`)];
}

const inspector = {
  make() {
    this.element = h("aside.inspector", { "aria-label": "Selection", hidden: true });
    return this.element;
  },

  update(now, before) {
    if (before && sameThing(now.selected, before.selected) && now.tab === before.tab) return;
    const { kind, id } = now.selected || {};
    this.element.hidden = !kind;
    if (!kind) { this.element.replaceChildren(); return; }
    const { title, badges, rows } = inspectors[kind](id);
    const had = this.element.contains(document.activeElement);
    const step = selectedStep();
    replace(this.element,
      h("header", {},
        h("h2", { tabindex: -1 }, title),
        h("button.quietly", { type: "button", "aria-label": "Back", title: "Back", click: back }, "←"),
        h("button.quietly", { type: "button", "aria-label": "Close", title: "Close (Esc)", click: () => select(null) }, "✕")),
      h("div.badges", {}, badges),
      (step >= 0 || kind === "kernel") && h("div.goto", {}, "Show in ",
        step >= 0 && ["tape", "graph"].map((tab) => now.tab !== tab && h("button", { type: "button", click: () => change({ tab }) }, tab)),
        step >= 0 && now.tab !== "memory" && kind === "value" && storedOf.has(id) && h("button", { type: "button", click: () => change({ tab: "memory" }) }, "memory"),
        kind === "kernel" && now.tab !== "kernels" && h("button", { type: "button", click: () => change({ tab: "kernels" }) }, "kernels")),
      h("dl", {}, rows));
    this.element.scrollTop = 0;
    // Who followed a link by keyboard goes on from the heading of what it led to.
    if (had) this.element.querySelector("h2").focus();
  },
};

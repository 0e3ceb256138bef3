/* The first page: what to do better, what it costs, and where. */

/** What the way forward and the way back cost, summed over the lines. */
const forwardCost = total([...lineCosts.values()].map((line) => line.forward));
const backwardCost = total([...lineCosts.values()].map((line) => line.backward));

/** The measure in which lines and kernels are compared, and what it is called in a sentence. */
const mainMetric = METRICS[state.metric];
const mainWord = { time: "time", flops: "flops", bytes: "traffic" }[state.metric];

/** Lines by what they cost, the dearest first. */
function dearestLines(most) {
  return [...lineCosts].map(([key, line]) => {
    const [file] = key.split(":").map(Number);
    return { file, line, cost: mainMetric.of(lineTotal(line)) };
  }).filter((x) => x.cost > 0).sort((a, b) => b.cost - a.cost).slice(0, most);
}

function dearestKernels(most) {
  return report.kernels.map((kernel, k) => ({ kernel, k, cost: mainMetric.of(kernel.cost) }))
    .filter((x) => x.cost > 0).sort((a, b) => b.cost - a.cost).slice(0, most);
}

/** Whether all that a kernel does is of the way back. */
const isOfWayBack = (kernel) => kernel.steps.length > 0 && kernel.steps.every((k) => report.steps[k].role !== "");

/** At most three sentences, the most important first. */
function facts() {
  const found = [];
  const callbacks = report.kernels.filter((kernel) => kernel.kind === "callback");
  const kernelSum = total(report.kernels.map((kernel) => kernel.cost));
  if (callbacks.length) {
    const share = mainMetric.of(total(callbacks.map((kernel) => kernel.cost))) / (mainMetric.of(kernelSum) || 1);
    found.push([`${plural(callbacks.length, "kernel")} of ${count(report.kernels.length)} ${
      callbacks.length === 1 ? "calls" : "call"} Python back`, isMeasured ? `: ${percent(share)} of the time.` : ".",
    () => change({ tab: "kernels" })]);
  }
  const [line] = dearestLines(1);
  const lineSum = mainMetric.of(forwardCost) + mainMetric.of(backwardCost);
  if (line && lineSum > 0) {
    found.push([`${capital(place(line.file, line.line.number))} takes ${percent(line.cost / lineSum)} of the ${mainWord}`,
      h("code", {}, sourceText(line.file, line.line.number).trim()),
      () => change({ tab: "source", line: { file: line.file, line: line.line.number } })]);
  }
  const peak = peakOf();
  if (peak.bytes > 0) {
    const kept = peak.stored.filter((s) => s.is_residual).reduce((n, s) => n + s.nbytes, 0);
    found.push([`At most ${bytes(peak.bytes)} live at the same time, at kernel ${peak.kernel}`,
      kept > 0 ? `; ${percent(kept / peak.bytes)} of them are kept for the way back.` : ".",
      () => change({ tab: "memory" })]);
  }
  const [there, way] = [mainMetric.of(forwardCost), mainMetric.of(backwardCost)];
  if (there > 0 && way > 0) {
    found.push([`The ${backWord === "back" ? "way back" : "derivative"} takes ${digits(way / there)} times the ${mainWord} of the way forward`,
      `: ${mainMetric.show(way)} and ${mainMetric.show(there)}.`, () => change({ tab: "source" })]);
  }
  if (report.kernels.length && report.steps.length > 2 * report.kernels.length) {
    found.push([`${plural(report.steps.length, "step")} run as ${plural(report.kernels.length, "kernel")}.`, "",
      () => change({ tab: "kernels" })]);
  }
  return found.slice(0, 3);
}

const capital = (text) => (/^(line |back$|derivative$)/.test(text) ? text[0].toUpperCase() + text.slice(1) : text);

function tile(label, value, detail, extra = null) {
  return h("div.tile", {}, h("dt", {}, label), h("dd", {}, h("b", {}, value), detail && h("span", {}, detail), extra));
}

function tiles() {
  const { time_s: seconds, flops: work, moved_bytes: moved } = report.cost;
  const rate = (x, show) => (seconds ? show(x / seconds) + "/s" : "");
  const callbacks = report.kernels.filter((kernel) => kernel.kind === "callback").length;
  const [there, way] = [mainMetric.of(forwardCost), mainMetric.of(backwardCost)];
  return h("dl.tiles", {},
    isMeasured && tile("One run", time(seconds), hasBackward ? `${time(forwardCost.time_s)} forward, ${time(backwardCost.time_s)} ${backWord}` : "",
      there + way > 0 && bar(there, way, there + way)),
    tile("Arithmetic", flops(work), isMeasured ? rate(work, flops) : way > 0 ? `${flops(there)} forward, ${flops(way)} ${backWord}` : "",
      !isMeasured && way > 0 && bar(there, way, there + way)),
    tile("Memory traffic", bytes(moved), moved > 0 ? `${digits(work / moved)}${NBSP}flop a byte` : ""),
    tile("Peak memory", bytes(report.memory.peak_bytes), `arena ${bytes(report.memory.arena_bytes)}`),
    tile("Kernels", count(report.kernels.length),
      callbacks ? plural(callbacks, "callback") : `of ${plural(report.steps.length, "step")}`),
    tile("Compiled in", time(report.compile_s), plural(report.paths.length || 1, "path")));
}

function adviceCard(advice) {
  return h("li.advice", {},
    h("div.what", {}, badge(advice.what, "warn"), lineLink(advice.file, advice.line)),
    h("p", {}, advice.text),
    sourceText(advice.file, advice.line) && h("pre.code", {}, highlighted(sourceText(advice.file, advice.line).trim())),
    advice.instead && h("p.instead", {}, h("span.arrow", { "aria-hidden": "true" }, "→ "), advice.instead));
}

function ranking(title, rows, ...more) {
  if (!rows.length) return null;
  return h("section.card", {}, h("h2", {}, title), h("ol.ranking", {}, rows), ...more);
}

const overview = {
  name: "overview",
  label: "Overview",
  make(panel) {
    const lines = dearestLines(6), kernels = dearestKernels(6);
    const lineMost = lines.length ? lines[0].cost : 0, kernelMost = kernels.length ? kernels[0].cost : 0;
    const said = facts();
    const advice = report.advice;
    const list = h("ul.advices", {}, advice.slice(0, 8).map(adviceCard));
    panel.append(h("div.page", {},
      tiles(),
      h("div.columns", {},
        h("div.side", {}, h("section.card", {},
          h("h2", {}, "What to write instead"),
          advice.length ? list : nothing("Nothing slow was found."),
          advice.length > 8 && h("button", {
            type: "button",
            click: (event) => { event.target.remove(); list.append(...advice.slice(8).map(adviceCard)); },
          }, `Show ${count(advice.length - 8)} more`)),
        ranking(`Lines by ${mainWord}`, lines.map((x) => h("li", {},
          lineLink(x.file, x.line.number), h("code", {}, sourceText(x.file, x.line.number).trim()),
          h("span.number", {}, mainMetric.show(x.cost)),
          bar(mainMetric.of(x.line.forward), mainMetric.of(x.line.backward), lineMost))),
        hasBackward && legend(["forward", "the way forward"], ["backward", backWord === "back" ? "the way back, cotangents" : "the derivative, tangents"]))),
        h("div.side", {},
          said.length > 0 && h("section.card", {}, h("h2", {}, "The biggest facts"), h("ol.facts", {}, said.map(
            ([text, rest, go]) => h("li", {}, h("button.link", { type: "button", click: go }, text, typeof rest === "string" && rest), typeof rest !== "string" && rest)))),
          ranking(`Kernels by ${mainWord}`, kernels.map((x) => h("li", {},
            link(`${x.k}`, "kernel", x.k), h("code", {}, kernelWords(x.kernel)),
            h("span.number", {}, mainMetric.show(x.cost)),
            isOfWayBack(x.kernel) ? bar(0, x.cost, kernelMost) : bar(x.cost, 0, kernelMost)))),
          h("section.card", {}, h("h2", {}, isMeasured ? "Measured on" : "Compiled on"), h("dl.about", {}, Object.entries(report.about).map(
            ([key, text]) => [h("dt", {}, key), h("dd", {}, text)])))))));
  },
  update() {},
};

/** Colours and their meanings. */
function legend(...entries) {
  return h("p.legend", {}, entries.map(([name, text]) => h("span", {}, h(`i.swatch.${name}`, { "aria-hidden": "true" }), text)));
}

/** A kernel's name, and what it fused. */
function kernelWords(kernel) {
  if (!kernel.fused.length) return kernel.name;
  const ops = kernel.fused.length > 12 ? [...kernel.fused.slice(0, 12), `… ${kernel.fused.length - 12} more`] : kernel.fused;
  // A fused kernel's name is its ops once more.
  const isSaid = kernel.name === ops[0] || kernel.name.startsWith("fused ");
  return (isSaid ? "" : `${kernel.name}: `) + ops.join(" · ");
}

/** What lives when the most does, and how much that is. */
function peakOf() {
  const kernel = report.memory.peak_kernel;
  const stored = report.memory.stored.filter((s) => s.first <= kernel && kernel <= s.last);
  return { kernel, stored, bytes: report.memory.peak_bytes };
}

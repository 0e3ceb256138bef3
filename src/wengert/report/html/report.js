/* The report, and what follows from it: who reads a value, which steps a kernel does, what a line costs. */

const report = unpack(JSON.parse(document.getElementById("data").textContent));

const NO_COST = { time_s: null, flops: 0, moved_bytes: 0 };

/** Where steps of the function, of its tangents and of its cotangents stand, in the order of the tape. */
const ROLES = { "": "forward", tangent: "tangent", cotangent: "backward" };

const lineKey = (file, line) => `${file}:${line}`;

/** The last part of a path, its middle left out if it is long. */
function fileName(file) {
  const name = report.files[file] ? report.files[file].path.split(/[/\\]/).pop() : "";
  return name.length > 18 ? `${name.slice(0, 10)}…${name.slice(-6)}` : name;
}

/** Where a line stands, in a few words: where there is one file, its name says nothing. */
function place(file, line) {
  if (!report.files[file] || line <= 0) return "";
  return report.files.length > 1 ? `${fileName(file)}:${line}` : `line ${line}`;
}

/** The text of a line of the user's code, if it is known. */
function sourceText(file, line) {
  const found = report.files[file];
  return (found && found.text[line - found.first]) || "";
}

/** @param {Array<any>} costs @returns their sum; the time is null if none was measured */
function total(costs) {
  const sum = { time_s: null, flops: 0, moved_bytes: 0 };
  for (const cost of costs) {
    if (cost.time_s !== null) sum.time_s = (sum.time_s ?? 0) + cost.time_s;
    sum.flops += cost.flops;
    sum.moved_bytes += cost.moved_bytes;
  }
  return sum;
}

/** By value: the steps that read it. */
const readers = report.values.map(() => []);
/** By value: the value that it is the cotangent of, or -1. */
const primals = report.values.map(() => -1);
/** By value: where it lies in memory, if anywhere. */
const storedOf = new Map();
/** By kernel: the steps that it does. */
const stepsOfKernel = report.kernels.map((kernel) => kernel.steps);
/** By line: its record in `files`, its steps. */
const lineCosts = new Map();
const stepsOfLine = new Map();
const guardsOfStep = new Map();

report.steps.forEach((step, i) => {
  for (const value of step.reads) {
    const steps = readers[value];
    if (steps && steps[steps.length - 1] !== i) steps.push(i);
  }
  if (step.line > 0) {
    const key = lineKey(step.file, step.line);
    if (!stepsOfLine.has(key)) stepsOfLine.set(key, []);
    stepsOfLine.get(key).push(i);
  }
});
report.values.forEach((value, i) => {
  if (value.cotangent >= 0 && value.cotangent < primals.length) primals[value.cotangent] = i;
});
report.memory.stored.forEach((stored, i) => {
  if (stored.value >= 0 && !storedOf.has(stored.value)) storedOf.set(stored.value, i);
});
report.files.forEach((file, f) => {
  for (const line of file.lines) lineCosts.set(lineKey(f, line.number), line);
});
for (const guard of report.guards) if (guard.step >= 0) guardsOfStep.set(guard.step, guard);

/** By frame of a body, "while, body": the loop or branch that it belongs to, which stands on the tape just before it. */
const ownerOfFrame = new Map();
report.steps.forEach((step, s) => {
  for (let f = step.frame; f >= 0 && report.frames[f] && !ownerOfFrame.has(f); f = report.frames[f].parent) {
    const { what, parent } = report.frames[f];
    const op = /^\w+(?=, )/.exec(what);
    if (!op) continue;
    let owner = s - 1;
    while (owner >= 0 && !(report.steps[owner].op === op[0] && report.steps[owner].frame === parent)) owner -= 1;
    ownerOfFrame.set(f, owner);
  }
});

const isMeasured = report.cost.time_s !== null;
/** Whether a derivative added steps, and what their cost is called: a derivative that goes forward has no way back. */
const hasBackward = report.steps.some((step) => step.role !== "");
const backWord = report.steps.some((step) => step.role === "cotangent") ? "back" : "derivative";
const usedFiles = report.files.map((_, f) => f).filter((f) => report.files[f].text.length > 0);

/** All of a line's cost, both ways. */
function lineTotal(line) { return total([line.forward, line.backward]); }

/** Where a value was made: the step's line, or nowhere. */
function valuePlace(value) {
  const step = report.steps[value.step];
  return step ? place(step.file, step.line) : "";
}

const atomNames = (values) => values.map((v) => (report.values[v] ? report.values[v].name : "?"));

/** Words of each step, for the search: made at the first search only. */
let haystacks = null;
function haystack(step) {
  if (!haystacks) {
    haystacks = report.steps.map((s) => [
      s.op, s.params, ...atomNames(s.gives), ...atomNames(s.reads), place(s.file, s.line), sourceText(s.file, s.line),
      s.frame >= 0 && report.frames[s.frame] ? report.frames[s.frame].what : "",
      s.kernel >= 0 && report.kernels[s.kernel] ? report.kernels[s.kernel].kind : "",
      s.gives.length && report.values[s.gives[0]] ? report.values[s.gives[0]].type : "", ROLES[s.role] ?? s.role,
    ].join("\n").toLowerCase());
  }
  return haystacks[step];
}

/**
 * What a search's text asks of a step. Every word must be somewhere in it; "op:add", "value:v12" and "line:7" ask
 * one thing, exactly.
 * @param {string} text
 * @returns {(step: number) => boolean}
 */
function stepQuery(text) {
  const tests = text.toLowerCase().split(/\s+/).filter(Boolean).map((word) => {
    const [, field, wanted] = word.match(/^(op|value|line):(.+)$/) || [];
    if (field === "op") return (s) => report.steps[s].op.toLowerCase() === wanted;
    if (field === "line") return (s) => String(report.steps[s].line) === wanted;
    if (field === "value") {
      const is = (v) => report.values[v] && report.values[v].name.toLowerCase() === wanted;
      return (s) => report.steps[s].gives.some(is) || report.steps[s].reads.some(is);
    }
    return (s) => haystack(s).includes(word);
  });
  return (step) => tests.every((test) => test(step));
}

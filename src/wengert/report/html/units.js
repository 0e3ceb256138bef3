/* Numbers as people read them: 1.2 ms, 3.4 MB, 56 Mflop. */

const NBSP = "\u00a0";

/** A number with two or three digits that count: 0.042, 1.2, 34, 560. */
function digits(x) {
  if (x === 0) return "0";
  const size = Math.abs(x);
  return x.toFixed(size >= 99.5 ? 0 : size >= 9.95 ? 1 : size >= 0.0995 ? 2 : 3).replace(/\.0+$/, "");
}

/** A number scaled by the largest prefix that leaves at least 1 before the point. */
function scaled(x, prefixes, unit) {
  let i = 0;
  while (i + 1 < prefixes.length && Math.abs(x) >= 999.5) { x /= 1000; i += 1; }
  return (i === 0 && Number.isInteger(x) ? String(x) : digits(x)) + NBSP + prefixes[i] + unit;
}

/** @param {number|null} s seconds, null if they were not measured; the clock cannot tell less than 1 ns from none */
function time(s) {
  if (s === null || s === undefined) return "–";
  return s < 1e-9 ? "≈" + NBSP + "0" : scaled(s * 1e9, ["n", "µ", "m", ""], "s");
}

const bytes = (n) => scaled(n, ["", "k", "M", "G", "T"], "B");
const flops = (n) => scaled(n, ["", "k", "M", "G", "T"], "flop");
const count = (n) => n.toLocaleString("en");
const plural = (n, word, words = word + "s") => `${count(n)}${NBSP}${n === 1 ? word : words}`;

/** A share of 1 as "62 %"; what is little but not nothing is "<1 %", and what is nearly all ">99 %". */
function percent(x) {
  if (!(x > 0)) return "0" + NBSP + "%";
  return (x < 0.01 ? "<1" : x > 0.99 && x < 1 ? ">99" : String(Math.round(100 * x))) + NBSP + "%";
}

/** The three measures of a cost, with the name, how it is written and how it is read from a cost. */
const METRICS = {
  time: { label: "Time", show: time, of: (cost) => cost.time_s ?? 0 },
  flops: { label: "Flops", show: flops, of: (cost) => cost.flops },
  bytes: { label: "Bytes moved", show: bytes, of: (cost) => cost.moved_bytes },
};

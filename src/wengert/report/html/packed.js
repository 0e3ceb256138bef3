/* The report's records, as page.py packed them: columns become rows again. */

/** @returns {any} what `packed` in page.py was given, with lists for tuples and objects for records */
function unpack(x) {
  if (Array.isArray(x) || x === null || typeof x !== "object") return x;
  switch (x.$) {
    case "same": return new Array(x.n).fill(x.is);
    case "words": return x.at.map((i) => x.of[i]);
    case "lists": {
      const elements = unpack(x.of);
      let end = 0;
      return unpack(x.n).map((n) => elements.slice(end, (end += n)));
    }
    case "rows": {
      const columns = Object.entries(x.of).map(([field, column]) => [field, unpack(column)]);
      return Array.from({ length: x.n }, (_, i) => {
        const row = {};
        for (const [field, column] of columns) row[field] = column[i];
        return row;
      });
    }
    default: return Object.fromEntries(Object.entries(x).map(([key, y]) => [key, unpack(y)]));
  }
}

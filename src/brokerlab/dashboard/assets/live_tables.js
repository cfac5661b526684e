// The tables that the report's charts draw, kept current: rows are replaced by their key or added.
const tables = new Map(); // name -> {columns, rows, key, index: Map(key -> row number), or null until a row may change}

export function reset() {
  for (const name of tables.keys()) Report.put(name, {}, 0);
  tables.clear();
}

const keyOf = (columns, i) => columns.map((values) => values[i]).join("\u0000");

function indexed(table) {
  const columns = table.key.map((name) => table.columns[name]), index = new Map();
  for (let i = 0; i < table.rows; i++) index.set(keyOf(columns, i), i);
  return index;
}

function replace(known, columns, rows) {
  known.index ??= indexed(known);
  const keys = columns.slice(0, known.key.length).map(([, values]) => values);
  for (let i = 0; i < rows; i++) {
    const key = keyOf(keys, i);
    let at = known.index.get(key);
    if (at === undefined) known.index.set(key, (at = known.rows++));
    for (const [column, values] of columns) known.columns[column][at] = values[i];
  }
}

/** Takes tables as the server sends them: {name: {rows, key, columns: [{name, values | runs}]}}, each row of an answer once. */
export function take(sent) {
  for (const [name, table] of Object.entries(sent)) {
    const columns = table.columns.map((c) => [c.name, Report.expanded(c)]), known = tables.get(name);
    if (known) replace(known, columns, table.rows);
    else tables.set(name, { columns: Object.fromEntries(columns), rows: table.rows, key: columns.slice(0, table.key).map(([n]) => n), index: null });
    const now = tables.get(name);
    Report.put(name, now.columns, now.rows);
  }
}

export const points = () => [...tables.values()].reduce((n, t) => n + t.rows, 0);

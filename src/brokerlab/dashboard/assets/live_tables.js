// The tables that the report's charts draw, kept current: rows are replaced by their key or added.
const tables = new Map(); // name -> {columns, index: Map(key -> row number), rows, key}

export function reset() {
  for (const name of tables.keys()) Report.put(name, {}, 0);
  tables.clear();
}

/** Takes tables as the server sends them: {name: {rows, key, columns: [{name, values | runs}]}}. */
export function take(sent) {
  for (const [name, table] of Object.entries(sent)) {
    const columns = table.columns.map((c) => [c.name, Report.expanded(c)]);
    const known = tables.get(name) ?? { columns: Object.fromEntries(columns.map(([n]) => [n, []])), index: new Map(), rows: 0 };
    for (let i = 0; i < table.rows; i++) {
      const key = columns.slice(0, table.key).map(([, values]) => values[i]).join("\u0000");
      let at = known.index.get(key);
      if (at === undefined) known.index.set(key, (at = known.rows++));
      for (const [column, values] of columns) known.columns[column][at] = values[i];
    }
    tables.set(name, known);
    Report.put(name, known.columns, known.rows);
  }
}

export const points = () => [...tables.values()].reduce((n, t) => n + t.rows, 0);

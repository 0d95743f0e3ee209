"use strict";
// Tables of pairs: pointing at a cell, or moving to it with the arrow keys, shows it; a click or Enter keeps it.
// Each table is one stop for the Tab key. `tables`: { grid, ... }; `act`: show(table, cell), hide(), reveal(table, cell).
const pairTables = (tables, act) => {
  const stops = new Map(), byGrid = new Map(tables.map((table) => [table.grid, table]));
  let kept = null;

  const tableOf = (cell) => byGrid.get(cell.closest("table"));
  const place = (cell) => [cell.parentNode.rowIndex - 1, cell.cellIndex - 1];
  const at = (table, row, column) => table.grid.rows[row + 1].cells[column + 1];
  const cellOf = (target) => {
    const cell = target instanceof Element ? target.closest("td") : null;
    return cell && !cell.classList.contains("X") ? cell : null;
  };
  const restore = () => (kept ? act.show(tableOf(kept), kept) : act.hide());
  const keep = (cell) => {
    if (kept) kept.classList.remove("kept"), kept.removeAttribute("aria-selected");
    kept = cell;
    if (cell) cell.classList.add("kept"), cell.setAttribute("aria-selected", "true");
  };
  const rove = (table, cell) => {
    if (stops.has(table)) stops.get(table).tabIndex = -1;
    stops.set(table, cell);
    cell.tabIndex = 0;
  };
  const moves = (last) => ({
    ArrowUp: (a, b) => [a - 1, b, -1, 0], ArrowDown: (a, b) => [a + 1, b, 1, 0],
    ArrowLeft: (a, b) => [a, b - 1, 0, -1], ArrowRight: (a, b) => [a, b + 1, 0, 1],
    Home: (a) => [a, 0, 0, 1], End: (a) => [a, last, 0, -1],
  });

  for (const table of tables) {
    const grid = table.grid, last = grid.rows.length - 2, move = moves(last);
    rove(table, at(table, 0, 1));
    grid.addEventListener("mouseover", (event) => { const cell = cellOf(event.target); if (cell) act.show(table, cell); });
    grid.addEventListener("mouseleave", restore);
    grid.addEventListener("focusin", (event) => {
      const cell = cellOf(event.target);
      if (cell) rove(table, cell), act.show(table, cell), act.reveal(table, cell);
    });
    grid.addEventListener("focusout", (event) => { if (!grid.contains(event.relatedTarget)) restore(); });
    grid.addEventListener("click", (event) => {
      const cell = cellOf(event.target);
      if (cell) rove(table, cell), keep(cell), cell.focus(), act.show(table, cell), act.reveal(table, cell);
    });
    grid.addEventListener("keydown", (event) => {
      const cell = cellOf(event.target);
      if (!cell || event.altKey || event.ctrlKey || event.metaKey) return;
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        keep(cell), act.show(table, cell);
      } else if (move[event.key]) {
        event.preventDefault();
        let [a, b, down, right] = move[event.key](...place(cell));
        if (a === b) a += down, b += right;       // over the diagonal
        if (a < 0 || b < 0 || a > last || b > last) return;
        const next = at(table, a, b);
        rove(table, next), next.focus();
      }
    });
  }
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") keep(null), act.hide(); });

  return {
    place,
    // One table takes another one's place: the same cell is its stop, is kept, and has the focus where it was inside.
    swap(from, to, focus) {
      const cell = at(to, ...place(stops.get(from)));
      rove(to, cell);
      if (kept && tableOf(kept) === from) keep(at(to, ...place(kept)));
      if (focus) cell.focus();
      else restore();
    },
  };
};

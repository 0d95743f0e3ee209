"use strict";
// Without this script everything is readable; with it a pair lights its path, and findings can be filtered.
(() => {
  const root = document.documentElement;
  root.classList.add("scripted");
  const page = JSON.parse(document.getElementById("page").textContent);
  const [PARENT, KIND, TITLE, LINK, REDIRECTS] = [0, 1, 2, 3, 4];
  const make = (name, text) => Object.assign(document.createElement(name), { textContent: text });

  // ---- the path of a pair -------------------------------------------------------------------------------------
  const pictures = [...document.querySelectorAll("#tree > svg")], narrow = matchMedia("(max-width: 900px)");
  let svg = null;
  const grid = document.querySelector("#matrix table");
  const marks = new Map();
  const draw = () => {        // one of the two pictures is shown
    svg = pictures[narrow.matches ? 1 : 0] ?? null;
    marks.clear();
    for (const element of svg ? svg.querySelectorAll("[data-node],[data-edge]") : []) {
      const key = element.dataset.node !== undefined ? "n" + element.dataset.node : "e" + element.dataset.edge;
      marks.set(key, element);
    }
  };
  draw();
  narrow.addEventListener("change", () => {        // what is lit in the one is lit in the other
    const lighting = svg !== null && svg.classList.contains("lighting");
    const keys = [...marks.keys()].filter((key) => marks.get(key).classList.contains("lit"));
    for (const key of keys) marks.get(key).classList.remove("lit");
    if (svg) svg.classList.remove("lighting");
    draw();
    for (const key of keys) add(marks.get(key), "lit");
    if (svg && lighting) svg.classList.add("lighting");
  });

  const above = (id) => {
    const chain = [];
    for (let at = id; at !== null && page.nodes[at] && chain.length < 64; at = page.nodes[at][PARENT]) chain.push(at);
    return chain;
  };

  // Both sides up to, and without, the nearest common node; each entry stands for the line to its parent.
  const path = (a, b) => {
    const left = above(page.boards[a]), right = above(page.boards[b]), common = new Set(right);
    const meet = left.find((id) => common.has(id)) ?? null;
    const until = (chain) => (meet === null ? chain : chain.slice(0, chain.indexOf(meet)));
    return { up: until(left), down: until(right).reverse(), meet };
  };

  const pairOf = (a, b) => {
    const [low, high] = a < b ? [a, b] : [b, a], count = page.boards.length;
    const [reason, redirectors, predicted] = page.pairs[low * count - (low * (low + 1)) / 2 + high - low - 1];
    return [page.texts[reason], redirectors, page.texts[predicted]];
  };

  let lit = [];
  const darken = () => {
    for (const element of lit) element.classList.remove("lit", "on");
    lit = [];
    if (svg) svg.classList.remove("lighting");
  };

  const light = (cell) => {
    darken();
    const [a, b] = place(cell), known = cell.textContent !== "?";
    const { up, down, meet } = path(a, b);
    const edges = known ? [...up, ...down] : [];
    const nodes = known ? [...edges, ...(meet === null ? [] : [meet])] : [page.boards[a], page.boards[b]];
    const heads = [grid.rows[0].cells[b + 1], grid.rows[a + 1].cells[0]];
    for (const id of edges) add(marks.get("e" + id), "lit");
    for (const id of nodes) add(marks.get("n" + id), "lit");
    for (const element of [cell, ...heads]) add(element, "on");
    if (svg) svg.classList.add("lighting");
    tell(a, b, cell.textContent, up, down, meet);
  };

  const add = (element, name) => {
    if (!element) return;
    element.classList.add(name);
    lit.push(element);
  };

  const detail = document.getElementById("detail");
  const hint = detail ? [...detail.childNodes] : [];
  const tell = (a, b, word, up, down, meet) => {
    const [reason, redirectors, predicted] = pairOf(a, b);
    const list = document.createElement("dl");
    const row = (name, text) => list.append(make("dt", name), make("dd", text));
    const known = word !== "?";
    row("Relation", known ? word : "unknown");
    if (reason) row(known ? "Note" : "Reason", reason);
    if (known) {
      const links = [...up, ...down].filter((id) => page.nodes[id][LINK]).length;
      const way = [...up, ...(meet === null ? [] : [meet]), ...down].map((id) => page.nodes[id][TITLE]);
      row("Hops", `${links} PCIe links: ${way.join(" \u2192 ")}`);
      const blind = [...up, ...down].filter((id) => page.nodes[id][REDIRECTS] === null);
      const sure = blind.length ? `not known: the ACS register of ${blind.join(", ")} could not be read` : "no port";
      row("Redirected by", redirectors.length ? redirectors.join(", ") : sure);
      if (page.predicted) row("Predicted", predicted || "unknown");
    }
    detail.replaceChildren(make("h3", `GPU${a} to GPU${b}`), list);
  };

  const place = (cell) => [cell.parentNode.rowIndex - 1, cell.cellIndex - 1];
  const cellOf = (target) => {
    const cell = target instanceof Element ? target.closest("td") : null;
    return cell && !cell.classList.contains("X") ? cell : null;
  };

  if (grid) {
    let kept = null, current = null;
    const restore = () => {
      if (kept) return light(kept);
      darken();
      detail.replaceChildren(...hint);
    };
    const keep = (cell) => {
      if (kept) kept.classList.remove("kept"), kept.removeAttribute("aria-selected");
      kept = cell;
      if (cell) cell.classList.add("kept"), cell.setAttribute("aria-selected", "true");
    };
    const rove = (cell) => {
      if (current) current.tabIndex = -1;
      current = cell;
      cell.tabIndex = 0;
    };
    const reveal = (cell) => {
      const element = marks.get("n" + page.boards[place(cell)[0]]), frame = document.getElementById("tree");
      if (!element) return;
      const box = element.getBoundingClientRect(), outer = frame.getBoundingClientRect();
      if (box.top < outer.top || box.bottom > outer.bottom) frame.scrollTop += box.top - outer.top - frame.clientHeight / 2;
      if (box.right > outer.right) frame.scrollLeft += box.right - outer.right + 12;
    };
    rove(grid.rows[1].cells[2]);
    grid.addEventListener("mouseover", (event) => { const cell = cellOf(event.target); if (cell) light(cell); });
    grid.addEventListener("mouseleave", restore);
    grid.addEventListener("focusin", (event) => {
      const cell = cellOf(event.target);
      if (!cell) return;
      const [a, b] = place(cell);
      if (!cell.hasAttribute("aria-label")) cell.setAttribute("aria-label", `GPU${a} to GPU${b}: ${cell.textContent}`);
      rove(cell), light(cell), reveal(cell);
    });
    grid.addEventListener("focusout", (event) => { if (!grid.contains(event.relatedTarget)) restore(); });
    grid.addEventListener("click", (event) => {
      const cell = cellOf(event.target);
      if (!cell) return;
      rove(cell), keep(cell), cell.focus(), light(cell), reveal(cell);
    });
    const last = page.boards.length - 1;
    const moves = {
      ArrowUp: (a, b) => [a - 1, b, -1, 0], ArrowDown: (a, b) => [a + 1, b, 1, 0],
      ArrowLeft: (a, b) => [a, b - 1, 0, -1], ArrowRight: (a, b) => [a, b + 1, 0, 1],
      Home: (a) => [a, 0, 0, 1], End: (a) => [a, last, 0, -1],
    };
    grid.addEventListener("keydown", (event) => {
      const cell = cellOf(event.target);
      if (!cell || event.altKey || event.ctrlKey || event.metaKey) return;
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        keep(cell), light(cell);
      } else if (moves[event.key]) {
        event.preventDefault();
        let [a, b, down, right] = moves[event.key](...place(cell));
        if (a === b) a += down, b += right;       // over the diagonal
        if (a < 0 || b < 0 || a > last || b > last) return;
        const next = grid.rows[a + 1].cells[b + 1];
        rove(next), next.focus();
      }
    });
    document.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      keep(null), darken(), detail.replaceChildren(...hint);
    });
  }

  // ---- findings -----------------------------------------------------------------------------------------------
  const form = document.getElementById("filter"), text = document.getElementById("text");
  const findings = [...document.querySelectorAll(".finding")];
  const words = new Map(findings.map((finding) => [finding, finding.textContent.toLowerCase()]));
  const filter = () => {
    const chosen = new Set([...form.querySelectorAll("[type=checkbox]:checked")].map((box) => box.value));
    const wanted = text.value.trim().toLowerCase().split(/\s+/);
    let shown = 0;
    for (const group of document.querySelectorAll(".outcome")) {
      let any = false;
      for (const finding of group.querySelectorAll(".finding")) {
        const fits = chosen.has(group.dataset.outcome) && wanted.every((word) => words.get(finding).includes(word));
        finding.hidden = !fits;
        any = any || fits;
        shown += fits;
      }
      group.hidden = !any;
    }
    document.getElementById("shown").textContent = shown === findings.length ? "" : `${shown} of ${findings.length} lines`;
    document.getElementById("nothing").hidden = shown > 0;
  };
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());

  document.addEventListener("click", async (event) => {
    const button = event.target instanceof Element ? event.target.closest(".copy") : null;
    if (!button) return;
    let done = false;
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      done = true;
    } catch {
      getSelection().selectAllChildren(button.previousElementSibling);
      done = document.execCommand("copy");
    }
    button.textContent = done ? "Copied" : "Selected";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });

  // On paper nothing can be opened.
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    for (const element of closed) element.open = true;
  });
  addEventListener("afterprint", () => { for (const element of closed) element.open = false; });
})();

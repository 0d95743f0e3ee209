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
    const [reason, redirectors, predicted, relation] =
      page.pairs[low * count - (low * (low + 1)) / 2 + high - low - 1];
    const { up, down, meet } = path(a, b), word = page.texts[relation];
    return { reason: page.texts[reason], redirectors, predicted: page.texts[predicted], word, known: word !== "?",
             up, down, meet };
  };

  let lit = [];
  const darken = () => {
    for (const element of lit) element.classList.remove("lit", "on");
    lit = [];
    if (svg) svg.classList.remove("lighting");
  };

  const add = (element, name) => {
    if (!element) return;
    element.classList.add(name);
    lit.push(element);
  };

  const light = (table, cell) => {
    darken();
    const [row, column] = tables.place(cell), a = table.gpus[row], b = table.gpus[column], pair = pairOf(a, b);
    const edges = pair.known ? [...pair.up, ...pair.down] : [];
    const nodes = pair.known ? [...edges, ...(pair.meet === null ? [] : [pair.meet])] : [page.boards[a], page.boards[b]];
    for (const id of edges) add(marks.get("e" + id), "lit");
    for (const id of nodes) add(marks.get("n" + id), "lit");
    for (const element of [cell, table.grid.rows[0].cells[column + 1], table.grid.rows[row + 1].cells[0]]) add(element, "on");
    if (svg) svg.classList.add("lighting");
    if (!cell.hasAttribute("aria-label")) cell.setAttribute("aria-label", `GPU${a} to GPU${b}: ${cell.textContent}`);
    const list = document.createElement("dl"), say = (name, text) => list.append(make("dt", name), make("dd", text));
    table.tell(say, pair, row, column);
    for (const [detail, hint] of hints) if (detail !== table.detail) detail.replaceChildren(...hint);
    table.detail.replaceChildren(make("h3", `GPU${a} to GPU${b}`), list);
  };

  const way = (say, { reason, redirectors, word, known, up, down, meet }) => {
    say("Relation", known ? word : "unknown");
    if (reason) say(known ? "Note" : "Reason", reason);
    if (!known) return;
    const links = [...up, ...down].filter((id) => page.nodes[id][LINK]).length;
    const names = [...up, ...(meet === null ? [] : [meet]), ...down].map((id) => page.nodes[id][TITLE]);
    say("Hops", `${links} PCIe links: ${names.join(" \u2192 ")}`);
    const blind = [...up, ...down].filter((id) => page.nodes[id][REDIRECTS] === null);
    const sure = blind.length ? `not known: the ACS register of ${blind.join(", ")} could not be read` : "no port";
    say("Redirected by", redirectors.length ? redirectors.join(", ") : sure);
  };

  const reveal = (table, cell) => {
    const element = marks.get("n" + page.boards[table.gpus[tables.place(cell)[0]]]);
    if (!element) return;
    const frame = document.getElementById("tree");
    const box = element.getBoundingClientRect(), outer = frame.getBoundingClientRect();
    if (box.top < outer.top || box.bottom > outer.bottom) frame.scrollTop += box.top - outer.top - frame.clientHeight / 2;
    if (box.right > outer.right) frame.scrollLeft += box.right - outer.right + 12;
  };

  const told = (id) => (say, pair, row, column) => {
    const facts = page.heat.of[id][row][column];
    for (let at = 0; at < facts.length; at += 2) say(page.texts[facts[at]], page.texts[facts[at + 1]]);
    way(say, pair);
  };
  const related = (say, pair) => {
    way(say, pair);
    if (pair.known && page.predicted) say("Predicted", pair.predicted || "unknown");
  };

  const relations = document.querySelector("#matrix table");
  const choices = [...document.querySelectorAll("[name=quantity]")];
  const heats = choices.map(({ value: id }) => ({
    gpus: page.heat.gpus, grid: document.querySelector(`#heat-${id} table`), tell: told(id),
    detail: document.getElementById("heat-detail"),
  }));
  const all = relations ? [...heats, { gpus: page.boards.map((_, index) => index), grid: relations, tell: related,
                                       detail: document.getElementById("detail") }] : heats;
  const hints = new Map(all.map((table) => [table.detail, [...table.detail.childNodes]]));
  const hide = () => {
    darken();
    for (const [detail, hint] of hints) detail.replaceChildren(...hint);
  };
  const tables = pairTables(all, { show: light, hide, reveal });

  // ---- which quantity -----------------------------------------------------------------------------------------
  const choose = (index, focus) => {
    const from = heats.find((heat) => !heat.grid.closest(".heat-of").hidden);
    heats.forEach((heat, number) => { heat.grid.closest(".heat-of").hidden = number !== index; });
    choices[index].checked = true;
    if (from && from !== heats[index]) tables.swap(from, heats[index], focus);
  };
  choices.forEach((choice, index) => {
    choice.addEventListener("change", () => choose(index, false));
    heats[index].grid.addEventListener("keydown", (event) => {
      const step = { PageUp: -1, PageDown: 1 }[event.key];
      if (!step) return;
      event.preventDefault();
      choose((index + step + choices.length) % choices.length, true);
    });
  });
  if (choices.length) choose(0, false);

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
})();

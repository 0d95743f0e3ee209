"use strict";
// Without this script causes, gaps and the timeline are readable; with it there is the grid, a filter, and each box's report.
(() => {
  document.documentElement.classList.add("scripted");
  const page = JSON.parse(document.getElementById("page").textContent);
  const [NAME, GROUP, HARDWARE, STATUS, REASON, LETTERS, COUNTS, LAST, CHANGING, PROBLEMS, UNKNOWN, OMITTED] =
    Array(12).keys();
  const STATUSES = ["ok", "partial", "unreachable", "refused", "timeout", "missing", "garbled"];
  const WORDS = { p: "pass", f: "fail", w: "warn", s: "skip", u: "unknown", "-": "not checked" };
  const HEADINGS = { unjudged: "Could not be judged" };
  const COUNTED = 5, ENTRY = 6;       // in a cause: what it counts as, and the place of its entry
  // For people: "answered" says nothing of how the host is.
  const HEARD = ["answered", ...STATUSES.slice(1)];
  const SHORT = { p: "ok", f: "fail", w: "warn", s: "skip", u: "?", "-": "" };
  const text = (index) => page.texts[index];
  const by = (id) => document.getElementById(id);
  const make = (name, said = "", kind = "") => {
    const element = document.createElement(name);
    if (said !== "") element.textContent = said;
    if (kind) element.className = kind;
    return element;
  };
  const address = (name) => "#box=" + encodeURIComponent(name);
  const link = (name) => {
    const element = make("a", name);
    element.href = address(name);
    return element;
  };
  const places = new Map();
  page.hosts.forEach((host, index) => { if (!places.has(host[NAME])) places.set(host[NAME], index); });
  const struck = page.hosts.map(() => []);
  page.causes.forEach((cause, index) => {
    for (const host of cause[4]) if (typeof host === "number") struck[host].push(index);
  });
  // As page.kinds: what drifted, what could not be judged, and what is no drift. Of the whole report: not every cause is
  // in the page.
  const counted = (index, kind) => page.hosts[index][COUNTS][page.kinds.indexOf(kind)];
  const drifted = (index) => counted(index, "drift"), unjudged = (index) => counted(index, "unjudged");

  // ---- the grid -----------------------------------------------------------------------------------------------
  const grid = by("grid"), body = grid.tBodies[0];
  const badness = page.hosts.map((host, index) => {
    const letters = host[LETTERS];
    if (letters.includes("f") || drifted(index)) return 0;
    if (host[STATUS] > 1) return 1;
    return host[STATUS] || letters.includes("u") || unjudged(index) ? 2 : letters.includes("w") ? 3 : 4;
  });
  // The style sheet makes the table's parts boxes of another kind: the roles say that it still is a table.
  const as = (element, role) => { element.setAttribute("role", role); return element; };
  as(grid, "table"), as(grid.tHead, "rowgroup"), as(body, "rowgroup");
  grid.style.setProperty("--families", Math.max(1, page.families.length));     // repeat(0, ...) is no style
  grid.classList.toggle("many", page.hosts.length > 200);
  const heading = as(grid.tHead.insertRow(), "row");
  for (const name of ["Host", "Group", "Answer", "Drift", "Not judged", ...page.families]) {
    const cell = as(make("th", name), "columnheader");
    cell.scope = "col";
    cell.title = name;
    heading.append(cell);
  }
  // Most hosts look alike: a row is made once and copied, which takes a third of the time for a thousand of them.
  const patterns = new Map();
  const pattern = (host, drifts, blind) => {
    const key = [host[GROUP], host[STATUS], host[LETTERS], drifts, blind].join(" ");
    if (!patterns.has(key)) {
      const row = document.createElement("tr"), head = document.createElement("th"), to = make("a", " ");
      head.scope = "row";
      to.tabIndex = -1;
      head.append(to);
      row.append(head, make("td", text(host[GROUP]), "left"), make("td", HEARD[host[STATUS]], host[STATUS] ? "u" : ""),
                 make("td", drifts ? String(drifts) : "", drifts ? "f" : ""),
                 make("td", blind ? String(blind) : "", blind ? "u" : ""));
      // A host that did not answer has no letters.
      for (const letter of host[LETTERS].padEnd(page.families.length, "-"))
        row.append(make("td", SHORT[letter], letter === "-" ? "none" : letter));
      as(row, "row"), as(head, "rowheader");
      for (const cell of row.querySelectorAll("td")) as(cell, "cell");
      patterns.set(key, row);
    }
    return patterns.get(key);
  };
  const rows = page.hosts.map((host, index) => {
    const row = pattern(host, drifted(index), unjudged(index)).cloneNode(true), to = row.firstChild.firstChild;
    to.firstChild.data = host[NAME];
    to.href = address(host[NAME]);
    return row;
  });
  const ORDERS = {
    worst: (a, b) => badness[a] - badness[b] || a - b,
    name: (a, b) => a - b,
    group: (a, b) => page.hosts[a][GROUP] - page.hosts[b][GROUP] || badness[a] - badness[b] || a - b,
  };
  let stop = null;
  const rove = (row) => {
    if (stop) stop.querySelector("a").tabIndex = -1;
    stop = row;
    if (row) row.querySelector("a").tabIndex = 0;
  };
  const visible = () => [...body.rows].filter((row) => !row.hidden);
  const arrange = (order) => {
    body.append(...rows.map((_, index) => index).sort(ORDERS[order]).map((index) => rows[index]));
    rove(visible()[0] ?? null);
  };
  arrange("worst");
  for (const choice of document.getElementsByName("order"))
    choice.addEventListener("change", () => arrange(choice.value));
  grid.addEventListener("click", (event) => {
    const row = event.target instanceof Element ? event.target.closest("tbody tr") : null;
    if (row && !event.target.closest("a") && getSelection().isCollapsed) location.hash = row.querySelector("a").hash;
  });
  grid.addEventListener("focusin", (event) => {
    const row = event.target.closest("tbody tr");
    if (row) rove(row);
  });
  grid.addEventListener("keydown", (event) => {
    const row = event.target instanceof Element ? event.target.closest("tbody tr") : null;
    if (!row || event.altKey || event.ctrlKey || event.metaKey) return;
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20, Home: -Infinity, End: Infinity }[event.key];
    if (!step) return;
    event.preventDefault();
    const all = visible();
    all[Math.max(0, Math.min(all.length - 1, all.indexOf(row) + step))].querySelector("a").focus();
  });

  // ---- the filter ---------------------------------------------------------------------------------------------
  const causes = [...document.querySelectorAll(".cause")];
  const hostsOf = (cause) => page.causes[cause.dataset.cause][4].map((at) => (typeof at === "number" ? page.hosts[at][NAME] : at));
  let words = null;
  const learn = () => {       // when it is first needed
    const told = page.problems.map((problem) => `${text(problem[0])} ${text(problem[1])}`);
    words = {
      hosts: page.hosts.map((host, index) => [host[NAME], text(host[GROUP]), text(host[HARDWARE]), STATUSES[host[STATUS]],
        text(host[REASON]), ...host[PROBLEMS].map((at) => told[at]), ...struck[index].map((at) => text(page.causes[at][0])),
      ].join(" ").toLowerCase()),
      // With what stands within it: a lost GPU is found by each fact that tells of it.
      causes: causes.map((cause) => [...[...cause.querySelectorAll("summary")].map((line) => line.textContent), ...hostsOf(cause)]
        .join(" ").toLowerCase()),
    };
  };
  const form = by("filter"), wantedText = by("text"), attention = by("attention");
  const filter = () => {
    words ?? learn();
    const wanted = wantedText.value.trim().toLowerCase().split(/\s+/);
    const fits = (said) => wanted.every((word) => said.includes(word));
    let hosts = 0, left = 0;
    for (const more of [by("more"), by("rest")]) if (more && wanted[0]) more.open = true;
    rows.forEach((row, index) => {
      row.hidden = !(fits(words.hosts[index]) && (!attention.checked || badness[index] < 3));
      hosts += !row.hidden;
    });
    causes.forEach((cause, index) => {
      cause.hidden = !fits(words.causes[index]);
      // What an entry brought stands within it, and is not counted.
      left += !cause.hidden && !cause.parentElement.closest(".cause");
    });
    const entries = causes.filter((cause) => !cause.parentElement.closest(".cause")).length;
    const all = hosts === rows.length && left === entries;
    by("shown").textContent = all ? "" : `${hosts} of ${rows.length} hosts, ${left} of ${entries} causes`;
    by("grid-count").textContent = hosts === rows.length ? String(hosts) : `${hosts} of ${rows.length}`;
    by("no-host").hidden = hosts > 0;
    by("grid-frame").hidden = hosts === 0;
    by("no-cause").hidden = left > 0 || causes.length === 0;
    if (!stop || stop.hidden) rove(visible()[0] ?? null);
  };
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());

  // ---- the hosts of a cause -----------------------------------------------------------------------------------
  for (const cause of causes) {
    cause.addEventListener("toggle", () => {
      const place = cause.querySelector(".hosts");
      if (!cause.open || place.querySelector("ul")) return;
      const list = make("ul", "", "names");
      for (const name of hostsOf(cause)) {
        const item = document.createElement("li");
        item.append(places.has(name) ? link(name) : make("span", name));
        list.append(item);
      }
      place.append(list);
    });
  }

  // ---- one box ------------------------------------------------------------------------------------------------
  const fleet = by("fleet"), box = by("box"), title = document.title;
  const fact = (list, name, ...values) => {
    const value = document.createElement("dd");
    value.append(...values);
    list.append(make("dt", name), value);
  };
  const headed = (name, value) => {
    const pair = document.createElement("div");
    pair.append(make("dt", name), make("dd", value));
    return pair;
  };
  // The words of a fix in turn with its commands: [text, place] each, the place "" where it is words.
  const remedy = (parts) => parts.map(([said, place]) => {
    if (!place) return text(said);
    const command = make("span", "", "command"), copy = make("button", "Copy", "copy");
    copy.type = "button";
    copy.dataset.copy = text(said);
    copy.setAttribute("aria-label", `Copy ${text(said)}`);
    command.append(make("code", text(said)), make("span", place, "tag"), copy);
    return command;
  });
  const problemOf = ([check, subject, says, expected, fix, tags, outcome, reboot]) => {
    const details = make("details", "", `finding ${outcome}`), summary = document.createElement("summary");
    const list = make("dl", "", "facts");
    details.open = true;
    summary.append(make("span", outcome.toUpperCase(), `badge ${outcome}`), " ", make("span", text(check), "id"), " ",
                   make("span", text(says), "says"));
    if (subject) fact(list, "Subject", make("code", text(subject)));
    if (expected) fact(list, "Expected", make("code", text(expected)));
    if (fix.length) fact(list, "Fix", ...remedy(fix), ...(reboot ? [" ", make("span", "needs a reboot", "note")] : []));
    if (tags) fact(list, "Tags", make("code", text(tags)));
    details.append(summary);
    if (list.childNodes.length) details.append(list);
    return details;
  };
  const section = (name, count) => {
    const part = document.createElement("section"), head = make("h2", name);
    head.append(" ", make("span", String(count), "count"));
    part.append(head);
    return part;
  };
  const causeOf = (at) => {
    const [name, says, word, severity] = page.causes[at], item = document.createElement("li"), open = make("a", text(name));
    open.href = `#cause-${at}`;
    item.append(make("span", severity.toUpperCase(), `badge ${severity}`), " ", open, make("code", text(says)),
                make("span", word, "note"));
    return item;
  };
  const fill = (index) => {
    const host = page.hosts[index], drifts = struck[index];
    const outcome = ["fail", "unknown", "unknown", "warn", "pass"][badness[index]];
    const back = make("p", "", "back"), to = make("a", "\u2190 Back to the fleet");
    to.href = "#";
    back.append(to);
    const summary = make("section", "", `summary ${outcome}`), head = make("h1"), list = make("dl", "", "head");
    const mark = host[STATUS] > 1 ? STATUSES[host[STATUS]] : outcome;
    head.tabIndex = -1;
    head.append(make("span", mark.toUpperCase(), `badge ${outcome}`), " ", make("span", host[NAME], "host"));
    list.append(headed("Group", text(host[GROUP])), headed("Hardware", text(host[HARDWARE]) || "not known"),
                headed("Answer", HEARD[host[STATUS]] + (host[REASON] ? `: ${text(host[REASON])}` : "")),
                headed("Last heard", text(host[LAST]) || "never yet"));
    if (host[CHANGING]) list.append(headed("In change", "our own roles were at work on it during the audit"));
    summary.append(head, list);
    if (host[LETTERS]) {
      const families = make("ul", "", "families");
      page.families.forEach((family, at) => {
        const letter = host[LETTERS][at];
        if (letter !== "-") families.append(make("li", `${family} ${WORDS[letter]}`, letter));
      });
      if (families.childNodes.length) summary.append(families);
    }
    box.replaceChildren(back, summary);
    page.kinds.forEach((kind, at) => {
      const total = host[COUNTS][at];
      if (!total) return;
      const part = section(HEADINGS[kind] ?? kind[0].toUpperCase() + kind.slice(1), total), all = make("ul", "", "drifts");
      const here = drifts.filter((place) => page.causes[place][COUNTED] === at);
      for (const place of here) {
        const item = causeOf(place), brought = drifts.filter((other) => other !== place && page.causes[other][ENTRY] === place);
        if (brought.length) {
          const more = document.createElement("details"), list = make("ul", "", "drifts");
          more.append(make("summary", `${brought.length} more of the same audit`));
          list.append(...brought.map(causeOf));
          more.append(list);
          item.append(more);
        }
        all.append(item);
      }
      part.append(all);
      if (here.length < total) part.append(make("p", `${total - here.length} more are too many for this page; --json has them all.`, "hint"));
      box.append(part);
    });
    const findings = section("Findings", host[PROBLEMS].length);
    findings.append(...host[PROBLEMS].map((at) => problemOf(page.problems[at])));
    if (!host[PROBLEMS].length) findings.append(make("p", host[STATUS] > 1 ? "Nothing was judged: the host did not answer."
      : "Nothing fails, warns or is unknown.", "hint"));
    if (host[OMITTED]) findings.append(make("p", `${host[OMITTED]} more are too many for this page; --json has them all.`, "hint"));
    box.append(findings);
    if (host[UNKNOWN].length) {
      const part = section("Unknown facts", host[UNKNOWN].length), all = make("ul", "", "drifts");
      for (const [name, why] of host[UNKNOWN]) {
        const item = document.createElement("li");
        item.append(make("code", text(name)), text(why));
        all.append(item);
      }
      part.append(all);
      box.append(part);
    }
    document.title = `${host[NAME]}: ${title}`;
    return head;
  };
  let scrolled = 0, left = null;
  const route = () => {
    const wanted = location.hash.startsWith("#box=") ? location.hash.slice(5) : null;
    let index;
    try { index = wanted === null ? undefined : places.get(decodeURIComponent(wanted)); } catch { index = undefined; }
    if (index === undefined) {
      if (fleet.hidden) {
        fleet.hidden = false, box.hidden = true;
        box.replaceChildren();
        document.title = title;
        scrollTo(0, scrolled);
        if (left && left.isConnected) left.focus({ preventScroll: true });
      }
      const cause = /^#cause-\d+$/.test(location.hash) ? document.querySelector(location.hash) : null;
      if (cause) {
        for (let at = cause; at; at = at.parentElement.closest("details")) at.hidden = false, at.open = true;
        cause.scrollIntoView({ block: "center" });
        cause.querySelector("summary").focus({ preventScroll: true });
      }
      return;
    }
    if (!fleet.hidden) scrolled = scrollY, left = document.activeElement;
    const head = fill(index);
    fleet.hidden = true, box.hidden = false;
    scrollTo(0, 0);
    head.focus({ preventScroll: true });
  };
  addEventListener("hashchange", route);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape" && !box.hidden) location.hash = "#"; });

  const frame = by("timeline-frame");
  if (frame) frame.scrollLeft = frame.scrollWidth;      // the newest
  route();
})();

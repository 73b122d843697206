// The segments: a table that sorts, filters and opens.

const PAGE_SIZE = 40;
const AT_FIRST = 12;  // rows
const OPENED = 3;  // of them
const narrow = matchMedia("(max-width: 40rem)");  // page.css hides columns there

function setUpSegments(data) {
  const root = document.getElementById("segment-browser");
  if (!root) return;
  const { systems, metrics, segments, turned } = data;
  const field = (name) => root.querySelector(`[data-field="${name}"]`);
  const state = { sort: systems.length > 1 ? "size" : "number", sign: -1, shown: AT_FIRST, open: new Set() };
  if (state.sort === "number") state.sign = 1;
  const metric = () => Number(field("metric")?.value ?? 0);
  const other = () => Number(field("system")?.value ?? systems.length - 1);
  const pair = () => (systems.length < 2 ? [0] : turned ? [other(), 0] : [0, other()]);
  const score = (segment, system) => segment.c[metric()]?.[system] ?? null;
  const difference = (segment) => {
    const [a, b] = pair().map((system) => score(segment, system));
    return a === null || b === null ? null : b - a;
  };
  const keys = {
    number: (segment) => segment.n,
    reordering: (segment) => segment.m,
    from: (segment) => score(segment, pair()[0]),
    to: (segment) => score(segment, pair()[1]),
    difference,
    size: (segment) => { const d = difference(segment); return d === null ? null : Math.abs(d); },
  };
  const haystack = (segment) =>
    segment.t ??= [segment.s, ...segment.r.map(([text]) => text), ...segment.o.map(([text]) => text)].join("\n").toLowerCase();

  function chosen() {
    const wanted = field("text").value.toLowerCase();
    const differing = field("differing")?.checked;
    const key = keys[state.sort];
    return segments
      .filter((segment) => (!wanted || haystack(segment).includes(wanted)) &&
        (!differing || segment.o[0][0] !== segment.o[other()][0]))
      .map((segment) => [key(segment), segment])
      .sort(([a, s], [b, t]) => (a === null) - (b === null) || state.sign * (a - b) || s.n - t.n)
      .map(([, segment]) => segment);
  }

  const shown = (value) => {
    if (value === null || value === undefined) return "\u2013";
    return metrics[metric()].percent ? (100 * value).toFixed(2) : value.toFixed(4);
  };
  const tone = (value) => (!value ? "" : (value > 0) !== metrics[metric()].lower ? "better" : "worse");
  const signed = (value) => (value === null ? "\u2013" : (value > 0 ? "+" : value < 0 ? "\u2212" : "") + shown(Math.abs(value)));

  function columns() {
    const all = [["number", "Segment", "c-no"], [null, segments[0]?.r.length ? "Reference" : "Output", ""]];
    if (segments.some((segment) => segment.m !== null)) all.push(["reordering", "Reordering", "num c-num aside"]);
    const [from, to] = pair();
    if (metrics.length) all.push(["from", systems[from], systems.length > 1 ? "num c-num aside" : "num c-num"]);
    if (metrics.length && systems.length > 1) all.push(["to", systems[to], "num c-num aside"], ["difference", "Difference", "num c-num"]);
    return all;
  }

  function fill() {
    const rows = chosen();
    const head = make("tr");
    for (const [key, title, kind] of columns()) {
      const cell = make("th", { class: kind, scope: "col" }, make("bdi", {}, title));
      head.append(cell);
      if (!key) continue;
      sortable(cell, key === "number" ? 1 : -1, (sign) => { Object.assign(state, { sort: key, sign, shown: PAGE_SIZE }); fill(); focusHead(key); });
      cell.dataset.key = key;
      if (key === state.sort) cell.setAttribute("aria-sort", state.sign > 0 ? "ascending" : "descending");
    }
    const body = make("tbody");
    for (const segment of rows.slice(0, state.shown)) body.append(...rowsOf(segment));
    root.querySelector("table").replaceChildren(make("thead", {}, head), body);
    field("count").textContent = `${rows.length} of ${segments.length}`;
    const more = field("more");
    more.hidden = rows.length <= state.shown;
    more.textContent = `Show ${Math.min(PAGE_SIZE, rows.length - state.shown)} more`;
  }

  const focusHead = (key) => [...root.querySelectorAll("th")].find((head) => head.dataset.key === key)?.querySelector("button").focus();

  function rowsOf(segment) {
    const open = state.open.has(segment.n);
    const button = make("button", { type: "button", class: "open", "aria-expanded": String(open), "aria-label": `Segment ${segment.n}` }, String(segment.n));
    const line = make("tr", { class: "row" }, make("td", {}, button),
      make("td", { class: "text" }, make("bdi", {}, segment.r[0]?.[0] ?? segment.o[0][0])));
    for (const [key, , kind] of columns().slice(2)) {
      const value = key === "reordering" ? (segment.m === null ? "\u2013" : segment.m.toFixed(2))
        : key === "difference" ? signed(difference(segment)) : shown(keys[key](segment));
      const better = key === "difference" ? tone(difference(segment)) : "";
      line.append(make("td", { class: `${kind.replace("c-num", "")} ${better}` }, value));
    }
    const toggle = () => {
      if (state.open.has(segment.n)) state.open.delete(segment.n); else state.open.add(segment.n);
      const now = state.open.has(segment.n);
      button.setAttribute("aria-expanded", String(now));
      if (now) line.after(detail(segment)); else line.nextElementSibling.remove();
    };
    line.addEventListener("click", toggle);
    return open ? [line, detail(segment)] : [line];
  }

  function detail(segment) {
    const compared = pair();
    const texts = make("dl", { class: "texts" });
    const source = segment.s === null ? null : wordsOf(segment.s);
    const parts = [];
    const add = (label, words, links, marks, kind = "") => {
      const line = make("dd", { class: kind });
      const part = { words, links: linksOf(links), spans: [] };
      words.forEach((word, at) => {
        const span = make("bdi", { class: `word ${marks[at] ?? ""}` }, word);
        span.addEventListener("pointerenter", () => light(parts, part, at));
        span.addEventListener("pointerleave", () => light(parts, null));
        part.spans.push(span);
        line.append(span, " ");
      });
      if (!words.length) line.append(make("span", { class: "dim" }, "(empty)"));
      parts.push(part);
      texts.append(make("dt", {}, label), line);
    };
    if (source) add("Source", source, source.map((_, i) => `${i}-${i}`).join(" "), []);
    segment.r.forEach(([text, links], i) => add(segment.r.length > 1 ? `Reference ${i + 1}` : "Reference", wordsOf(text), links, []));
    const marked = marks(segment, compared);
    compared.forEach((system, k) => {
      const [text, links] = segment.o[system];
      const label = make("span", { class: `key s${system % SYSTEM_COLOURS}` }, make("bdi", {}, systems[system]));
      add(label, wordsOf(text), links, marked[k], `s${system % SYSTEM_COLOURS}`);
    });
    const pills = make("div", { class: "pills" });
    metrics.forEach(({ label, percent }, m) => {
      const write = (value) => (value === null || value === undefined ? "\u2013" : percent ? (100 * value).toFixed(2) : value.toFixed(4));
      pills.append(make("span", {}, make("bdi", {}, `${label} ${compared.map((system) => write(segment.c[m][system])).join(" \u2192 ")}`)));
    });
    const cell = make("td", { colspan: columns().filter(([, , kind]) => !narrow.matches || !kind.includes("aside")).length }, pills, texts);
    const drawn = source ? drawings(segment, source, compared) : [];
    if (drawn.length) cell.append(make("details", {}, make("summary", {}, "Word order and links"), make("div", { class: "drawings" }, ...drawn)));
    return make("tr", { class: "detail" }, cell);
  }

  function drawings(segment, source, pair) {
    const made = [];
    const [, links, order] = segment.r[0] ?? [];
    const orderOf = (text) => text.split(" ").filter(Boolean).map(Number);
    if (order && pair.every((system) => segment.o[system][2])) {
      made.push(drawOrders(source, { name: "reference", order: orderOf(order) },
        pair.map((system) => ({ name: systems[system], system, order: orderOf(segment.o[system][2]), v: segment.o[system][3] }))));
    }
    if (links !== null && links !== undefined) made.push(drawLinks(source, wordsOf(segment.r[0][0]), linksOf(links), "Source and reference", null));
    for (const system of pair) {
      const [text, own] = segment.o[system];
      if (own !== null) made.push(drawLinks(source, wordsOf(text), linksOf(own), `Source and ${systems[system]}`, system));
    }
    return made;
  }

  for (const name of ["text", "differing", "metric", "system"]) {
    field(name)?.addEventListener("input", () => { state.shown = PAGE_SIZE; fill(); });
  }
  narrow.addEventListener("change", fill);
  if (systems.length > 1) for (const segment of chosen().slice(0, OPENED)) state.open.add(segment.n);
  field("more").addEventListener("click", () => { state.shown += PAGE_SIZE; fill(); });
  fill();
}

/** Mark words that the references have (clipped), and those only this output of a pair has right. */
function marks(segment, pair) {
  const most = new Map();
  for (const [text] of segment.r) {
    const counts = new Map();
    for (const word of wordsOf(text)) counts.set(word, (counts.get(word) ?? 0) + 1);
    for (const [word, count] of counts) most.set(word, Math.max(count, most.get(word) ?? 0));
  }
  const texts = pair.map((system) => wordsOf(segment.o[system][0]));
  const matched = texts.map((words) => {
    const counts = new Map();
    for (const word of words) counts.set(word, Math.min((counts.get(word) ?? 0) + 1, most.get(word) ?? 0));
    return counts;
  });
  return texts.map((words, k) => {
    const seen = new Map();
    return words.map((word) => {
      const place = (seen.get(word) ?? 0) + 1;
      seen.set(word, place);
      if (place > (most.get(word) ?? 0)) return "";
      return pair.length > 1 && place > (matched[1 - k].get(word) ?? 0) ? "only" : "hit";
    });
  });
}

/** Outline a word and the words that are linked with the same source words. */
function light(parts, chosen, at) {
  const sources = new Set((chosen?.links ?? []).filter(([, j]) => j === at).map(([i]) => i));
  for (const part of parts) {
    const lit = new Set(part.links.filter(([i]) => sources.has(i)).map(([, j]) => j));
    part.spans.forEach((span, j) => span.classList.toggle("lit", lit.has(j) || (part === chosen && j === at)));
  }
}

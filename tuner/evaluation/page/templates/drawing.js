// Drawings of one segment: links between words, and the orders in which source words come.

const SVG = "http://www.w3.org/2000/svg";
const LONGEST = 22;  // characters of a word in a drawing; its title has all of them
const GAP = 12;
const ruler = document.createElement("canvas").getContext("2d");

function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** Split as portmert does: only ASCII white space ends a token. */
function wordsOf(text) {
  return text.split(/[ \t\n\v\f\r]+/).filter((word) => word !== "");
}

function linksOf(text) {
  return !text ? [] : text.split(" ").map((link) => link.split("-").map(Number));
}

function widthOf(text) {
  ruler.font = `13px ${getComputedStyle(document.body).fontFamily}`;
  return ruler.measureText(text).width;
}

/** Middles of words set side by side, and where the row ends. */
function layOut(words, left = 2) {
  let x = left;
  const middles = words.map((word) => {
    const width = Math.max(8, widthOf(shorten(word)));
    const middle = x + width / 2;
    x += width + GAP;
    return middle;
  });
  return { middles, end: x };
}

function shorten(word) {
  const letters = [...word];
  return letters.length > LONGEST ? `${letters.slice(0, LONGEST - 1).join("")}\u2026` : word;
}

function row(words, middles, y) {
  return words.map((word, i) =>
    svg("text", { x: middles[i], y, "text-anchor": "middle" },
      svg("title", {}, document.createTextNode(word)), document.createTextNode(shorten(word))));
}

function curve(fromX, fromY, toX, toY, crossing) {
  const bend = (toY - fromY) / 2;
  return svg("path", {
    class: crossing ? "link cross" : "link",
    d: `M${fromX} ${fromY}C${fromX} ${fromY + bend} ${toX} ${toY - bend} ${toX} ${toY}`,
  });
}

/** Which of some pairs cross another one. */
function crossings(pairs) {
  return pairs.map(([a, b]) => pairs.some(([c, d]) => (a - c) * (b - d) < 0));
}

function frame(width, height, label, system) {
  const picture = svg("svg", {
    width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label,
  });
  const block = make("div", { class: system === null ? "drawing" : `drawing s${system % SYSTEM_COLOURS}`, tabindex: 0, role: "group", "aria-label": label });
  block.append(make("h4", {}, label), picture);
  return { block, picture };
}

/** Source words above, the words of one text below, a line for each link. */
function drawLinks(source, words, links, label, system) {
  const top = layOut(source), bottom = layOut(words);
  const { block, picture } = frame(Math.max(top.end, bottom.end), 112, label, system);
  const crossing = crossings(links);
  links.forEach(([i, j], k) => {
    if (i < source.length && j < words.length) {
      picture.append(curve(top.middles[i], 20, bottom.middles[j], 90, crossing[k]));
    }
  });
  picture.append(...row(source, top.middles, 14), ...row(words, bottom.middles, 104));
  return block;
}

/** The source words in the order of each text, the reference's in the middle. */
function drawOrders(source, reference, others) {
  const rows = others.length > 1
    ? [others[0], { ...reference, reference: true }, others[1]]
    : [{ ...reference, reference: true }, ...others];
  const left = Math.max(widthOf("v 100.00"), ...rows.map(({ name }) => widthOf(shorten(name)))) + 2 * GAP;
  const places = rows.map(({ order }) => layOut(order.map((at) => source[at]), left));
  const width = Math.max(...places.map(({ end }) => end));
  const step = 66;
  const label = `Source words in the order of ${rows.map(({ name }) => name).join(", ")}`;
  const { block, picture } = frame(width, step * (rows.length - 1) + 36, label, null);
  for (let r = 0; r + 1 < rows.length; r += 1) {
    const system = rows[r].reference ? rows[r + 1].system : rows[r].system;
    const below = new Map(rows[r + 1].order.map((at, place) => [at, place]));
    const pairs = rows[r].order.map((at, place) => [place, below.get(at)]);
    const crossing = crossings(pairs);
    const group = svg("g", { class: `s${system % SYSTEM_COLOURS}` });
    pairs.forEach(([from, to], k) => {
      group.append(curve(places[r].middles[from], 22 + r * step, places[r + 1].middles[to], (r + 1) * step, crossing[k]));
    });
    picture.append(group);
  }
  rows.forEach(({ order, name, v }, r) => {
    picture.append(...row(order.map((at) => source[at]), places[r].middles, 15 + r * step));
    picture.append(svg("text", { class: "label", x: 0, y: 15 + r * step }, document.createTextNode(shorten(name))));
    if (typeof v === "number") picture.append(svg("text", { class: "label v", x: 0, y: 31 + r * step }, document.createTextNode(`v ${(100 * v).toFixed(2)}`)));
  });
  return block;
}

// Tables of the page that sort by a click on a column's head and filter by what is typed.

/** Order of two cells: numbers by value, what is missing last, all else as text. */
function compareValues(a, b, sign) {
  if (a === "" || b === "") return (a === "") - (b === "");
  const x = Number(a), y = Number(b);
  if (!Number.isNaN(x) && !Number.isNaN(y)) return sign * (x - y);
  return sign * a.localeCompare(b);
}

/** Turn a head into a button that calls sort(sign); best values first where they are numbers. */
function sortable(head, first, sort) {
  const button = make("button", { type: "button" });
  button.append(...head.childNodes);
  head.replaceChildren(button);
  head.setAttribute("aria-sort", "none");
  button.addEventListener("click", () => {
    const before = head.getAttribute("aria-sort");
    const sign = before === "none" ? first : before === "ascending" ? -1 : 1;
    for (const other of head.parentElement.children) {
      if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none");
    }
    head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
    sort(sign);
  });
}

/** What a cell is sorted by: the number it begins with, or its text. */
const cellValue = (row, column) => {
  const cell = row.cells[column];
  const text = cell.textContent.trim();
  if (!cell.classList.contains("num")) return text;
  const number = /^[<\s]*([+\u2212-]?\d[\d,]*(?:\.\d+)?)/.exec(text);
  if (!number) return text === "\u2013" ? "" : text;
  return number[1].replace(/[+,]/g, "").replace("\u2212", "-");
};

function setUpTable(table) {
  const body = table.tBodies[0];
  let update;
  [...table.tHead.rows[table.tHead.rows.length - 1].cells].forEach((head, column) => {
    sortable(head, head.classList.contains("num") ? -1 : 1, (sign) => {
      const rows = [...body.rows];
      rows.sort((a, b) => compareValues(cellValue(a, column), cellValue(b, column), sign));
      body.append(...rows);
      update();
    });
  });
  const box = document.getElementById(table.dataset.filter);
  const count = document.getElementById(`${table.dataset.filter}-count`);
  update = () => {
    const wanted = box ? box.value.toLowerCase() : "";
    for (const row of body.rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
    const shown = [...body.rows].filter((row) => !row.hidden).length;
    if (count) count.textContent = `${shown} of ${body.rows.length}`;
    reachScrollers();
  };
  if (box) box.addEventListener("input", update);
  update();
}

/** What scrolls can be reached with the keyboard, and only that; what is cut says so. */
function reachScrollers() {
  for (const box of document.querySelectorAll(".scroll")) {
    const scrolls = box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1;
    if (scrolls) box.tabIndex = 0; else box.removeAttribute("tabindex");
    box.classList.toggle("cut", box.scrollWidth > box.clientWidth + 1);
  }
}

function setUpTables() {
  reachScrollers();
  window.addEventListener("resize", reachScrollers);
  document.addEventListener("toggle", reachScrollers, true);
  document.querySelectorAll("table.sortable").forEach(setUpTable);
}

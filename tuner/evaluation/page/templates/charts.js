// Charts: `Chart` of document.py, drawn by Chart.js in the colours of the theme.

const drawn = new Map();

const number = (value, chart) =>
  value === null ? "" : chart.in_percent ? (100 * value).toFixed(2) : shortNumber(value);

function shortNumber(value) {
  if (Number.isInteger(value)) return value.toLocaleString("en");
  const size = Math.abs(value);
  return size !== 0 && (size < 1e-3 || size >= 1e6) ? value.toExponential(2) : value.toPrecision(4);
}

function tick(value, percent) {
  return (percent ? 100 * value : value).toLocaleString("en", { maximumSignificantDigits: 4 });
}

/** Draws a point, and the spread of a bar or point: `low` and `high` of its dataset, as a line over it. */
const whiskers = {
  id: "whiskers",
  afterDatasetsDraw(chart) {
    const { ctx } = chart;
    chart.data.datasets.forEach((dataset, index) => {
      const meta = chart.getDatasetMeta(index);
      if (!isSideways(dataset) || meta.hidden) return;
      const scale = chart.scales.x;
      ctx.save();
      ctx.lineWidth = 1.5;
      meta.data.forEach((element, i) => {
        if (dataset.data[i] === null) return;
        const low = dataset.low[i] ?? null, high = dataset.high[i] ?? null;
        const tone = { better: "better", worse: "worse", neither: "soft" }[dataset.tones[i]];
        ctx.strokeStyle = ctx.fillStyle = tone ? colour(tone) : dataset.whisker;
        if (low !== null) {
          const [from, to] = [low, high].map((end) => scale.getPixelForValue(end));
          ctx.beginPath();
          ctx.moveTo(from, element.y);
          ctx.lineTo(to, element.y);
          for (const end of [from, to]) { ctx.moveTo(end, element.y - 4); ctx.lineTo(end, element.y + 4); }
          ctx.stroke();
        }
        if (dataset.kind !== "intervals") return;
        ctx.beginPath();
        ctx.arc(element.x, element.y, 4.5, 0, 2 * Math.PI);
        ctx.fill();
      });
      ctx.restore();
    });
  },
};

/** Draws a line across the chart where something stands: no difference. */
const marker = {
  id: "marker",
  beforeDatasetsDraw(chart, _, options) {
    if (typeof options.at !== "number") return;
    const x = chart.scales.x.getPixelForValue(options.at);
    const { top, bottom } = chart.chartArea;
    const { ctx } = chart;
    ctx.save();
    ctx.strokeStyle = options.colour;
    ctx.setLineDash([3, 3]);
    ctx.beginPath();
    ctx.moveTo(x, top);
    ctx.lineTo(x, bottom);
    ctx.stroke();
    ctx.restore();
  },
};

/** Names the series under a chart, however many, each a button that hides it or shows it again. */
function fillLegend(figure, plot, choice) {
  const names = choice.series.length < 2 ? [] : choice.series.map((series, index) => {
    const line = make("span", { class: "line" });
    const button = make("button", { type: "button", class: `s${series.colour % SYSTEM_COLOURS}`, "aria-pressed": "true" },
      line, make("bdi", {}, series.name));
    button.addEventListener("click", () => {
      const visible = !plot.isDatasetVisible(index);
      plot.setDatasetVisibility(index, visible);
      plot.update();
      button.setAttribute("aria-pressed", String(visible));
    });
    return button;
  });
  figure.querySelector(".legend").replaceChildren(...names);
}

const isSideways = (chart) => chart.kind === "bars" || chart.kind === "intervals";

function dataset(series, chart) {
  const tint = systemColour(series.colour);
  const common = {
    label: series.name, borderColor: tint, backgroundColor: tint, whisker: colour("ink"),
    kind: chart.kind, low: series.low, high: series.high, tones: series.tones,
  };
  if (chart.kind === "bars") {
    return { ...common, type: "bar", data: series.values, maxBarThickness: 14, borderRadius: 2 };
  }
  if (chart.kind === "intervals") {
    // Bars that cannot be seen: they stand side by side where several systems share a row.
    return {
      ...common, type: "bar", data: series.values, whisker: tint,
      backgroundColor: "transparent", borderWidth: 0, maxBarThickness: 22,
    };
  }
  return {
    ...common, type: "scatter", parsing: false,
    data: series.x.map((x, i) => ({ x, y: series.values[i] })),
    pointRadius: series.x.length > 100 ? 2 : 3, pointHoverRadius: 5,
  };
}

/** A label in at most two lines of so many characters, so that a narrow page shows it too. */
function inLines(label, most) {
  const lines = [""];
  for (const word of label.split(" ")) {
    const last = lines.at(-1);
    if (last && last.length + 1 + word.length > most) lines.push(word);
    else lines[lines.length - 1] = last ? `${last} ${word}` : word;
  }
  const kept = lines.slice(0, 2).map((line) => line.length > most ? `${line.slice(0, most - 1)}\u2026` : line);
  if (lines.length > 2) kept[1] = `${kept[1].slice(0, most - 1)}\u2026`;
  return kept;
}

/** What an axis must show besides the values: their spread, and no difference. */
function reach(choice) {
  const ends = choice.series.flatMap(({ low, high, values }) => [...low, ...high, ...values])
    .filter((value) => typeof value === "number");
  if (typeof choice.marker === "number") ends.push(choice.marker);
  const room = 0.04 * (Math.max(...ends) - Math.min(...ends));
  return ends.length ? { suggestedMin: Math.min(...ends) - room, suggestedMax: Math.max(...ends) + room } : {};
}

function options(choice, chart) {
  const sideways = isSideways(chart);
  const axis = (title, extra = {}) => ({
    title: { display: Boolean(title), text: title, color: colour("soft") },
    grid: { color: colour("rule"), drawTicks: false },
    border: { color: colour("rule") },
    ticks: { color: colour("soft"), padding: 6, maxRotation: 0, ...extra },
  });
  const shown = { callback: (value) => tick(value, choice.in_percent) };
  const named = { callback(value) { return inLines(this.getLabelForValue(value), Math.min(60, Math.max(10, this.chart.width / 16))); } };
  const unit = (name) => (name && choice.in_percent && chart.kind !== "intervals" ? `${name} (%)` : name);
  const positions = choice.series.flatMap((series) => series.x);
  const whole = positions.every(Number.isInteger) ? { precision: 0 } : { callback: (value) => tick(value, false) };
  const x = sideways ? axis(unit(chart.x), shown) : { ...axis(chart.x, whole), type: "linear" };
  const y = sideways ? axis(chart.y, { ...named, autoSkip: false }) : axis(unit(chart.y), shown);
  if (sideways) {
    y.grid.display = false;
    Object.assign(x, { beginAtZero: chart.kind === "bars" }, reach(choice));
  }
  const value = (item) => (sideways ? item.parsed.x : item.parsed.y);
  const spread = (item) => {
    const low = item.dataset.low?.[item.dataIndex];
    return low === null || low === undefined ? "" :
      ` (${number(low, choice)} to ${number(item.dataset.high[item.dataIndex], choice)})`;
  };
  return {
    animation: false, responsive: true, maintainAspectRatio: false, normalized: true,
    indexAxis: sideways ? "y" : "x",
    interaction: { mode: sideways ? "index" : "nearest", axis: sideways ? "y" : "xy", intersect: false },
    scales: { x, y },
    plugins: {
      legend: { display: false },  // `fillLegend` writes it
      tooltip: {
        backgroundColor: colour("ink"), titleColor: colour("paper"), bodyColor: colour("paper"),
        padding: 9, boxWidth: 8, boxHeight: 8,
        callbacks: {
          title: (items) => !items.length ? "" : sideways ? items[0].label : `${chart.x} ${shortNumber(items[0].parsed.x)}`,
          label: (item) => ` ${item.dataset.label}: ${number(value(item), choice)}${spread(item)}`,
        },
      },
      marker: { at: choice.marker, colour: colour("ink") },
    },
  };
}

function draw(figure, chart) {
  const choice = chart.choices[Number(figure.querySelector("select")?.value ?? 0)];
  drawn.get(chart.name)?.destroy();
  const canvas = figure.querySelector("canvas");
  const plot = new Chart(canvas, {
    type: "line",
    data: { labels: choice.categories, datasets: choice.series.map((s) => dataset(s, chart)) },
    options: options(choice, chart),
    plugins: [whiskers, marker],
  });
  drawn.set(chart.name, plot);
  fillLegend(figure, plot, choice);
  const numbers = figure.querySelector("details");
  if (numbers.open) fillNumbers(numbers, chart, choice);
  else numbers.dataset.stale = "yes";
}

/** What a chart shows, as a table: for those who cannot see or hover it. */
function fillNumbers(details, chart, choice) {
  const body = make("tbody");
  for (const series of choice.series) {
    series.values.forEach((y, i) => {
      const x = series.x.length ? series.x[i] : choice.categories[i];
      const low = series.low[i];
      const spread = low === null || low === undefined ? "" : ` (${number(low, choice)} to ${number(series.high[i], choice)})`;
      body.append(make("tr", {}, make("td", {}, series.name),
        make("td", { class: "num" }, typeof x === "number" ? shortNumber(x) : x),
        make("td", { class: "num" }, y === null ? "\u2013" : number(y, choice) + spread)));
    });
  }
  const [of, value] = isSideways(chart) ? [chart.y, chart.x] : [chart.x, chart.y];
  const head = make("tr", {}, make("th", {}, "Series"),
    make("th", { class: "num" }, of || "Of"), make("th", { class: "num" }, value || "Value"));
  details.querySelector(".scroll").replaceChildren(make("table", {}, make("thead", {}, head), body));
  delete details.dataset.stale;
}

/** Arrow keys walk from point to point and show what hovering shows. */
function walk(event, chart) {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  const plot = drawn.get(chart.name);
  const active = plot.getActiveElements()[0];
  let index = active ? active.index + step : 0;
  let set = active ? active.datasetIndex : 0;
  const visible = plot.data.datasets.map((_, i) => i).filter((i) => plot.isDatasetVisible(i));
  if (!visible.length) return;
  if (index < 0 || index >= plot.data.datasets[set].data.length) {
    set = visible[(visible.indexOf(set) + step + visible.length) % visible.length];
    index = step > 0 ? 0 : plot.data.datasets[set].data.length - 1;
  }
  const point = plot.getDatasetMeta(set).data[index];
  plot.setActiveElements([{ datasetIndex: set, index }]);
  plot.tooltip.setActiveElements([{ datasetIndex: set, index }], { x: point.x, y: point.y });
  plot.update("none");
}

const figureOf = (chart) => document.getElementById(`chart-${chart.name}`);

/** Room for the bars of the choice that has most. */
function height(chart) {
  const bars = chart.choices.map(({ categories, series }) => categories.length * Math.max(26, 17 * series.length));
  return `${80 + Math.max(...bars)}px`;
}

function setUpCharts(charts) {
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  for (const chart of charts) {
    const figure = figureOf(chart);
    const select = figure.querySelector("select");
    const details = figure.querySelector("details");
    if (isSideways(chart)) figure.querySelector(".canvas").style.height = height(chart);
    select?.addEventListener("change", () => draw(figure, chart));
    details.addEventListener("toggle", () => {
      const choice = chart.choices[Number(select?.value ?? 0)];
      if (details.open && details.dataset.stale) fillNumbers(details, chart, choice);
    });
    figure.querySelector("canvas").addEventListener("keydown", (event) => walk(event, chart));
    draw(figure, chart);
  }
  const drawAll = () => { for (const chart of charts) draw(figureOf(chart), chart); };
  document.addEventListener("themechange", drawAll);
  matchMedia("print").addEventListener("change", drawAll);  // paper is light
}

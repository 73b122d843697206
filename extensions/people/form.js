"use strict";
(() => {
  const sheet = JSON.parse(document.getElementById("sheet").textContent);
  const store = `portmert-humaneval/${sheet.evaluation}/${sheet.judge}`;
  const ANSWERS = ["left", "right", "equal"];
  const at = (id) => document.getElementById(id);
  const items = sheet.items;
  const answers = new Map();
  let current = 0;
  let exported = true;
  let kept = true;

  // A file or a store may hold anything: only answers to items of this sheet are taken.
  function take(held) {
    if (!held || held.evaluation !== sheet.evaluation || held.judge !== sheet.judge) return false;
    if (!Array.isArray(held.answers)) return false;
    const known = new Set(items.map((item) => item.item));
    for (const one of held.answers) {
      if (one && known.has(one.item) && ANSWERS.includes(one.answer)) {
        answers.set(one.item, one.answer);
      }
    }
    return true;
  }

  function held() {
    return {
      portmert_humaneval: sheet.form,
      evaluation: sheet.evaluation,
      judge: sheet.judge,
      answers: items.map(({ item }) => ({ item, answer: answers.get(item) ?? null })),
    };
  }

  function save() {
    exported = false;
    try {
      localStorage.setItem(store, JSON.stringify(held()));
      kept = true;
    } catch {
      kept = false;
    }
    say(` at ${new Date().toLocaleTimeString()}`);
  }

  function say(time = "") {
    const saved = at("saved");
    saved.classList.toggle("unsaved", !kept);
    if (!kept) {
      saved.textContent = "NOT saved: this browser keeps nothing. Export before you close the page.";
    } else if (answers.size === 0) {
      saved.textContent = "Nothing to save yet";
    } else {
      saved.textContent = `Saved in this browser${time}`;
    }
  }

  function show() {
    const item = items[current];
    at("title").textContent = `Item ${item.item} (${current + 1} of ${items.length})`;
    at("source").hidden = item.source === undefined;
    at("source").querySelector(".words").textContent = item.source ?? "";
    at("reference").querySelector(".words").textContent = item.reference;
    for (const button of document.querySelectorAll(".choice")) {
      const answer = button.dataset.answer;
      const text = button.querySelector(".words");
      if (text) text.textContent = item[answer];
      button.setAttribute("aria-pressed", String(answers.get(item.item) === answer));
    }
    at("previous").disabled = current === 0;
    at("next").disabled = current === items.length - 1;
    at("open").disabled = answers.size === items.length;
    at("progress").max = items.length;
    at("progress").value = answers.size;
    at("count").textContent = `${answers.size} of ${items.length} answered`;
    [...at("overview").children].forEach((button, number) => {
      const done = answers.has(items[number].item);
      button.classList.toggle("done", done);
      button.setAttribute(
        "aria-label", `Item ${items[number].item}, ${done ? "answered" : "not answered"}`);
      if (number === current) button.setAttribute("aria-current", "true");
      else button.removeAttribute("aria-current");
    });
  }

  function go(number) {
    current = Math.min(Math.max(number, 0), items.length - 1);
    at("message").textContent = "";
    show();
    at("title").focus();
    window.scrollTo(0, 0);
  }

  function goOpen() {
    for (let step = 1; step <= items.length; step++) {
      const number = (current + step) % items.length;
      if (!answers.has(items[number].item)) return go(number);
    }
    return show();
  }

  function choose(answer) {
    const first = !answers.has(items[current].item);
    answers.set(items[current].item, answer);
    save();
    if (first && answers.size < items.length) goOpen();
    else show();
    if (first && answers.size === items.length) {
      at("message").textContent = "All items are answered. Export the answers and send the file.";
    }
  }

  function download() {
    const missing = items.filter(({ item }) => !answers.has(item)).map(({ item }) => item);
    const blob = new Blob([JSON.stringify(held(), null, 1) + "\n"], { type: "application/json" });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    // The name was checked to be one that a file can have; no two judges may get the same.
    link.download = `${sheet.judge}.${sheet.evaluation}.json`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    exported = true;
    at("message").textContent = missing.length === 0
      ? "Exported."
      : `Exported, but ${missing.length} items have no answer yet (first: ${missing[0]}).`;
  }

  async function load(event) {
    const [file] = event.target.files;
    event.target.value = "";
    if (!file) return;
    let good = false;
    try {
      good = take(JSON.parse(await file.text()));
    } catch {
      good = false;
    }
    if (good) save();
    show();
    at("message").textContent = good
      ? `Loaded the answers of ${file.name}.`
      : `${file.name} has no answers to this sheet.`;
  }

  const KEYS = {
    ArrowLeft: () => choose("left"), 1: () => choose("left"),
    ArrowRight: () => choose("right"), 2: () => choose("right"),
    3: () => choose("equal"), // not the arrow down: it scrolls
    n: () => go(current + 1), p: () => go(current - 1),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (!Object.hasOwn(KEYS, key)) return;
    event.preventDefault();
    KEYS[key]();
  });
  for (const button of document.querySelectorAll(".choice")) {
    button.addEventListener("click", () => choose(button.dataset.answer));
  }
  at("previous").addEventListener("click", () => go(current - 1));
  at("next").addEventListener("click", () => go(current + 1));
  at("open").addEventListener("click", goOpen);
  at("export").addEventListener("click", download);
  at("load").addEventListener("change", load);
  window.addEventListener("beforeunload", (event) => {
    if (!kept && !exported) event.preventDefault();
  });
  items.forEach((item, number) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = item.item;
    button.addEventListener("click", () => go(number));
    at("overview").append(button);
  });

  try {
    const before = localStorage.getItem(store);
    if (before !== null) take(JSON.parse(before));
  } catch {
    kept = typeof localStorage === "object";
  }
  try {
    localStorage.setItem(`${store}/probe`, "");
    localStorage.removeItem(`${store}/probe`);
  } catch {
    kept = false;
  }
  at("main").hidden = false;
  at("help").open = answers.size === 0;
  current = Math.max(items.findIndex(({ item }) => !answers.has(item)), 0);
  say();
  show();
})();

// Light or dark: as the system has it, until the reader chooses.

function storedTheme() {
  try { return localStorage.getItem("portmert-theme"); } catch { return null; }
}

function currentTheme() {
  const chosen = document.documentElement.dataset.theme;
  if (chosen) return chosen;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

function setUpTheme() {
  const stored = storedTheme();
  if (stored === "light" || stored === "dark") document.documentElement.dataset.theme = stored;
  const button = document.getElementById("theme");
  const say = () => {
    button.textContent = currentTheme() === "dark" ? "Light" : "Dark";
    button.setAttribute("aria-label", `Switch to ${button.textContent.toLowerCase()} colours`);
    document.dispatchEvent(new Event("themechange"));
  };
  button.addEventListener("click", () => {
    const next = currentTheme() === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    try { localStorage.setItem("portmert-theme", next); } catch { /* a private window */ }
    say();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", say);
  button.hidden = false;
  say();
}

/** The value of a colour of page.css under the current theme. */
function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

const SYSTEM_COLOURS = 8;  // of page.css; the ninth system has the first one's again

function systemColour(index) {
  return colour(`system-${index % SYSTEM_COLOURS}`);
}

/** Make an element: attributes, then children (text is never markup). */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

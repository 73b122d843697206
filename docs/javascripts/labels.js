// What the theme makes in the browser gets names for readers of screens, and the keyboard can scroll code.
function name() {
  document.querySelectorAll("nav.md-code__nav").forEach((nav, n) => {
    if (!nav.ariaLabel) nav.setAttribute("aria-label", `Code ${n + 1}`);
  });
  document.querySelectorAll("pre > code:not([tabindex])").forEach((code) => code.setAttribute("tabindex", "0"));
}
new MutationObserver(name).observe(document.body, {
  attributeFilter: ["tabindex"], childList: true, subtree: true,
});
name();

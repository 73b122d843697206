// What the theme makes in the browser gets names for readers of screens, and the keyboard can scroll code and tables.
function name() {
  document.querySelectorAll("nav.md-code__nav").forEach((nav, n) => {
    if (!nav.ariaLabel) nav.setAttribute("aria-label", `Code ${n + 1}`);
  });
  for (const part of document.querySelectorAll("pre > code:not([tabindex]), .md-typeset__scrollwrap:not([tabindex])")) {
    part.setAttribute("tabindex", "0");
  }
}
new MutationObserver(name).observe(document.body, {
  attributeFilter: ["tabindex"], childList: true, subtree: true,
});
name();

// Names for what the theme leaves nameless, and a way to scroll code by keyboard; after each change of the page.
(() => {
  const name = (selector, label) =>
    document.querySelectorAll(selector).forEach((element, n) =>
      element.hasAttribute("aria-label") || element.setAttribute("aria-label", n ? `${label} ${n + 1}` : label));
  const complete = () => {
    name(".md-search[role=dialog]", "Search");
    name(".md-code__nav", "Tools of the code block");
    document.querySelectorAll("pre > code, .md-typeset__scrollwrap").forEach(element => {
      if (element.scrollWidth > element.clientWidth) element.tabIndex = 0;
    });
  };
  new MutationObserver(complete).observe(document.documentElement, {childList: true, subtree: true});
  addEventListener("load", complete);
  addEventListener("resize", complete);
})();

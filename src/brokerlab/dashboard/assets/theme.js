"use strict";
// The chosen colors hold on every page: set before the first paint, kept whenever a page's button changes them.
(() => {
  const root = document.documentElement, chosen = localStorage.getItem("theme");
  if (chosen === "dark" || chosen === "light") root.dataset.theme = chosen;
  new MutationObserver(() => {
    if (!root.classList.contains("printing") && root.dataset.theme) localStorage.setItem("theme", root.dataset.theme);
  }).observe(root, { attributes: true, attributeFilter: ["data-theme"] });
})();

// Light, dark, or as the system says: kept in this browser, applied before the page is drawn.
"use strict";
(() => {
  const root = document.documentElement;
  const chosenTheme = () => {
    try { return localStorage.getItem("theme") || "auto"; } catch { return "auto"; }
  };
  const applyTheme = () => {
    root.dataset.theme = chosenTheme();
    for (const button of document.querySelectorAll("[data-set-theme]")) {
      button.setAttribute("aria-pressed", String(button.dataset.setTheme === chosenTheme()));
      button.parentElement.hidden = false;
    }
  };
  applyTheme();
  document.addEventListener("DOMContentLoaded", applyTheme);
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-set-theme]");
    if (!button) return;
    try { localStorage.setItem("theme", button.dataset.setTheme); } catch { /* the choice holds for this page only */ }
    applyTheme();
  });
})();

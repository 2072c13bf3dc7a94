// Light, dark, or as the system says: kept in this browser, applied before the page is drawn.
"use strict";
(() => {
  const root = document.documentElement;
  const chosen = () => {
    try { return localStorage.getItem("theme") || "auto"; } catch { return "auto"; }
  };
  const apply = () => {
    root.dataset.theme = chosen();
    for (const button of document.querySelectorAll("[data-set-theme]")) {
      button.setAttribute("aria-pressed", String(button.dataset.setTheme === chosen()));
      button.parentElement.hidden = false;
    }
  };
  apply();
  document.addEventListener("DOMContentLoaded", apply);
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-set-theme]");
    if (!button) return;
    try { localStorage.setItem("theme", button.dataset.setTheme); } catch { /* the choice holds for this page only */ }
    apply();
  });
})();

// Swagger UI is dark by a class on <html>: keep it in step with the chosen theme.
"use strict";
(() => {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    const { theme } = root.dataset;
    root.classList.toggle("dark-mode", theme === "dark" || (theme !== "light" && system.matches));
  };
  system.addEventListener("change", apply);
  new MutationObserver(apply).observe(root, { attributeFilter: ["data-theme"] });
  apply();
})();

// A button that copies a text of the page, where the browser lets it.
"use strict";
(() => {
  if (!navigator.clipboard) return;
  for (const button of document.querySelectorAll("[data-copy]")) {
    const text = document.getElementById(button.dataset.copy).textContent;
    const word = button.querySelector("span");
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(text);
      word.textContent = button.dataset.copied || "Copied";
    });
  }
})();

// Say how many rows are ticked, and tick or untick all rows of the page.
"use strict";
(() => {
  const boxes = () => [...document.querySelectorAll("input.action-select")];
  const updateSelection = () => {
    const ticked = boxes().filter((box) => box.checked).length;
    const count = document.querySelector("[data-selected]");
    if (count) count.textContent = `${ticked} selected`;
    const all = document.querySelector("#action-toggle");
    if (!all) return;
    all.checked = ticked > 0 && ticked === boxes().length;
    all.indeterminate = ticked > 0 && !all.checked;
  };
  document.addEventListener("change", (event) => {
    if (event.target.id === "action-toggle") for (const box of boxes()) box.checked = event.target.checked;
    updateSelection();
  });
  document.addEventListener("htmx:afterSwap", updateSelection);
  updateSelection();
})();

// A button that copies a text of the page.  The text stays selected, for whose browser does not let a page copy.
// Not navigator.clipboard, which is not there over plain HTTP, as inside many a network.
"use strict";
(() => {
  for (const button of document.querySelectorAll("[data-copy]")) {
    const source = document.getElementById(button.dataset.copy);
    const word = button.querySelector("span");
    button.hidden = false;
    button.addEventListener("click", () => {
      getSelection().selectAllChildren(source);
      if (document.execCommand("copy")) word.textContent = button.dataset.copied || "Copied";
    });
  }
})();

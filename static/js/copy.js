// A button that copies a text of the page.  The text stays selected, for people whose browser does not let a page copy.
// The older way comes first: navigator.clipboard does not exist over plain HTTP, which is usual inside a network.
"use strict";
(() => {
  const writeClipboard = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      return false; // there is no clipboard, or the browser refuses
    }
  };

  for (const button of document.querySelectorAll("[data-copy]")) {
    const source = document.getElementById(button.dataset.copy);
    const label = button.querySelector("span");
    button.hidden = false;
    button.addEventListener("click", async () => {
      getSelection().selectAllChildren(source);
      if (document.execCommand("copy") || (await writeClipboard(source.textContent.trim()))) {
        label.textContent = button.dataset.copied || "Copied";
      }
    });
  }
})();

// Shortcuts: "/" search, "g" and a letter goes to a page, "?" opens and closes the dialog of shortcuts, Escape closes a menu.
"use strict";
(() => {
  let awaitsLetter = false;
  const isTyping = (element) => element.matches("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]");

  const closeMenu = (menu) => {
    menu.open = false;
    menu.querySelector("summary").focus();
  };
  const dialog = document.getElementById("shortcuts");
  for (const button of document.querySelectorAll("[data-keys]")) {
    button.hidden = false;
    button.addEventListener("click", () => dialog.showModal());
  }

  document.addEventListener("keydown", (event) => {
    if (dialog?.open) {
      if (event.key === "?") dialog.close();
      return event.stopImmediatePropagation(); // the keys of the page below do nothing now; the browser handles Escape
    }
    const open = document.querySelector("details.menu[open]");
    if (event.key === "Escape" && open) return closeMenu(open);
    if (isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (awaitsLetter) {
      awaitsLetter = false;
      event.stopImmediatePropagation(); // a page's own keys have letters too
      const link = document.querySelector(`.main-nav [data-key="${CSS.escape(event.key)}"]`);
      if (link) link.click();
    } else if (event.key === "g") {
      awaitsLetter = true;
      setTimeout(() => { awaitsLetter = false; }, 1500);
    } else if (event.key === "/") {
      const field = [...document.querySelectorAll('main input[type="search"], .site-header input[type="search"]')].find((input) => input.offsetParent);
      if (!field) return;
      event.preventDefault();
      field.focus();
    } else if (event.key === "?") {
      dialog?.showModal();
    }
  });
  document.addEventListener("click", (event) => {
    for (const menu of document.querySelectorAll("details.menu[open]")) if (!menu.contains(event.target)) menu.open = false;
  });
})();

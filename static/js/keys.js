// Keys: "/" search, "g" and a letter goes to a page, "?" opens and closes the dialog of keys, Escape closes a menu.
"use strict";
(() => {
  let going = false;
  const typing = (element) => element.matches("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]");

  const close = (menu) => {
    menu.open = false;
    menu.querySelector("summary").focus();
  };
  const keys = document.getElementById("shortcuts");
  for (const button of document.querySelectorAll("[data-keys]")) {
    button.hidden = false;
    button.addEventListener("click", () => keys.showModal());
  }

  document.addEventListener("keydown", (event) => {
    if (keys?.open) {
      if (event.key === "?") keys.close();
      return event.stopImmediatePropagation(); // the keys of the page below do nothing now; the browser handles Escape
    }
    const open = document.querySelector("details.menu[open]");
    if (event.key === "Escape" && open) return close(open);
    if (typing(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (going) {
      going = false;
      event.stopImmediatePropagation(); // a page's own keys have letters too
      const link = document.querySelector(`.main-nav [data-key="${CSS.escape(event.key)}"]`);
      if (link) link.click();
    } else if (event.key === "g") {
      going = true;
      setTimeout(() => { going = false; }, 1500);
    } else if (event.key === "/") {
      const field = [...document.querySelectorAll('main input[type="search"], .site-header input[type="search"]')].find((input) => input.offsetParent);
      if (!field) return;
      event.preventDefault();
      field.focus();
    } else if (event.key === "?") {
      keys?.showModal();
    }
  });
  document.addEventListener("click", (event) => {
    for (const menu of document.querySelectorAll("details.menu[open]")) if (!menu.contains(event.target)) menu.open = false;
  });
})();

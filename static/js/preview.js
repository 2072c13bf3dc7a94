// Update the preview of a form that was filled in before the scripts of the page had loaded.
"use strict";
(() => {
  const isChanged = (field) => {
    if (field.type === "checkbox" || field.type === "radio") return field.checked !== field.defaultChecked;
    if (field.options) {
      const initial = [...field.options].findIndex((option) => option.defaultSelected);
      return field.selectedIndex !== Math.max(initial, 0);
    }
    return "defaultValue" in field && field.value !== field.defaultValue;
  };
  addEventListener("load", () => {
    for (const form of document.querySelectorAll("form[hx-target='#preview']")) {
      if ([...form.elements].some(isChanged)) form.dispatchEvent(new Event("input", { bubbles: true }));
    }
  });
})();

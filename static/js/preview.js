// Update the preview of a form that was filled in before the scripts of the page had loaded.
"use strict";
(() => {
  const isChanged = (field) => {
    if (field.type === "checkbox" || field.type === "radio") return field.checked !== field.defaultChecked;
    if (field.options) {
      const initial = [...field.options].findIndex((option) => option.defaultSelected);
      return field.selectedIndex !== Math.max(initial, 0);
    }
    if (!("defaultValue" in field)) return false;
    const initial = field.cloneNode();
    initial.value = field.defaultValue; // the browser writes some values in another form, such as a time without seconds
    return field.value !== initial.value;
  };
  addEventListener("load", () => {
    for (const form of document.querySelectorAll("form[hx-target='#preview']")) {
      if ([...form.elements].some(isChanged)) form.dispatchEvent(new Event("input", { bubbles: true }));
    }
  });
})();

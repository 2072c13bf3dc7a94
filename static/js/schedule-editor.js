// Open the tab of a pasted schedule: a crontab line, a Quartz expression, a rule of iCalendar, JSON.
"use strict";
(() => {
  const SHORTEST = 5; // characters of a text that may be a schedule
  let isPasted = false;
  document.addEventListener("paste", (event) => {
    const editor = event.target.closest(".schedule-editor");
    const text = event.clipboardData.getData("text").trim();
    if (!editor || text.length < SHORTEST) return;
    const values = { _pasted: text, _pasted_into: event.target.name };
    isPasted = true;
    htmx.ajax("POST", editor.dataset.editor, { source: editor, target: editor, swap: "outerHTML", values });
  });
  document.addEventListener("htmx:afterSwap", (event) => {
    const editor = document.querySelector(".schedule-editor");
    if (!editor || event.detail.target.id !== "schedule") return;
    const { activeElement: active, body } = document; // the preview, which is replaced too, has buttons
    const keepsFocus = !isPasted && active !== body && !active.closest("#preview");
    isPasted = false;
    if (keepsFocus) return;
    editor.querySelector(".fields :is(input, select, textarea)")?.focus();
  });
})();

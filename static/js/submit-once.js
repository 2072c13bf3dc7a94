// Send a form only once: ignore a second submission while the first is on its way.
"use strict";
(() => {
  const RESEND_AFTER_MS = 10000; // after which it may be sent again: the first may have been stopped
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (event.defaultPrevented || form.method !== "post") return;
    if ("sent" in form.dataset) return event.preventDefault();
    form.dataset.sent = "";
    setTimeout(() => delete form.dataset.sent, RESEND_AFTER_MS);
  });
  addEventListener("pageshow", () => {
    for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
  });
})();

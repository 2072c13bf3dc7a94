// Refresh in place what changed since the page was opened: cards as a whole, rows of lists one by one.
// The server answers 304 when nothing changed. What somebody uses at the moment is left alone until the next time.
"use strict";
(() => {
  const source = () => document.getElementById("refresh");
  if (!source()) return;
  let tag = "";

  // the HTML without what differs in every answer: relative times, which clock.js keeps true, and form tokens
  const compared = (element) => {
    const copy = element.cloneNode(true);
    for (const time of copy.querySelectorAll("time[data-relative]")) time.textContent = "";
    for (const field of copy.querySelectorAll("[name=csrfmiddlewaretoken]")) field.removeAttribute("value");
    for (const details of copy.querySelectorAll("details")) details.removeAttribute("open");
    return copy.outerHTML;
  };
  const sent = new WeakMap(); // what the server sent for an element: scripts change some of it
  const remember = (element) => sent.set(element, compared(element));
  const parts = (root) => root.querySelectorAll("[data-refresh=whole], [data-refresh=rows] tr[id]");

  const isUsed = (element) => {
    const selection = getSelection();
    return (element.contains(document.activeElement) && document.activeElement !== document.body)
      || (!selection.isCollapsed && selection.containsNode(element, true));
  };
  const keepState = (old, fresh) => {
    for (const details of fresh.querySelectorAll("details[id]")) {
      const before = document.getElementById(details.id);
      if (before) details.open = before.open;
    }
    const box = old.querySelector("input.action-select"), freshBox = fresh.querySelector("input.action-select");
    if (box && freshBox) freshBox.checked = box.checked;
  };
  // whether the part is now as the server has it
  const replace = (old, fresh) => {
    const text = compared(fresh);
    if ((sent.get(old) || compared(old)) === text) return true;
    if (isUsed(old)) return false;
    keepState(old, fresh);
    const adopted = document.adoptNode(fresh);
    old.replaceWith(adopted);
    sent.set(adopted, text);
    htmx.process(adopted);
    return true;
  };
  const merge = (html) => {
    let isComplete = true, isNewer = false;
    for (const part of parts(new DOMParser().parseFromString(html, "text/html"))) {
      const old = document.getElementById(part.id);
      if (old) isComplete = replace(old, part) && isComplete;
      else isNewer = true;
    }
    const news = document.getElementById("newer");
    if (news && isNewer) news.hidden = false;
    return isComplete;
  };

  document.addEventListener("htmx:configRequest", (event) => {
    if (event.target === source() && tag) event.detail.headers["If-None-Match"] = tag;
  });
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (event.target === source() && document.hidden) event.preventDefault();
  });
  document.addEventListener("htmx:afterRequest", (event) => {
    const { xhr, elt } = event.detail;
    if (elt !== source() || !xhr || xhr.status !== 200) return;
    const isComplete = merge(xhr.responseText);
    tag = isComplete ? xhr.getResponseHeader("ETag") || "" : "";
  });
  for (const part of parts(document)) remember(part);
})();

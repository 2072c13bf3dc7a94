// Refresh in place what changed since the page was opened: cards as a whole, rows of lists one by one.
// The server answers 304 when nothing changed. What somebody uses at the moment is left alone until the next time.
"use strict";
(() => {
  const source = () => document.getElementById("refresh");
  if (!source()) return;
  let etag = "";

  // the HTML without what differs in every answer: relative times, which clock.js keeps true, and form tokens
  const comparableHtml = (element) => {
    const copy = element.cloneNode(true);
    for (const time of copy.querySelectorAll("time[data-relative]")) time.textContent = "";
    for (const field of copy.querySelectorAll("[name=csrfmiddlewaretoken]")) field.removeAttribute("value");
    for (const details of copy.querySelectorAll("details")) details.removeAttribute("open");
    return copy.outerHTML;
  };
  const sentHtml = new WeakMap(); // what the server sent for an element: scripts change some of it
  const rememberPart = (element) => sentHtml.set(element, comparableHtml(element));
  const refreshableParts = (root) => root.querySelectorAll("[data-refresh=whole], [data-refresh=rows] tr[id]");

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
  const replacePart = (old, fresh) => {
    const text = comparableHtml(fresh);
    if ((sentHtml.get(old) || comparableHtml(old)) === text) return true;
    if (isUsed(old)) return false;
    keepState(old, fresh);
    const adopted = document.adoptNode(fresh);
    old.replaceWith(adopted);
    sentHtml.set(adopted, text);
    htmx.process(adopted);
    return true;
  };
  const mergeAnswer = (html) => {
    let isComplete = true, hasNewEntries = false;
    for (const part of refreshableParts(new DOMParser().parseFromString(html, "text/html"))) {
      const old = document.getElementById(part.id);
      if (old) isComplete = replacePart(old, part) && isComplete;
      else hasNewEntries = true;
    }
    const newEntries = document.getElementById("newer");
    if (newEntries && hasNewEntries) newEntries.hidden = false;
    return isComplete;
  };

  document.addEventListener("htmx:configRequest", (event) => {
    if (event.target === source() && etag) event.detail.headers["If-None-Match"] = etag;
  });
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (event.target === source() && document.hidden) event.preventDefault();
  });
  document.addEventListener("htmx:afterRequest", (event) => {
    const { xhr, elt } = event.detail;
    if (elt !== source() || !xhr || xhr.status !== 200) return;
    const isComplete = mergeAnswer(xhr.responseText);
    etag = isComplete ? xhr.getResponseHeader("ETag") || "" : "";
  });
  for (const part of refreshableParts(document)) rememberPart(part);
})();

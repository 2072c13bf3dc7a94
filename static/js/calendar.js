// The calendar page: connects its events with views without a reload, popovers, keys, and the present time.

import { handleKey } from "./calendar/keyboard.js";
import { focusCell, prepareMonth, selectDay } from "./calendar/month.js";
import { createEvent, navigate, navigateWith, takePendingFocus } from "./calendar/navigation.js";
import { updateNowLine } from "./calendar/now-line.js";
import { MINUTE, announce, main, narrowScreen, pagePath } from "./calendar/page.js";
import { closePopover, openPopover, popover, showPopover } from "./calendar/popover.js";
import { askForToday, rememberScrolling, scrollHours, scrollToToday } from "./calendar/scrolling.js";
import { days, moveSlot, selectSlot } from "./calendar/slot.js";

htmx.config.historyCacheSize = 0; // nothing of a calendar stays behind in the browser

// clicks

const isPlain = (event) => event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
const isOurs = (link) => link.origin === location.origin && link.pathname.startsWith(pagePath());
const isView = (link) => main.contains(link) && isOurs(link) && link.pathname === pagePath();
const isItem = (link) => link.matches(".item, .frequent-job, .entry") && isOurs(link);

document.addEventListener("click", (event) => {
  if (event.defaultPrevented || !isPlain(event)) return;
  const link = event.target.closest("a[href]");
  if (link && link.matches("[data-close]") && popover()) {
    event.preventDefault();
    closePopover();
  } else if (link && isView(link)) {
    event.preventDefault();
    askForToday(link.id === "go-today");
    navigate(link.href);
  } else if (link && isItem(link)) {
    event.preventDefault();
    openPopover(link);
  } else if (!link && popover() && !event.target.closest(".item-popover")) {
    closePopover(false);
  } else if (!link && event.target.closest("[data-print]")) {
    window.print();
  } else if (!link) {
    selectAt(event.target, event.clientY);
  }
});
const selectAt = (target, clientY) => {
  const lanes = target.closest(".lanes"), cell = target.closest(".month td");
  if (cell && narrowScreen.matches) selectDay(cell);
  else if (cell) focusCell(cell);
  else if (lanes && !target.closest(".lane")) selectSlot(lanes, clientY);
};
document.addEventListener("dblclick", (event) => {
  const cell = event.target.closest(".month td, .all-day td[data-date]");
  if (cell && !event.target.closest("a")) createEvent(cell.dataset.date);
});
document.addEventListener("keydown", handleKey);

// fields

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.matches(".site-header .search") || new URL(form.action).pathname !== pagePath()) return;
  event.preventDefault();
  navigateWith("q", form.elements.q.value);
});
// the names of zones, once somebody writes one
document.addEventListener("focusin", (event) => {
  const names = event.target.list;
  if (!names || names.id !== "zone-names" || names.firstChild || !Intl.supportedValuesOf) return;
  for (const name of ["UTC", ...Intl.supportedValuesOf("timeZone")]) {
    const option = document.createElement("option");
    option.value = name;
    names.append(option);
  }
});

// views

const prepareView = () => {
  for (const button of main.querySelectorAll("[data-print]")) button.hidden = false;
  prepareMonth();
  scrollToToday();
  scrollHours();
  updateNowLine();
};
// an element by its id, or a day of the grid: the chosen one if none is named
const findElement = ({ id, date, minute }) => {
  if (id) return document.getElementById(id);
  const day = main.querySelector(`.week .day[data-date="${date}"]`) || days()[0];
  if (minute !== undefined && day) return moveSlot(day, minute);
  return main.querySelector(`.month td[data-date="${date}"]`) || main.querySelector(".month td[data-chosen]");
};
const restoreFocus = () => {
  const target = takePendingFocus();
  const element = target && findElement(target);
  if (element && element.matches(".month td")) focusCell(element);
  else if (element) element.focus({ preventScroll: true });
};

document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.detail.target.id === "calendar") rememberScrolling();
});
document.addEventListener("htmx:afterSwap", (event) => {
  if (event.target.id === "calendar") scrollHours(); // before it is drawn at midnight
});
document.addEventListener("htmx:afterSettle", (event) => {
  if (event.target.id === "popover") return showPopover();
  if (event.target.id !== "calendar") return;
  prepareView();
  const title = main.querySelector("h1");
  if (title) announce(title.textContent);
  restoreFocus();
});
document.addEventListener("htmx:historyRestore", prepareView);
narrowScreen.addEventListener("change", () => prepareView());
setInterval(updateNowLine, MINUTE / 4);

prepareView();

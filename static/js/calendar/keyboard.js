// The keys of the calendar page.

import { focusCell, handleMonthKey } from "./month.js";
import { createEvent } from "./navigation.js";
import { HOUR, main, nowLine, toolbar } from "./page.js";
import { closePopover, popover } from "./popover.js";
import { days, firstMinute, handleSlotKey, moveSlot, slot, slotMinute, wallTime } from "./slot.js";

// have keys of their own
const OTHER_KEYS =
  "input:not([type=checkbox]), textarea, select, [contenteditable], .item-popover, details[open]";

export const handleKey = (event) => {
  if (!toolbar() || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (event.key === "Escape" && popover()) {
    event.preventDefault();
    return closePopover();
  }
  if (event.target.closest(OTHER_KEYS)) return;
  const cell = event.target.closest(".month td"), day = event.target.closest(".week .day");
  if (moveFocus(event, cell, day)) return event.preventDefault();
  if (event.key === "n" && (cell || slot.contains(event.target))) {
    event.preventDefault();
    return createEvent(cell ? cell.dataset.date : wallTime(day, slotMinute()));
  }
  const isShortcut = event.key.length === 1 || event.key.startsWith("Page");
  const link = isShortcut ? main.querySelector(`[data-key="${CSS.escape(event.key)}"]`) : null;
  if (link) {
    event.preventDefault();
    link.click();
  }
};

const moveFocus = (event, cell, day) => {
  if (cell && handleMonthKey(event, cell)) return true;
  if (day && handleSlotKey(event, day)) return true;
  const { target } = event;
  const isFree = target === document.body || target === main || target.closest(".agenda, .week-wrap");
  return !cell && !day && isFree && enterGrid(event);
};

const enterGrid = (event) => {
  if (!event.key.startsWith("Arrow")) return false;
  const entries = [...main.querySelectorAll(".agenda .entry")].filter((link) => link.offsetParent);
  if (main.querySelector(".month")) focusCell(main.querySelector('.month td[tabindex="0"]'));
  else if (days().length) {
    const day = main.querySelector(".week .day[data-today]") || days()[0];
    const line = nowLine();
    const link = moveSlot(day, line ? Number(line.dataset.h || 0) * HOUR : 8 * HOUR) || moveSlot(day, firstMinute(day));
    if (link) link.focus();
  } else if (entries.length && !event.key.match(/Left|Right/)) {
    const at = entries.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1);
    entries[Math.min(Math.max(at, 0), entries.length - 1)].focus();
  } else return false;
  return true;
};

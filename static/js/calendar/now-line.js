// The line of the present time.

import { navigate } from "./navigation.js";
import { HOUR, MINUTE, formatTime, main, minutes, nowLine } from "./page.js";
import { popover } from "./popover.js";

export const updateNowLine = () => {
  const line = nowLine();
  if (!line) return;
  const now = Date.now();
  if (now >= Date.parse(line.dataset.until)) return reload();
  const minute = Number(line.dataset.minute) + Math.max(0, Math.floor((now - Date.parse(line.dataset.from)) / MINUTE));
  for (const each of main.querySelectorAll(".now-line, .now-label")) {
    each.dataset.h = Math.floor(minute / HOUR);
    each.dataset.m = minute % HOUR;
  }
  const past = main.querySelector(".background.past");
  if (past) {
    past.dataset.dh = Math.floor(minute / HOUR);
    past.dataset.dm = minute % HOUR;
  }
  const label = main.querySelector(".now-label"), isLate = now - Date.parse(line.dataset.from) >= MINUTE;
  if (isLate) label.textContent = formatTime(new Date(now), line.dataset.zone);
  for (const hour of main.querySelectorAll("th .hour-scale:not(.second) li:not(.now-label)")) {
    hour.hidden = Math.abs(minutes(hour, "h", "m") - minute) < 22;
  }
};

// a new day, or a change of the clock
const reload = () => {
  if (!popover() && !document.activeElement.closest("input, select")) navigate(location.href);
};

// The hours of a week scroll below their heads.  They open at the working day, or at now where that would be out of
// view, and stay where they are when another week or day is shown.

import { HOUR, main, minutes, narrowScreen, nowLine } from "./page.js";

const WORKING_DAY = 7 * HOUR;

let topMinute = null; // the first minute below the heads; null: they open anew
let isTodayAsked = false;

export const askForToday = (isAsked) => {
  isTodayAsked = isAsked;
};

const measureHours = () => {
  const wrap = main.querySelector(".week-wrap");
  if (!wrap) return null;
  const lanes = wrap.querySelector(".lanes"), table = wrap.querySelector(".week");
  const thead = wrap.querySelector("thead");
  const above = (getComputedStyle(thead).position === "sticky" ? thead : thead.rows[0]).offsetHeight;
  const top = wrap.getBoundingClientRect().top + wrap.clientTop + above;
  const midnight = lanes.getBoundingClientRect().top - top + wrap.scrollTop;
  return { wrap, above, midnight, minute: lanes.offsetHeight / (Number(table.dataset.hours) * HOUR) };
};

export const scrollHours = () => {
  const measured = measureHours();
  if (!measured) return;
  const { wrap, above, midnight, minute } = measured;
  wrap.style.setProperty("--heads-height", `${above}px`);
  const top = topMinute === null ? openingMinute((wrap.clientHeight - above) / minute) : topMinute;
  wrap.scrollTop = midnight + top * minute;
};
const openingMinute = (length) => {
  const line = nowLine(), now = line ? minutes(line, "h", "m") : WORKING_DAY;
  return now >= WORKING_DAY && now < WORKING_DAY + length * 3 / 4 ? WORKING_DAY - HOUR / 4 : now - length / 3;
};

// on a telephone, the days of a week scroll sideways too
export const scrollToToday = () => {
  const today = main.querySelector(".week .day-head[data-today]");
  if (!today || !narrowScreen.matches) return;
  today.closest(".week-wrap").scrollLeft = today.offsetLeft - today.offsetWidth / 2;
};

export const rememberScrolling = () => {
  const measured = measureHours();
  if (isTodayAsked) topMinute = null;
  else if (measured) topMinute = (measured.wrap.scrollTop - measured.midnight) / measured.minute;
  isTodayAsked = false;
};

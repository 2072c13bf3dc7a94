// The grid of a month: its cells, their labels and their keys.

import { createEvent, navigateWith, openNeighbour } from "./navigation.js";
import { addDays, main, narrowScreen } from "./page.js";

export const cells = () => [...main.querySelectorAll(".month td")];

export const focusCell = (cell) => {
  for (const other of cells()) other.tabIndex = other === cell ? 0 : -1;
  cell.focus();
};
export const selectDay = ({ dataset: { date } }) => navigateWith("date", date, { date });

export const prepareMonth = () => {
  const month = main.querySelector(".month");
  if (!month) return;
  month.setAttribute("role", "grid");
  for (const cell of cells()) {
    cell.tabIndex = -1;
    updateDaySummary(cell, month.dataset.items);
  }
  const chosen = month.querySelector("td[data-chosen]") || cells()[0];
  chosen.tabIndex = 0;
};

// on a telephone a day shows marks, too small to be pressed; pressing the day lists below what they stand for
const updateDaySummary = (cell, words) => {
  const items = cell.querySelector(".day-items");
  if (items) items.inert = narrowScreen.matches;
  if (!narrowScreen.matches) return cell.removeAttribute("aria-label");
  const more = cell.querySelector(".day-more");
  const shown = cell.querySelectorAll(".day-items .item, .day-items .frequent-job").length;
  const count = shown + (more ? parseInt(more.textContent.slice(1), 10) : 0);
  const day = cell.querySelector(".day-label a").getAttribute("aria-label");
  cell.setAttribute("aria-label", `${day}, ${words.replace("{}", count)}`);
};

export const handleMonthKey = (event, cell) => {
  const days = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -7, ArrowDown: 7 }[event.key];
  if (days) {
    const date = addDays(cell.dataset.date, days);
    const next = main.querySelector(`.month td[data-date="${date}"]`);
    if (next) focusCell(next);
    else openNeighbour(days < 0 ? "prev" : "next", { date });
  } else if (event.key === "Enter" && event.target === cell) {
    const first = cell.querySelector(".day-items a");
    if (narrowScreen.matches) selectDay(cell);
    else if (first) first.focus();
    else createEvent(cell.dataset.date);
  } else if (event.key === "Escape" && event.target !== cell) cell.focus();
  else return false;
  return true;
};

// The slot of an hour that keys and clicks move over the days of a week.

import { createEvent, newEventUrl, openNeighbour } from "./navigation.js";
import { HOUR, addDays, formatTime, main, minutes } from "./page.js";

export const slot = document.createElement("li");
slot.className = "placed time-slot";
slot.dataset.dh = "1";
slot.append(document.createElement("a"));

export const days = () => [...main.querySelectorAll(".week .day")];
export const slotMinute = () => minutes(slot, "h", "m");
export const firstMinute = (day) => (pieces(day)[0] ? pieces(day)[0].from : 0);

// the pieces of a day between changes of the clock: from and to on the page, and the wall clock's minute at its start
const pieces = (day) => (day.dataset.pieces ? day.dataset.pieces.split(" ") : []).map((piece) => {
  const [, from, to, wallMinute] = piece.match(/(\d+)-(\d+):(\d+)/).map(Number);
  return { from, to, wallMinute };
});
const pieceAt = (day, minute) => pieces(day).find((piece) => piece.from <= minute && minute < piece.to);
export const wallTime = (day, minute) => {
  const piece = pieceAt(day, minute);
  const local = piece.wallMinute + minute - piece.from;
  const [hour, rest] = [Math.floor(local / HOUR), local % HOUR].map((part) => String(part).padStart(2, "0"));
  return `${day.dataset.date}T${hour}:${rest}`;
};
const itemsAt = (day, minute) => [...day.querySelectorAll(".lane")].filter((lane) => {
  const from = minutes(lane, "h", "m");
  return from < minute + HOUR && from + minutes(lane, "dh", "dm") > minute;
});
const dayName = (day) => {
  const heads = main.querySelectorAll(".week .day-head a");
  return heads[days().indexOf(day)].getAttribute("aria-label");
};

export const moveSlot = (day, minute) => {
  if (!day || !pieceAt(day, minute)) return null;
  const link = slot.firstChild;
  slot.dataset.h = Math.floor(minute / HOUR);
  slot.dataset.m = minute % HOUR;
  const start = wallTime(day, minute);
  link.href = newEventUrl(start);
  const items = main.querySelector(".week").dataset.items.replace("{}", itemsAt(day, minute).length);
  link.setAttribute("aria-label", `${dayName(day)}, ${formatTime(new Date(`${start}Z`), "UTC")}, ${items}`);
  day.querySelector(".lanes").append(slot);
  return link;
};

// a click between the items selects a slot; one more on it begins an event there
export const selectSlot = (lanes, clientY) => {
  const day = lanes.closest(".day"), { top, height } = lanes.getBoundingClientRect();
  const total = Number(main.querySelector(".week").dataset.hours) * HOUR;
  const minute = Math.floor((clientY - top) / height * total / HOUR) * HOUR;
  if (slot.parentElement === lanes && slotMinute() === minute && document.activeElement === slot.firstChild) {
    createEvent(wallTime(day, minute));
  } else {
    const link = moveSlot(day, minute);
    if (link) link.focus();
  }
};

export const handleSlotKey = (event, day) => {
  const minute = slotMinute();
  const sideways = { ArrowLeft: -1, ArrowRight: 1 }[event.key], down = { ArrowUp: -HOUR, ArrowDown: HOUR }[event.key];
  if (sideways) {
    const next = days()[days().indexOf(day) + sideways];
    const link = next && (moveSlot(next, minute) || moveSlot(next, firstMinute(next)));
    if (link) link.focus();
    else openNeighbour(sideways < 0 ? "prev" : "next", { date: addDays(day.dataset.date, sideways), minute });
  } else if (down) {
    // over what the day does not have
    for (let next = minute + down; next >= 0 && next < 27 * HOUR; next += down) {
      const link = moveSlot(day, next);
      if (link) {
        link.focus();
        break;
      }
    }
  } else if (event.key === "Enter" && slot.contains(event.target)) {
    const first = itemsAt(day, minute)[0];
    if (first) first.firstElementChild.focus();
    else createEvent(wallTime(day, minute));
  } else if (event.key === "Escape" && !slot.contains(event.target)) {
    const lane = event.target.closest(".lane");
    const link = lane && moveSlot(day, Math.floor(minutes(lane, "h", "m") / HOUR) * HOUR);
    if (link) link.focus();
  } else return false;
  return true;
};

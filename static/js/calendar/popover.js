// The popover with the details of an item.

import { main, narrowScreen } from "./page.js";

let opener = null; // the link of the item

export const popover = () => main.querySelector("#popover > .item-popover");

export const openPopover = (link) => {
  closePopover(false);
  opener = link;
  htmx.ajax("GET", link.href, { target: "#popover", swap: "innerHTML show:none" });
};

export const closePopover = (returnsFocus = true) => {
  const container = document.getElementById("popover");
  if (container) container.replaceChildren();
  if (!opener) return;
  opener.removeAttribute("aria-expanded");
  if (returnsFocus) opener.focus({ preventScroll: true });
  opener = null;
};

export const showPopover = () => {
  const sheet = popover();
  if (!sheet || !opener) return;
  opener.setAttribute("aria-expanded", "true");
  positionPopover(sheet, opener.getBoundingClientRect());
  sheet.focus({ preventScroll: narrowScreen.matches });
};

// next to its item, on the side with room, within the window
const positionPopover = (sheet, item) => {
  const origin = document.getElementById("popover").getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = sheet;
  const gap = 8, right = document.documentElement.clientWidth, bottom = window.innerHeight;
  let x = item.right + gap;
  if (x + width > right - gap) x = item.left - gap - width;
  if (x < gap) x = Math.min(Math.max(item.left, gap), right - width - gap);
  const y = Math.max(Math.min(item.top - gap, bottom - height - gap), gap);
  sheet.style.setProperty("--x", `${Math.round(x - origin.left)}px`);
  sheet.style.setProperty("--y", `${Math.round(y - origin.top)}px`);
  sheet.dataset.placed = "";
};

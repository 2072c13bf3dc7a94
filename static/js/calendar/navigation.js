// Other views and dates without a reload of the page, and the addresses of new events.

import { main, minutes, pagePath, toolbar } from "./page.js";

let pendingFocus = null; // where the focus goes once the next view is there

export const navigate = (address, focus) => {
  pendingFocus = focus || focusTarget(document.activeElement);
  return htmx.ajax("GET", address, { target: "#calendar", swap: "innerHTML show:none" });
};
const focusTarget = (element) => {
  const slot = element.closest(".time-slot");
  if (slot) return { minute: minutes(slot, "h", "m") };
  return element.closest(".month td") ? { date: "" } : { id: element.id };
};
export const takePendingFocus = () => {
  const focus = pendingFocus;
  pendingFocus = null;
  return focus;
};

export const openNeighbour = (kind, focus) => {
  const link = main.querySelector(`[rel="${kind}"]`);
  if (link) navigate(link.href, focus);
};
// the present view with another value of one of its parameters
export const navigateWith = (name, value, focus) => {
  const parameters = new URLSearchParams(location.search);
  parameters.set(name, value);
  navigate(`${pagePath()}?${parameters}`, focus);
};

export const newEventUrl = (start) => {
  const address = new URL(toolbar().dataset.new, location);
  for (const [name, value] of new URLSearchParams(location.search)) address.searchParams.set(name, value);
  address.searchParams.set("start", start);
  return address.href;
};
export const createEvent = (start) => location.assign(newEventUrl(start));

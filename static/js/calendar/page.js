// The parts of the calendar page that the other modules use, and its wall-clock minutes and dates.

export const HOUR = 60, MINUTE = 60000; // an hour in minutes, a minute in milliseconds

export const main = document.getElementById("main");
export const toolbar = () => main.querySelector(".calendar-toolbar");
export const pagePath = () => toolbar().dataset.page;
export const nowLine = () => main.querySelector(".now-line:not(.other-day)");
export const narrowScreen = window.matchMedia("(max-width: 48rem)");

const liveRegion = document.createElement("p");
liveRegion.className = "visually-hidden";
liveRegion.setAttribute("role", "status");
document.body.append(liveRegion);
export const announce = (text) => {
  liveRegion.textContent = text;
};

export const minutes = (element, hourKey, minuteKey) =>
  Number(element.dataset[hourKey] || 0) * HOUR + Number(element.dataset[minuteKey] || 0);

export const addDays = (text, days) => {
  const day = new Date(`${text}T00:00Z`);
  day.setUTCDate(day.getUTCDate() + days);
  return day.toISOString().slice(0, 10);
};

// as the server writes it: 18:00, or with the pattern of the half of the day 6:00 pm
export const formatTime = (instant, timeZone) => {
  const format = new Intl.DateTimeFormat("en-GB", { timeZone, hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  const text = format.format(instant);
  const { am, pm } = main.querySelector(".week").dataset;
  if (!am) return text;
  const [hour, minute] = text.split(":");
  return (hour < 12 ? am : pm).replace("%s", `${hour % 12 || 12}:${minute}`);
};

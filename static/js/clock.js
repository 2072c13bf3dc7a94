// Keep the page's own clock, the pip on the day ruler and relative times true while the page stands open.
"use strict";
(() => {
  const SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, DAY = 24 * HOUR;

  const words = (span) => {
    if (span < MINUTE) return `${Math.floor(span / SECOND)} s`;
    if (span < HOUR) return `${Math.floor(span / MINUTE)} min`;
    if (span < DAY) {
      const minutes = Math.floor((span % HOUR) / MINUTE);
      return `${Math.floor(span / HOUR)} h${minutes ? ` ${minutes} min` : ""}`;
    }
    const days = Math.floor(span / DAY);
    return days === 1 ? "1 day" : `${days} days`;
  };

  // how the viewer writes a time; a clock of 24 hours has no patterns for its halves
  const reading = (clock, hour, minute) => {
    const figures = (first) => `${first}:${String(minute).padStart(2, "0")}`;
    const pattern = hour < 12 ? clock.dataset.am : clock.dataset.pm;
    return pattern ? pattern.replace("%s", figures(hour % 12 || 12)) : figures(String(hour).padStart(2, "0"));
  };

  const write = (element, text) => {
    if (element.textContent !== text) element.textContent = text;
  };

  const tick = () => {
    const now = new Date();
    const clock = document.querySelector("[data-clock]");
    if (clock) {
      const parts = new Intl.DateTimeFormat("en-GB", {
        timeZone: clock.dataset.zone, hour: "2-digit", minute: "2-digit", hourCycle: "h23",
      }).format(now);
      const [hour, minute] = parts.split(":").map(Number);
      write(clock, reading(clock, hour, minute));
      clock.dateTime = now.toISOString();
      const pip = document.querySelector(".ruler-now");
      if (pip) {
        pip.dataset.h = hour;
        pip.dataset.m = minute;
      }
    }
    for (const element of document.querySelectorAll("time[data-relative]")) {
      const ahead = Date.parse(element.dateTime) - now;
      if (Math.abs(ahead) > 60 * DAY) continue;
      if (element.dataset.relative === "since") write(element, words(Math.max(0, -ahead)));
      else if (ahead >= 0) write(element, `in ${words(ahead)}`);
      else write(element, element.dataset.relative === "next" ? "now" : `${words(-ahead)} ago`);
    }
  };
  tick();
  setInterval(tick, SECOND);
})();

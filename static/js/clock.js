// Keep the page's own clock, the pip on the day ruler and relative times true while the page stands open.
"use strict";
(() => {
  const SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, DAY = 24 * HOUR;
  const EXACT_DAYS = 10 * DAY; // longer spans stay as the server wrote them

  // how the viewer's language says spans; after "in" and "ago" days may have another case
  const patterns = document.querySelector("[data-clock][data-spans]")?.dataset.spans.split("|");
  const [seconds, minutes, hours, ahead, ago, present, day, days, distanceDay, distanceDays] = patterns
    || ["%s s", "%s min", "%s h", "in %s", "%s ago", "now", "%s day", "%s days", "%s day", "%s days"];
  const say = (pattern, what) => pattern.replace("%s", () => what);

  const words = (span, oneDay = day, manyDays = days) => {
    if (span < MINUTE) return say(seconds, Math.floor(span / SECOND));
    if (span < HOUR) return say(minutes, Math.floor(span / MINUTE));
    if (span >= DAY) {
      const number = Math.floor(span / DAY), left = Math.floor((span % DAY) / HOUR);
      return say(number === 1 ? oneDay : manyDays, number) + (left ? ` ${say(hours, left)}` : "");
    }
    const rest = Math.floor((span % HOUR) / MINUTE);
    return say(hours, Math.floor(span / HOUR)) + (rest ? ` ${say(minutes, rest)}` : "");
  };

  const distance = (span) => words(span, distanceDay, distanceDays);

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
      const pip = document.querySelector(".clock-strip-now");
      if (pip) {
        pip.dataset.h = hour;
        pip.dataset.m = minute;
      }
    }
    for (const element of document.querySelectorAll("time[data-relative]")) {
      const { relative } = element.dataset, until = Date.parse(element.dateTime) - now;
      if (Math.abs(until) >= EXACT_DAYS) continue;
      if (relative === "since" || relative === "until") write(element, words(Math.max(0, relative === "until" ? until : -until)));
      else if (until >= 0) write(element, say(ahead, distance(until)));
      else write(element, relative === "next" ? present : say(ago, distance(-until)));
    }
  };
  tick();
  setInterval(tick, SECOND);
})();

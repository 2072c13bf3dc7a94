// Keep the clock of the page, the mark of the clock strip and relative times up to date while the page is open.
"use strict";
(() => {
  const SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, DAY = 24 * HOUR;
  const EXACT_DAYS = 10 * DAY; // longer spans stay as the server wrote them

  // how the viewer's language says spans; after "in" and "ago" days may have another case
  const patterns = document.querySelector("[data-clock][data-spans]")?.dataset.spans.split("|");
  const [seconds, minutes, hours, aheadPattern, agoPattern, nowText, day, days, distanceDay, distanceDays] = patterns
    || ["%s s", "%s min", "%s h", "in %s", "%s ago", "now", "%s day", "%s days", "%s day", "%s days"];
  const fillPattern = (pattern, what) => pattern.replace("%s", () => what);

  const formatSpan = (span, oneDay = day, manyDays = days) => {
    if (span < MINUTE) return fillPattern(seconds, Math.floor(span / SECOND));
    if (span < HOUR) return fillPattern(minutes, Math.floor(span / MINUTE));
    if (span >= DAY) {
      const number = Math.floor(span / DAY), left = Math.floor((span % DAY) / HOUR);
      return fillPattern(number === 1 ? oneDay : manyDays, number) + (left ? ` ${fillPattern(hours, left)}` : "");
    }
    const rest = Math.floor((span % HOUR) / MINUTE);
    return fillPattern(hours, Math.floor(span / HOUR)) + (rest ? ` ${fillPattern(minutes, rest)}` : "");
  };

  const formatDistance = (span) => formatSpan(span, distanceDay, distanceDays);

  // how the viewer writes a time; a clock of 24 hours has no patterns for its halves
  const formatTime = (clock, hour, minute) => {
    const digits = (first) => `${first}:${String(minute).padStart(2, "0")}`;
    const pattern = hour < 12 ? clock.dataset.am : clock.dataset.pm;
    return pattern ? pattern.replace("%s", digits(hour % 12 || 12)) : digits(String(hour).padStart(2, "0"));
  };

  const setText = (element, text) => {
    if (element.textContent !== text) element.textContent = text;
  };

  const updateTimes = () => {
    const now = new Date();
    const clock = document.querySelector("[data-clock]");
    if (clock) {
      const parts = new Intl.DateTimeFormat("en-GB", {
        timeZone: clock.dataset.zone, hour: "2-digit", minute: "2-digit", hourCycle: "h23",
      }).format(now);
      const [hour, minute] = parts.split(":").map(Number);
      setText(clock, formatTime(clock, hour, minute));
      clock.dateTime = now.toISOString();
      const marker = document.querySelector(".clock-strip-now");
      if (marker) {
        marker.dataset.h = hour;
        marker.dataset.m = minute;
      }
    }
    for (const element of document.querySelectorAll("time[data-relative]")) {
      const { relative } = element.dataset, until = Date.parse(element.dateTime) - now;
      if (Math.abs(until) >= EXACT_DAYS) continue;
      if (relative === "since" || relative === "until") setText(element, formatSpan(Math.max(0, relative === "until" ? until : -until)));
      else if (until >= 0) setText(element, fillPattern(aheadPattern, formatDistance(until)));
      else setText(element, relative === "next" ? nowText : fillPattern(agoPattern, formatDistance(-until)));
    }
  };
  updateTimes();
  setInterval(updateTimes, SECOND);
})();

// The form of an event: what one field says, others that nobody has touched take over.  Without it, all fields are there.
"use strict";
(() => {
  const DAY = 24 * 60 * 60 * 1000;
  const form = document.getElementById("event_form");

  // the answer's button repeats what was chosen
  for (const button of document.querySelectorAll("[data-answers]")) {
    const choices = document.querySelectorAll(`[name="${button.dataset.answers}"]`);
    const answer = () => {
      const chosen = [...choices].find((choice) => choice.checked);
      if (chosen) button.textContent = chosen.dataset.answer;
    };
    for (const choice of choices) choice.addEventListener("change", answer);
    answer();
  }
  if (!form) return;

  const field = (name) => form.elements[name];
  // readings of a clock, reckoned as if they were in UTC, where no clock changes
  const read = (name) => Date.parse(`${field(name).value}Z`);
  const write = (name, instant) => {
    field(name).value = new Date(instant).toISOString().slice(0, field(name).type === "date" ? 10 : 16);
  };

  // what ends moves along with what starts
  const spans = [["start", "end"], ["first_day", "last_day"]];
  const lengths = new Map();
  const measure = () => {
    for (const [first, last] of spans) lengths.set(first, read(last) - read(first));
  };
  const move = (first, last) => {
    const start = read(first), length = lengths.get(first);
    if (!Number.isNaN(start) && length >= 0) write(last, start + length);
  };

  // days become times, and times days
  const switchKind = () => {
    const [from, to] = field("is_all_day").checked ? spans : [...spans].reverse();
    for (const end of [0, 1]) {
      const day = field(from[end]).value.slice(0, 10);
      if (!day) continue;
      field(to[end]).value = to[end].endsWith("_day") ? day : day + field(to[end]).value.slice(10);
    }
    measure();
  };

  // of a new event, each pattern begins with the day on which it starts
  const touched = new Set();
  const WEEKDAYS = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
  const INDEXES = ["first", "second", "third", "fourth", "last"];
  const follow = () => {
    const day = new Date(read(field("is_all_day").checked ? "first_day" : "start"));
    if (Number.isNaN(day.valueOf())) return;
    const weekday = WEEKDAYS[day.getUTCDay()];
    const values = {
      monthly_day: day.getUTCDate(), yearly_day: day.getUTCDate(),
      yearly_month: day.getUTCMonth() + 1, yearly_weekday_month: day.getUTCMonth() + 1,
      monthly_weekday: weekday, yearly_weekday: weekday,
    };
    values.monthly_index = values.yearly_index = INDEXES[Math.floor((day.getUTCDate() - 1) / 7)];
    for (const [name, value] of Object.entries(values)) if (!touched.has(name)) field(name).value = value;
    if (!touched.has("weekly_days")) for (const box of form.querySelectorAll('[name="weekly_days"]')) box.checked = box.value === weekday;
  };

  const entitle = () => {
    const button = form.querySelector("[data-series]");
    if (button) button.textContent = field("pattern").value === "none" ? button.dataset.single : button.dataset.series;
  };

  form.addEventListener("input", (event) => {
    const { name } = event.target;
    touched.add(name);
    const row = event.target.closest(".sentence") && event.target.closest(".pattern");
    if (row) row.querySelector('input[type="radio"]').checked = true;
    if (name === "is_all_day") switchKind();
    for (const [first, last] of spans) if (name === first) move(first, last);
    measure();
    if ("follow" in form.dataset && ["is_all_day", "start", "first_day"].includes(name)) follow();
    entitle();
  });
  // what was typed while the page was still loading counts as well
  const shown = (name) => Date.parse(`${field(name).defaultValue}Z`);
  for (const [first, last] of spans) {
    lengths.set(first, shown(last) - shown(first));
    const isLate = field(first).value !== field(first).defaultValue && field(last).value === field(last).defaultValue;
    if (isLate) field(first).dispatchEvent(new Event("input", { bubbles: true }));
  }
  measure();
  entitle();
})();

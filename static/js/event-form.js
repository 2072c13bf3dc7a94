// The form of an event: what one field says, others that nobody has touched take over.  Without it, all fields are there.
"use strict";
(() => {
  const DAY = 24 * 60 * 60 * 1000;
  const form = document.getElementById("event_form");

  // the answer's button repeats what was chosen
  for (const button of document.querySelectorAll("[data-answers]")) {
    const choices = document.querySelectorAll(`[name="${button.dataset.answers}"]`);
    const updateAnswer = () => {
      const chosen = [...choices].find((choice) => choice.checked);
      if (chosen) button.textContent = chosen.dataset.answer;
    };
    for (const choice of choices) choice.addEventListener("change", updateAnswer);
    updateAnswer();
  }
  if (!form) return;

  const field = (name) => form.elements[name];
  // readings of a clock, reckoned as if they were in UTC, where no clock changes
  const readTime = (name) => Date.parse(`${field(name).value}Z`);
  const writeTime = (name, instant) => {
    field(name).value = new Date(instant).toISOString().slice(0, field(name).type === "date" ? 10 : 16);
  };

  // what ends moves along with what starts
  const spans = [["start", "end"], ["first_day", "last_day"]];
  const lengths = new Map();
  const storeLengths = () => {
    for (const [first, last] of spans) lengths.set(first, readTime(last) - readTime(first));
  };
  const syncEnd = (first, last) => {
    const start = readTime(first), length = lengths.get(first);
    if (!Number.isNaN(start) && length >= 0) writeTime(last, start + length);
  };

  // days become times, and times days
  const copyDays = () => {
    const [from, to] = field("is_all_day").checked ? spans : [...spans].reverse();
    for (const end of [0, 1]) {
      const day = field(from[end]).value.slice(0, 10);
      if (!day) continue;
      field(to[end]).value = to[end].endsWith("_day") ? day : day + field(to[end]).value.slice(10);
    }
    storeLengths();
  };

  // of a new event, each pattern begins with the day on which it starts
  const touched = new Set();
  const WEEKDAYS = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
  const INDEXES = ["first", "second", "third", "fourth", "last"];
  const syncPatterns = () => {
    if (!field("pattern")) return; // another notation
    const day = new Date(readTime(field("is_all_day").checked ? "first_day" : "start"));
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

  const updateSubmitLabel = () => {
    const button = form.querySelector("[data-series]");
    const recurrence = field("pattern") || field("rrule") || field("recurrence_json");
    if (button) button.textContent = ["none", ""].includes(recurrence.value.trim()) ? button.dataset.single : button.dataset.series;
  };

  form.addEventListener("input", (event) => {
    const { name } = event.target;
    touched.add(name);
    const row = event.target.closest(".sentence") && event.target.closest(".pattern");
    if (row) row.querySelector('input[type="radio"]').checked = true;
    if (name === "is_all_day") copyDays();
    for (const [first, last] of spans) if (name === first) syncEnd(first, last);
    storeLengths();
    if ("follow" in form.dataset && ["is_all_day", "start", "first_day"].includes(name)) syncPatterns();
    updateSubmitLabel();
  });
  // a pasted schedule is taken over; a rule stays where rules are written, and a document where JSON is
  const NOTATIONS = { rrule: /FREQ=/i, recurrence_json: /^\s*\{/ };
  form.addEventListener("paste", (event) => {
    const { name } = event.target, text = event.clipboardData.getData("text");
    const isElsewhere = name in NOTATIONS && !NOTATIONS[name].test(text);
    if (!text.trim() || (name !== "paste" && !isElsewhere)) return;
    event.preventDefault();
    field("paste").value = text;
    form.querySelector('[name="_paste"]').click();
  });
  // another notation, or a pasted schedule, replaced fields; a preview that was under way shows the fields before
  document.addEventListener("htmx:afterSettle", ({ target }) => {
    if (target.id !== "repeat-section") return;
    for (const input of target.querySelectorAll("[name]")) touched.add(input.name);
    form.dispatchEvent(new Event("input", { bubbles: true }));
  });
  // what was typed while the page was still loading counts as well
  const defaultTime = (name) => Date.parse(`${field(name).defaultValue}Z`);
  for (const [first, last] of spans) {
    lengths.set(first, defaultTime(last) - defaultTime(first));
    const isLate = field(first).value !== field(first).defaultValue && field(last).value === field(last).defaultValue;
    if (isLate) field(first).dispatchEvent(new Event("input", { bubbles: true }));
  }
  storeLengths();
  updateSubmitLabel();
})();

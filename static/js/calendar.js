// The calendar page: neighbours and views without a reload, what a click opens beside its item, keys, and the present time.
"use strict";
(() => {
  const HOUR = 60, MINUTE = 60000, WORKING_DAY = 7 * HOUR;
  const main = document.getElementById("main");
  const path = () => head().dataset.page;
  const head = () => main.querySelector(".calendar-toolbar");
  const narrow = window.matchMedia("(max-width: 48rem)");
  const said = document.createElement("p");
  said.className = "visually-hidden";
  said.setAttribute("role", "status");
  document.body.append(said);
  htmx.config.historyCacheSize = 0; // nothing of a calendar stays behind in the browser

  // neighbours and views

  let wanted = null; // where the focus goes once the next view is there
  const go = (address, focus) => {
    wanted = focus || whereabouts(document.activeElement);
    return htmx.ajax("GET", address, { target: "#calendar", swap: "innerHTML show:none" });
  };
  const whereabouts = (element) => {
    if (element.closest(".time-slot")) return { minute: slotMinute() };
    return element.closest(".month td") ? { date: "" } : { id: element.id };
  };
  const isPlain = (event) => event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
  const isWithin = (link) => link.origin === location.origin && link.pathname.startsWith(path());

  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || !isPlain(event)) return;
    const link = event.target.closest("a[href]");
    if (link && link.matches("[data-close]") && about()) {
      event.preventDefault();
      close();
    } else if (link && main.contains(link) && link.origin === location.origin && link.pathname === path()) {
      event.preventDefault();
      isTodayAsked = link.id === "go-today";
      go(link.href);
    } else if (link && link.matches(".item, .frequent-job, .entry") && isWithin(link)) {
      event.preventDefault();
      open(link);
    } else if (!link && about() && !event.target.closest(".item-popover")) {
      close(false);
    } else if (!link && event.target.closest("[data-print]")) {
      window.print();
    } else if (!link) {
      press(event.target, event);
    }
  });
  document.addEventListener("dblclick", (event) => {
    const cell = event.target.closest(".month td, .all-day td[data-date]");
    if (cell && !event.target.closest("a")) create(cell.dataset.date);
  });
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.matches(".site-header .search") || new URL(form.action).pathname !== path()) return;
    event.preventDefault();
    const parameters = new URLSearchParams(location.search);
    parameters.set("q", form.elements.q.value);
    go(`${path()}?${parameters}`);
  });

  // the names of zones, once somebody writes one
  document.addEventListener("focusin", (event) => {
    const names = event.target.list;
    if (!names || names.id !== "zone-names" || names.firstChild || !Intl.supportedValuesOf) return;
    for (const name of ["UTC", ...Intl.supportedValuesOf("timeZone")]) {
      const option = document.createElement("option");
      option.value = name;
      names.append(option);
    }
  });

  // on a telephone a day shows marks, too small to be pressed; pressing the day lists below what they stand for
  const sum = (cell, words) => {
    const items = cell.querySelector(".day-items");
    if (items) items.inert = narrow.matches;
    if (!narrow.matches) return cell.removeAttribute("aria-label");
    const more = cell.querySelector(".day-more");
    const count = cell.querySelectorAll(".day-items .item, .day-items .frequent-job").length + (more ? parseInt(more.textContent.slice(1), 10) : 0);
    cell.setAttribute("aria-label", `${cell.querySelector(".day-label a").getAttribute("aria-label")}, ${words.replace("{}", count)}`);
  };
  narrow.addEventListener("change", () => arrive());

  const arrive = () => {
    for (const button of main.querySelectorAll("[data-print]")) button.hidden = false;
    const month = main.querySelector(".month");
    if (month) {
      month.setAttribute("role", "grid");
      for (const cell of cells()) {
        cell.tabIndex = -1;
        sum(cell, month.dataset.items);
      }
      const chosen = month.querySelector("td[data-chosen]") || cells()[0];
      chosen.tabIndex = 0;
    }
    const today = main.querySelector(".week .day-head[data-today]");
    if (today && narrow.matches) today.closest(".week-wrap").scrollLeft = today.offsetLeft - today.offsetWidth / 2;
    scrollHours();
    tick();
  };
  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.target.id === "popover") return shown();
    if (event.target.id !== "calendar") return;
    arrive();
    const title = main.querySelector("h1");
    if (title) said.textContent = title.textContent;
    const focus = wanted && find(wanted);
    if (focus && focus.matches(".month td")) toCell(focus);
    else if (focus) focus.focus({ preventScroll: true });
    wanted = null;
  });
  // an element by its id, or a day of the grid: the chosen one if none is named
  const find = ({ id, date, minute }) => {
    if (id) return document.getElementById(id);
    const day = main.querySelector(`.week .day[data-date="${date}"]`) || days()[0];
    if (minute !== undefined && day) return place(day, minute);
    return main.querySelector(`.month td[data-date="${date}"]`) || main.querySelector(".month td[data-chosen]");
  };

  // the hours scroll below their heads.  They open at the working day, or at now where that would be out of view, and
  // stay where they are when another week or day is shown

  let topMinute = null; // the first minute below the heads; null: they open anew
  let isTodayAsked = false;
  const hours = () => {
    const wrap = main.querySelector(".week-wrap");
    if (!wrap) return null;
    const lanes = wrap.querySelector(".lanes"), table = wrap.querySelector(".week");
    const thead = wrap.querySelector("thead");
    const above = (getComputedStyle(thead).position === "sticky" ? thead : thead.rows[0]).offsetHeight;
    const midnight = lanes.getBoundingClientRect().top - wrap.getBoundingClientRect().top - wrap.clientTop + wrap.scrollTop - above;
    return { wrap, above, midnight, minute: lanes.offsetHeight / (Number(table.dataset.hours) * HOUR), line: table.querySelector(".now-line:not(.other-day)") };
  };
  const scrollHours = () => {
    const shown = hours();
    if (!shown) return;
    const { wrap, above, midnight, minute, line } = shown;
    wrap.style.setProperty("--heads-height", `${above}px`);
    let top = topMinute;
    if (top === null) {
      const length = (wrap.clientHeight - above) / minute, now = line ? minutes(line, "h", "m") : WORKING_DAY;
      top = now >= WORKING_DAY && now < WORKING_DAY + length * 3 / 4 ? WORKING_DAY - HOUR / 4 : now - length / 3;
    }
    wrap.scrollTop = midnight + top * minute;
  };
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (event.detail.target.id !== "calendar") return;
    const shown = hours();
    if (isTodayAsked) topMinute = null;
    else if (shown) topMinute = (shown.wrap.scrollTop - shown.midnight) / shown.minute;
    isTodayAsked = false;
  });
  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.target.id === "calendar") scrollHours(); // before it is drawn at midnight
  });

  // what a click opens

  let opener = null;
  const about = () => main.querySelector("#popover > .item-popover");
  const open = (link) => {
    close(false);
    opener = link;
    htmx.ajax("GET", link.href, { target: "#popover", swap: "innerHTML show:none" });
  };
  const close = (isFocusBack = true) => {
    const host = document.getElementById("popover");
    if (host) host.replaceChildren();
    if (!opener) return;
    opener.removeAttribute("aria-expanded");
    if (isFocusBack) opener.focus({ preventScroll: true });
    opener = null;
  };
  const shown = () => {
    const sheet = about();
    if (!sheet || !opener) return;
    opener.setAttribute("aria-expanded", "true");
    settle(sheet, opener.getBoundingClientRect());
    sheet.focus({ preventScroll: narrow.matches });
  };
  // beside its item, on the side with room, within the window
  const settle = (sheet, item) => {
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

  // cells of the month, hours of a day

  const cells = () => [...main.querySelectorAll(".month td")];
  const newEvent = (start) => {
    const address = new URL(head().dataset.new, location);
    for (const [name, value] of new URLSearchParams(location.search)) address.searchParams.set(name, value);
    address.searchParams.set("start", start);
    return address.href;
  };
  const create = (start) => location.assign(newEvent(start));
  const toCell = (cell) => {
    for (const other of cells()) other.tabIndex = other === cell ? 0 : -1;
    cell.focus();
  };
  const choose = ({ dataset: { date } }) => {
    const parameters = new URLSearchParams(location.search);
    parameters.set("date", date);
    go(`${path()}?${parameters}`, { date });
  };
  const dayAfter = (text, days) => {
    const day = new Date(`${text}T00:00Z`);
    day.setUTCDate(day.getUTCDate() + days);
    return day.toISOString().slice(0, 10);
  };
  const neighbour = (kind, focus) => {
    const link = main.querySelector(`[rel="${kind}"]`);
    if (link) go(link.href, focus);
  };

  const inMonth = (event, cell) => {
    const days = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -7, ArrowDown: 7 }[event.key];
    if (days) {
      const date = dayAfter(cell.dataset.date, days);
      const next = main.querySelector(`.month td[data-date="${date}"]`);
      if (next) toCell(next);
      else neighbour(days < 0 ? "prev" : "next", { date });
    } else if (event.key === "Enter" && event.target === cell) {
      const first = cell.querySelector(".day-items a");
      if (narrow.matches) choose(cell);
      else if (first) first.focus();
      else create(cell.dataset.date);
    } else if (event.key === "Escape" && event.target !== cell) cell.focus();
    else return false;
    return true;
  };

  const pieces = (day) => (day.dataset.pieces ? day.dataset.pieces.split(" ") : []).map((piece) => {
    const [, from, to, reading] = piece.match(/(\d+)-(\d+):(\d+)/).map(Number);
    return { from, to, reading };
  });
  const pieceAt = (day, minute) => pieces(day).find((piece) => piece.from <= minute && minute < piece.to);
  const reading = (day, minute) => {
    const piece = pieceAt(day, minute);
    const shown = piece.reading + minute - piece.from;
    return `${day.dataset.date}T${String(Math.floor(shown / HOUR)).padStart(2, "0")}:${String(shown % HOUR).padStart(2, "0")}`;
  };
  const minutes = (element, hours, rest) => Number(element.dataset[hours] || 0) * HOUR + Number(element.dataset[rest] || 0);
  const itemsAt = (day, minute) => [...day.querySelectorAll(".lane")].filter((lane) => {
    const from = minutes(lane, "h", "m");
    return from < minute + HOUR && from + minutes(lane, "dh", "dm") > minute;
  });

  // as the server writes it: 18:00, or with the pattern of the half of the day 6:00 pm
  const clock = (instant, timeZone) => {
    const shown = new Intl.DateTimeFormat("en-GB", { timeZone, hour: "2-digit", minute: "2-digit", hourCycle: "h23" }).format(instant);
    const { am, pm } = main.querySelector(".week").dataset;
    if (!am) return shown;
    const [hour, minute] = shown.split(":");
    return (hour < 12 ? am : pm).replace("%s", `${hour % 12 || 12}:${minute}`);
  };

  // one place, an hour long, that is moved over the days
  const slot = document.createElement("li");
  slot.className = "placed time-slot";
  slot.dataset.dh = "1";
  slot.append(document.createElement("a"));
  const place = (day, minute) => {
    if (!day || !pieceAt(day, minute)) return null;
    const link = slot.firstChild;
    slot.dataset.h = Math.floor(minute / HOUR);
    slot.dataset.m = minute % HOUR;
    const start = reading(day, minute);
    link.href = newEvent(start);
    const items = main.querySelector(".week").dataset.items.replace("{}", itemsAt(day, minute).length);
    link.setAttribute("aria-label", `${dayName(day)}, ${clock(new Date(`${start}Z`), "UTC")}, ${items}`);
    day.querySelector(".lanes").append(slot);
    return link;
  };
  const dayName = (day) => {
    const heads = main.querySelectorAll(".week .day-head a");
    return heads[days().indexOf(day)].getAttribute("aria-label");
  };
  const days = () => [...main.querySelectorAll(".week .day")];
  const slotMinute = () => minutes(slot, "h", "m");

  const inHours = (event, day) => {
    const minute = slotMinute();
    const sideways = { ArrowLeft: -1, ArrowRight: 1 }[event.key], down = { ArrowUp: -HOUR, ArrowDown: HOUR }[event.key];
    if (sideways) {
      const next = days()[days().indexOf(day) + sideways];
      const link = next && (place(next, minute) || place(next, pieces(next)[0] ? pieces(next)[0].from : 0));
      if (link) link.focus();
      else neighbour(sideways < 0 ? "prev" : "next", { date: dayAfter(day.dataset.date, sideways), minute });
    } else if (down) {
      // over what the day does not have
      for (let next = minute + down; next >= 0 && next < 27 * HOUR; next += down) {
        const link = place(day, next);
        if (link) {
          link.focus();
          break;
        }
      }
    } else if (event.key === "Enter" && slot.contains(event.target)) {
      const first = itemsAt(day, minute)[0];
      if (first) first.firstElementChild.focus();
      else create(reading(day, minute));
    } else if (event.key === "Escape" && !slot.contains(event.target)) {
      const lane = event.target.closest(".lane");
      const link = lane && place(day, Math.floor(minutes(lane, "h", "m") / HOUR) * HOUR);
      if (link) link.focus();
    } else return false;
    return true;
  };

  // a press beside the items chooses a place; one more on it begins an event there
  const press = (target, event) => {
    const lanes = target.closest(".lanes"), cell = target.closest(".month td");
    if (cell && narrow.matches) choose(cell);
    else if (cell) toCell(cell);
    else if (lanes && !target.closest(".lane")) {
      const day = lanes.closest(".day");
      const height = lanes.getBoundingClientRect().height, total = Number(main.querySelector(".week").dataset.hours) * HOUR;
      const minute = Math.floor((event.clientY - lanes.getBoundingClientRect().top) / height * total / HOUR) * HOUR;
      if (slot.parentElement === lanes && slotMinute() === minute && document.activeElement === slot.firstChild) create(reading(day, minute));
      else {
        const link = place(day, minute);
        if (link) link.focus();
      }
    }
  };

  const enter = (event) => {
    if (!event.key.startsWith("Arrow")) return false;
    const entries = [...main.querySelectorAll(".agenda .entry")].filter((link) => link.offsetParent);
    if (main.querySelector(".month")) toCell(main.querySelector('.month td[tabindex="0"]'));
    else if (days().length) {
      const day = main.querySelector(".week .day[data-today]") || days()[0];
      const line = main.querySelector(".now-line:not(.other-day)");
      const link = place(day, line ? Number(line.dataset.h || 0) * HOUR : 8 * HOUR) || place(day, pieces(day)[0] && pieces(day)[0].from);
      if (link) link.focus();
    } else if (entries.length && !event.key.match(/Left|Right/)) {
      const at = entries.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1);
      entries[Math.min(Math.max(at, 0), entries.length - 1)].focus();
    } else return false;
    return true;
  };

  document.addEventListener("keydown", (event) => {
    if (!head() || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (event.key === "Escape" && about()) {
      event.preventDefault();
      return close();
    }
    if (event.target.closest("input:not([type=checkbox]), textarea, select, [contenteditable], .item-popover, details[open]")) return;
    const cell = event.target.closest(".month td"), day = event.target.closest(".week .day");
    const isFree = event.target === document.body || event.target === main || event.target.closest(".agenda, .week-wrap");
    const isDone = (cell && inMonth(event, cell)) || (day && inHours(event, day)) || (!cell && !day && isFree && enter(event));
    if (isDone) return event.preventDefault();
    if (event.key === "n" && (cell || slot.contains(event.target))) {
      event.preventDefault();
      return create(cell ? cell.dataset.date : reading(day, slotMinute()));
    }
    const link = event.key.length === 1 || event.key.startsWith("Page") ? main.querySelector(`[data-key="${CSS.escape(event.key)}"]`) : null;
    if (link) {
      event.preventDefault();
      link.click();
    }
  });

  // the present time

  const tick = () => {
    const line = main.querySelector(".now-line:not(.other-day)");
    if (!line) return;
    const now = Date.now();
    if (now >= Date.parse(line.dataset.until)) return again();
    const minute = Number(line.dataset.minute) + Math.max(0, Math.floor((now - Date.parse(line.dataset.from)) / MINUTE));
    for (const each of main.querySelectorAll(".now-line, .now-label")) {
      each.dataset.h = Math.floor(minute / HOUR);
      each.dataset.m = minute % HOUR;
    }
    const past = main.querySelector(".background.past");
    if (past) {
      past.dataset.dh = Math.floor(minute / HOUR);
      past.dataset.dm = minute % HOUR;
    }
    const label = main.querySelector(".now-label");
    if (now - Date.parse(line.dataset.from) >= MINUTE) label.textContent = clock(new Date(now), line.dataset.zone);
    for (const hour of main.querySelectorAll("th .hour-scale:not(.second) li:not(.now-label)")) {
      hour.hidden = Math.abs(minutes(hour, "h", "m") - minute) < 22;
    }
  };
  // a new day, or a change of the clock
  const again = () => {
    if (!about() && !document.activeElement.closest("input, select")) go(location.href);
  };
  setInterval(tick, MINUTE / 4);
  document.addEventListener("htmx:historyRestore", arrive);

  arrive();
})();

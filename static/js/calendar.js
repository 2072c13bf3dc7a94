// The calendar page: neighbours and views without a reload, popovers, keys, and the present time.
"use strict";
(() => {
  const HOUR = 60, MINUTE = 60000, WORKING_DAY = 7 * HOUR;
  const main = document.getElementById("main");
  const pagePath = () => toolbar().dataset.page;
  const toolbar = () => main.querySelector(".calendar-toolbar");
  const narrowScreen = window.matchMedia("(max-width: 48rem)");
  const liveRegion = document.createElement("p");
  liveRegion.className = "visually-hidden";
  liveRegion.setAttribute("role", "status");
  document.body.append(liveRegion);
  htmx.config.historyCacheSize = 0; // nothing of a calendar stays behind in the browser

  // neighbours and views

  let pendingFocus = null; // where the focus goes once the next view is there
  const navigate = (address, focus) => {
    pendingFocus = focus || focusTarget(document.activeElement);
    return htmx.ajax("GET", address, { target: "#calendar", swap: "innerHTML show:none" });
  };
  const focusTarget = (element) => {
    if (element.closest(".time-slot")) return { minute: slotMinute() };
    return element.closest(".month td") ? { date: "" } : { id: element.id };
  };
  const isPlain = (event) => event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
  const isWithin = (link) => link.origin === location.origin && link.pathname.startsWith(pagePath());

  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || !isPlain(event)) return;
    const link = event.target.closest("a[href]");
    if (link && link.matches("[data-close]") && popover()) {
      event.preventDefault();
      closePopover();
    } else if (link && main.contains(link) && link.origin === location.origin && link.pathname === pagePath()) {
      event.preventDefault();
      isTodayAsked = link.id === "go-today";
      navigate(link.href);
    } else if (link && link.matches(".item, .frequent-job, .entry") && isWithin(link)) {
      event.preventDefault();
      openPopover(link);
    } else if (!link && popover() && !event.target.closest(".item-popover")) {
      closePopover(false);
    } else if (!link && event.target.closest("[data-print]")) {
      window.print();
    } else if (!link) {
      selectAt(event.target, event);
    }
  });
  document.addEventListener("dblclick", (event) => {
    const cell = event.target.closest(".month td, .all-day td[data-date]");
    if (cell && !event.target.closest("a")) createEvent(cell.dataset.date);
  });
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.matches(".site-header .search") || new URL(form.action).pathname !== pagePath()) return;
    event.preventDefault();
    const parameters = new URLSearchParams(location.search);
    parameters.set("q", form.elements.q.value);
    navigate(`${pagePath()}?${parameters}`);
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
  const updateDaySummary = (cell, words) => {
    const items = cell.querySelector(".day-items");
    if (items) items.inert = narrowScreen.matches;
    if (!narrowScreen.matches) return cell.removeAttribute("aria-label");
    const more = cell.querySelector(".day-more");
    const count = cell.querySelectorAll(".day-items .item, .day-items .frequent-job").length + (more ? parseInt(more.textContent.slice(1), 10) : 0);
    cell.setAttribute("aria-label", `${cell.querySelector(".day-label a").getAttribute("aria-label")}, ${words.replace("{}", count)}`);
  };
  narrowScreen.addEventListener("change", () => prepareView());

  const prepareView = () => {
    for (const button of main.querySelectorAll("[data-print]")) button.hidden = false;
    const month = main.querySelector(".month");
    if (month) {
      month.setAttribute("role", "grid");
      for (const cell of cells()) {
        cell.tabIndex = -1;
        updateDaySummary(cell, month.dataset.items);
      }
      const chosen = month.querySelector("td[data-chosen]") || cells()[0];
      chosen.tabIndex = 0;
    }
    const today = main.querySelector(".week .day-head[data-today]");
    if (today && narrowScreen.matches) today.closest(".week-wrap").scrollLeft = today.offsetLeft - today.offsetWidth / 2;
    scrollHours();
    updateNowLine();
  };
  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.target.id === "popover") return showPopover();
    if (event.target.id !== "calendar") return;
    prepareView();
    const title = main.querySelector("h1");
    if (title) liveRegion.textContent = title.textContent;
    const focus = pendingFocus && findElement(pendingFocus);
    if (focus && focus.matches(".month td")) focusCell(focus);
    else if (focus) focus.focus({ preventScroll: true });
    pendingFocus = null;
  });
  // an element by its id, or a day of the grid: the chosen one if none is named
  const findElement = ({ id, date, minute }) => {
    if (id) return document.getElementById(id);
    const day = main.querySelector(`.week .day[data-date="${date}"]`) || days()[0];
    if (minute !== undefined && day) return moveSlot(day, minute);
    return main.querySelector(`.month td[data-date="${date}"]`) || main.querySelector(".month td[data-chosen]");
  };

  // the hours scroll below their heads.  They open at the working day, or at now where that would be out of view, and
  // stay where they are when another week or day is shown

  let topMinute = null; // the first minute below the heads; null: they open anew
  let isTodayAsked = false;
  const measureHours = () => {
    const wrap = main.querySelector(".week-wrap");
    if (!wrap) return null;
    const lanes = wrap.querySelector(".lanes"), table = wrap.querySelector(".week");
    const thead = wrap.querySelector("thead");
    const above = (getComputedStyle(thead).position === "sticky" ? thead : thead.rows[0]).offsetHeight;
    const midnight = lanes.getBoundingClientRect().top - wrap.getBoundingClientRect().top - wrap.clientTop + wrap.scrollTop - above;
    return { wrap, above, midnight, minute: lanes.offsetHeight / (Number(table.dataset.hours) * HOUR), line: table.querySelector(".now-line:not(.other-day)") };
  };
  const scrollHours = () => {
    const measured = measureHours();
    if (!measured) return;
    const { wrap, above, midnight, minute, line } = measured;
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
    const measured = measureHours();
    if (isTodayAsked) topMinute = null;
    else if (measured) topMinute = (measured.wrap.scrollTop - measured.midnight) / measured.minute;
    isTodayAsked = false;
  });
  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.target.id === "calendar") scrollHours(); // before it is drawn at midnight
  });

  // what a click opens

  let opener = null;
  const popover = () => main.querySelector("#popover > .item-popover");
  const openPopover = (link) => {
    closePopover(false);
    opener = link;
    htmx.ajax("GET", link.href, { target: "#popover", swap: "innerHTML show:none" });
  };
  const closePopover = (returnsFocus = true) => {
    const container = document.getElementById("popover");
    if (container) container.replaceChildren();
    if (!opener) return;
    opener.removeAttribute("aria-expanded");
    if (returnsFocus) opener.focus({ preventScroll: true });
    opener = null;
  };
  const showPopover = () => {
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

  // cells of the month, hours of a day

  const cells = () => [...main.querySelectorAll(".month td")];
  const newEventUrl = (start) => {
    const address = new URL(toolbar().dataset.new, location);
    for (const [name, value] of new URLSearchParams(location.search)) address.searchParams.set(name, value);
    address.searchParams.set("start", start);
    return address.href;
  };
  const createEvent = (start) => location.assign(newEventUrl(start));
  const focusCell = (cell) => {
    for (const other of cells()) other.tabIndex = other === cell ? 0 : -1;
    cell.focus();
  };
  const selectDay = ({ dataset: { date } }) => {
    const parameters = new URLSearchParams(location.search);
    parameters.set("date", date);
    navigate(`${pagePath()}?${parameters}`, { date });
  };
  const addDays = (text, days) => {
    const day = new Date(`${text}T00:00Z`);
    day.setUTCDate(day.getUTCDate() + days);
    return day.toISOString().slice(0, 10);
  };
  const openNeighbour = (kind, focus) => {
    const link = main.querySelector(`[rel="${kind}"]`);
    if (link) navigate(link.href, focus);
  };

  const handleMonthKey = (event, cell) => {
    const days = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -7, ArrowDown: 7 }[event.key];
    if (days) {
      const date = addDays(cell.dataset.date, days);
      const next = main.querySelector(`.month td[data-date="${date}"]`);
      if (next) focusCell(next);
      else openNeighbour(days < 0 ? "prev" : "next", { date });
    } else if (event.key === "Enter" && event.target === cell) {
      const first = cell.querySelector(".day-items a");
      if (narrowScreen.matches) selectDay(cell);
      else if (first) first.focus();
      else createEvent(cell.dataset.date);
    } else if (event.key === "Escape" && event.target !== cell) cell.focus();
    else return false;
    return true;
  };

  const pieces = (day) => (day.dataset.pieces ? day.dataset.pieces.split(" ") : []).map((piece) => {
    const [, from, to, wallMinute] = piece.match(/(\d+)-(\d+):(\d+)/).map(Number);
    return { from, to, wallMinute };
  });
  const pieceAt = (day, minute) => pieces(day).find((piece) => piece.from <= minute && minute < piece.to);
  const wallTime = (day, minute) => {
    const piece = pieceAt(day, minute);
    const local = piece.wallMinute + minute - piece.from;
    return `${day.dataset.date}T${String(Math.floor(local / HOUR)).padStart(2, "0")}:${String(local % HOUR).padStart(2, "0")}`;
  };
  const minutes = (element, hourKey, minuteKey) => Number(element.dataset[hourKey] || 0) * HOUR + Number(element.dataset[minuteKey] || 0);
  const itemsAt = (day, minute) => [...day.querySelectorAll(".lane")].filter((lane) => {
    const from = minutes(lane, "h", "m");
    return from < minute + HOUR && from + minutes(lane, "dh", "dm") > minute;
  });

  // as the server writes it: 18:00, or with the pattern of the half of the day 6:00 pm
  const formatTime = (instant, timeZone) => {
    const text = new Intl.DateTimeFormat("en-GB", { timeZone, hour: "2-digit", minute: "2-digit", hourCycle: "h23" }).format(instant);
    const { am, pm } = main.querySelector(".week").dataset;
    if (!am) return text;
    const [hour, minute] = text.split(":");
    return (hour < 12 ? am : pm).replace("%s", `${hour % 12 || 12}:${minute}`);
  };

  // one slot, an hour long, that is moved over the days
  const slot = document.createElement("li");
  slot.className = "placed time-slot";
  slot.dataset.dh = "1";
  slot.append(document.createElement("a"));
  const moveSlot = (day, minute) => {
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
  const dayName = (day) => {
    const heads = main.querySelectorAll(".week .day-head a");
    return heads[days().indexOf(day)].getAttribute("aria-label");
  };
  const days = () => [...main.querySelectorAll(".week .day")];
  const slotMinute = () => minutes(slot, "h", "m");

  const handleHoursKey = (event, day) => {
    const minute = slotMinute();
    const sideways = { ArrowLeft: -1, ArrowRight: 1 }[event.key], down = { ArrowUp: -HOUR, ArrowDown: HOUR }[event.key];
    if (sideways) {
      const next = days()[days().indexOf(day) + sideways];
      const link = next && (moveSlot(next, minute) || moveSlot(next, pieces(next)[0] ? pieces(next)[0].from : 0));
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

  // a click between the items selects a slot; one more on it begins an event there
  const selectAt = (target, event) => {
    const lanes = target.closest(".lanes"), cell = target.closest(".month td");
    if (cell && narrowScreen.matches) selectDay(cell);
    else if (cell) focusCell(cell);
    else if (lanes && !target.closest(".lane")) {
      const day = lanes.closest(".day");
      const height = lanes.getBoundingClientRect().height, total = Number(main.querySelector(".week").dataset.hours) * HOUR;
      const minute = Math.floor((event.clientY - lanes.getBoundingClientRect().top) / height * total / HOUR) * HOUR;
      if (slot.parentElement === lanes && slotMinute() === minute && document.activeElement === slot.firstChild) createEvent(wallTime(day, minute));
      else {
        const link = moveSlot(day, minute);
        if (link) link.focus();
      }
    }
  };

  const enterGrid = (event) => {
    if (!event.key.startsWith("Arrow")) return false;
    const entries = [...main.querySelectorAll(".agenda .entry")].filter((link) => link.offsetParent);
    if (main.querySelector(".month")) focusCell(main.querySelector('.month td[tabindex="0"]'));
    else if (days().length) {
      const day = main.querySelector(".week .day[data-today]") || days()[0];
      const line = main.querySelector(".now-line:not(.other-day)");
      const link = moveSlot(day, line ? Number(line.dataset.h || 0) * HOUR : 8 * HOUR) || moveSlot(day, pieces(day)[0] && pieces(day)[0].from);
      if (link) link.focus();
    } else if (entries.length && !event.key.match(/Left|Right/)) {
      const at = entries.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1);
      entries[Math.min(Math.max(at, 0), entries.length - 1)].focus();
    } else return false;
    return true;
  };

  document.addEventListener("keydown", (event) => {
    if (!toolbar() || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (event.key === "Escape" && popover()) {
      event.preventDefault();
      return closePopover();
    }
    if (event.target.closest("input:not([type=checkbox]), textarea, select, [contenteditable], .item-popover, details[open]")) return;
    const cell = event.target.closest(".month td"), day = event.target.closest(".week .day");
    const isFree = event.target === document.body || event.target === main || event.target.closest(".agenda, .week-wrap");
    const isDone = (cell && handleMonthKey(event, cell)) || (day && handleHoursKey(event, day)) || (!cell && !day && isFree && enterGrid(event));
    if (isDone) return event.preventDefault();
    if (event.key === "n" && (cell || slot.contains(event.target))) {
      event.preventDefault();
      return createEvent(cell ? cell.dataset.date : wallTime(day, slotMinute()));
    }
    const link = event.key.length === 1 || event.key.startsWith("Page") ? main.querySelector(`[data-key="${CSS.escape(event.key)}"]`) : null;
    if (link) {
      event.preventDefault();
      link.click();
    }
  });

  // the present time

  const updateNowLine = () => {
    const line = main.querySelector(".now-line:not(.other-day)");
    if (!line) return;
    const now = Date.now();
    if (now >= Date.parse(line.dataset.until)) return reload();
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
    if (now - Date.parse(line.dataset.from) >= MINUTE) label.textContent = formatTime(new Date(now), line.dataset.zone);
    for (const hour of main.querySelectorAll("th .hour-scale:not(.second) li:not(.now-label)")) {
      hour.hidden = Math.abs(minutes(hour, "h", "m") - minute) < 22;
    }
  };
  // a new day, or a change of the clock
  const reload = () => {
    if (!popover() && !document.activeElement.closest("input, select")) navigate(location.href);
  };
  setInterval(updateNowLine, MINUTE / 4);
  document.addEventListener("htmx:historyRestore", prepareView);

  prepareView();
})();

"""Faults in the layout of a page at a window width: boxes that do not fit."""

# elements whose box extends past the edge of the part of the page that contains them, or of the page
FIND = """() => {
  const faults = new Set();
  const clips = (element) => {
    const { overflowX, clipPath } = getComputedStyle(element);
    return overflowX !== "visible" || clipPath !== "none";
  };
  const parts = ".card, .page-head, .banner, .agenda, .calendar-sidebar, .calendar-toolbar";
  for (const part of document.querySelectorAll(parts)) {
    const edge = part.getBoundingClientRect();
    for (const element of part.querySelectorAll("*")) {
      if (element.closest("svg svg, details:not([open]) > :not(summary)") || clips(element)) continue;
      const box = element.getBoundingClientRect();
      if (!box.width || (box.right <= edge.right + 1 && box.left >= edge.left - 1)) continue;
      let outer = element.parentElement;
      while (outer !== part && !clips(outer)) outer = outer.parentElement;
      if (outer === part) faults.add(`${element.outerHTML.slice(0, 60)} passes the edge of .${part.classList[0]}`);
    }
  }
  for (const element of document.querySelectorAll("[hidden]")) {
    if (element.checkVisibility()) faults.add(`${element.outerHTML.slice(0, 60)} is hidden, but drawn`);
  }
  const { scrollWidth, clientWidth } = document.documentElement;
  if (scrollWidth > clientWidth) faults.add(`scrolls sideways by ${scrollWidth - clientWidth} px`);
  return [...faults];
}"""


def resize(page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})


def scrolls_sideways(page) -> bool:
    return page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")


def find_overflow(page, *widths: int) -> list[str]:
    """Return the boxes that do not fit at each of the window widths. The window size is restored."""
    size, faults = page.viewport_size, []
    for width in widths:
        resize(page, width)
        faults += [f"at {width} px: {fault}" for fault in page.evaluate(FIND)]
    page.set_viewport_size(size)
    return faults

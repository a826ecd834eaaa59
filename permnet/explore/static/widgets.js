// Tips at the pointer, and groups that the arrow keys walk through.
"use strict";

/** A box beside the pointer or an element, with lines of text. */
const tip = {
  box: by("tip"),
  show(lines, x, y) {
    tip.box.replaceChildren(...lines.map((line) => element("div", "", line)));
    tip.box.hidden = false;
    const { width, height } = tip.box.getBoundingClientRect();
    tip.box.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - width - 8))}px`;
    tip.box.style.top = `${y + 18 + height > innerHeight ? y - height - 10 : y + 18}px`;
  },
  hide() {
    tip.box.hidden = true;
  },
};

/** A tip at the pointer, with the lines that `read` finds under it. */
function watch(canvas, read) {
  canvas.addEventListener("pointermove", (event) => {
    const lines = read(event.offsetX, event.offsetY);
    if (lines) tip.show(lines, event.clientX, event.clientY);
    else tip.hide();
  });
  canvas.addEventListener("pointerleave", tip.hide);
}

/** Shows a tip while an element is pointed at or focused, and says when that begins. */
function pointed(node, lines, begun = () => {}) {
  const show = () => {
    const box = node.getBoundingClientRect();
    tip.show(lines, box.left, box.bottom - 12);
    begun();
  };
  node.addEventListener("pointerenter", show);
  node.addEventListener("focus", show);
  node.addEventListener("pointerleave", tip.hide);
  node.addEventListener("blur", tip.hide);
}

/** One stop for the tab key; the arrow keys, Home and End move inside. */
function roving(group, stops = [...group.querySelectorAll("button")]) {
  stops.forEach((stop, i) => (stop.tabIndex = i ? -1 : 0));
  group.onkeydown = (event) => {
    const at = stops.indexOf(document.activeElement);
    const [before, after] = [stops[at - 1], stops[at + 1]];
    const to = {
      ArrowLeft: before,
      ArrowUp: before,
      ArrowRight: after,
      ArrowDown: after,
      Home: stops[0],
      End: stops.at(-1),
    }[event.key];
    if (at < 0 || !to) return;
    event.preventDefault();
    stops[at].tabIndex = -1;
    to.tabIndex = 0;
    to.focus();
  };
}

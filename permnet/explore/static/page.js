// The two views behind their tabs.
"use strict";

const tabs = [...document.querySelectorAll("[role=tab]")];

function openTab(tab) {
  for (const other of tabs) {
    const chosen = other === tab;
    other.setAttribute("aria-selected", String(chosen));
    other.tabIndex = chosen ? 0 : -1;
    by(other.getAttribute("aria-controls")).hidden = !chosen;
  }
  history.replaceState(null, "", `#${tab.getAttribute("aria-controls")}`);
  resolveView.draw();
}

tabs.forEach((tab, i) => {
  tab.addEventListener("click", () => openTab(tab));
  tab.addEventListener("keydown", ({ key }) => {
    if (key !== "ArrowRight" && key !== "ArrowLeft") return;
    const next = tabs[(i + 1) % tabs.length];
    next.focus();
    openTab(next);
  });
});

const wanted = tabs.find((tab) => `#${tab.getAttribute("aria-controls")}` === location.hash);
if (wanted) openTab(wanted);
if (baked) {
  // A file holds one view: the other has nothing to show.
  const [there, missing] = baked.program ? ["decompile", "resolve"] : ["resolve", "decompile"];
  openTab(by(`tab-${there}`));
  by(`tab-${missing}`).hidden = true;
}

resolveView.guarded(() => Promise.all([resolveView.start(), decompileView.start()]));

// The Resolve view: a question, one model or two side by side, and the step they are at.
"use strict";

const FORMS = {
  direct: "Data, <sep>, then indices that count from 0: b a d c <sep> 2 0 1 3",
  indirect: "Each datum with its key, <sep>, then keys: a 2 b 1 c 3 <sep> 1 3 2",
  dict: "Each datum with its key, <sep>, then keys that may repeat: a 2 b 1 <sep> 1 1",
};
const PACE = 700; // milliseconds a step takes when it plays

const resolveView = {
  models: [],
  panels: [],
  typed: false, // whether the question is the user's own
  asked: 0, // questions so far: a late answer to an earlier one is dropped
  sampling: null, // the sample asked for last
  timer: null,

  async start() {
    by("step").addEventListener("input", () => this.go(Number(by("step").value) - 1));
    by("play").addEventListener("click", () => this.play(this.timer === null));
    addEventListener("resize", () => this.draw());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    if (baked) return this.showBaked();
    this.models = (await ask("api/models")).filter((model) => model.kind !== null);
    if (!this.models.length) throw new Error("there is no model that answers questions");
    const names = this.models.map((model) => model.name);
    by("model").replaceChildren(...names.map((name) => new Option(name)));
    by("beside").replaceChildren(new Option("none", ""), ...names.map((name) => new Option(name)));
    by("model").addEventListener("change", () => (this.typed ? this.resolve() : this.sample()));
    by("beside").addEventListener("change", async () => {
      await this.sampling;
      this.resolve();
    });
    by("text").addEventListener("input", () => (this.typed = true));
    by("sample").addEventListener("click", () => this.sample());
    by("question").addEventListener("submit", (event) => {
      event.preventDefault();
      this.resolve();
    });
    await this.sample(1);
  },

  showBaked() {
    by("question").hidden = true;
    by("hint").hidden = true;
    if (!baked.records) return;
    this.panels = baked.models.map((model) => new Panel(model, (step) => this.go(step)));
    by("panels").replaceChildren(...this.panels.map((panel) => panel.node));
    this.panels.forEach((panel, i) => panel.show(baked.records[i]));
    this.ready();
  },

  model(name) {
    return this.models.find((model) => model.name === name);
  },

  /** Asks for a question and its answer; one that the user types or asks meanwhile goes first. */
  async sample(seed = Math.floor(Math.random() * 2 ** 32)) {
    const number = ++this.asked;
    this.typed = false;
    await this.guarded(async () => {
      this.sampling = ask("api/sample", { model: by("model").value, seed });
      const { text } = await this.sampling;
      if (this.typed || number !== this.asked) return;
      by("text").value = text;
      await this.resolve();
    });
  },

  async resolve() {
    this.play(false);
    const number = ++this.asked;
    const text = by("text").value;
    const chosen = [by("model").value, by("beside").value].filter((name) => name);
    by("hint").textContent = FORMS[this.model(chosen[0]).kind];
    const panels = chosen.map((name) => new Panel(this.model(name), (step) => this.go(step)));
    const answers = await Promise.allSettled(
      chosen.map((model) => ask("api/resolve", { model, text })),
    );
    if (number !== this.asked) return;
    this.panels = panels;
    by("panels").replaceChildren(...panels.map((panel) => panel.node));
    answers.forEach(({ value, reason }, i) => {
      if (value) panels[i].show(value);
      else panels[i].fail(reason.message);
    });
    this.ready();
  },

  /** The slider for what the panels hold. */
  ready() {
    const most = Math.max(0, ...this.panels.map((panel) => panel.length));
    by("panels").classList.toggle("two", this.panels.length > 1);
    by("steps").hidden = most === 0;
    by("step").max = most;
    if (most) this.go(0);
  },

  go(step) {
    this.step = step;
    const shown = this.panels.filter((panel) => panel.length);
    by("step").value = step + 1;
    const tokens = shown.map((panel) => panel.record.output[step] ?? "–");
    const said = `${step + 1} of ${by("step").max}: ${tokens.join(" | ")}`;
    by("step-text").textContent = said;
    by("step").setAttribute("aria-valuetext", said);
    shown.forEach((panel) => panel.go(step));
  },

  draw() {
    if (this.panels.some((panel) => panel.length)) this.go(this.step);
  },

  play(on) {
    clearInterval(this.timer);
    this.timer = null;
    by("play").textContent = on ? "Pause" : "Play";
    by("play").setAttribute("aria-pressed", String(on));
    if (!on) return;
    this.timer = setInterval(() => {
      const last = this.step + 1 >= Number(by("step").max);
      this.go(last ? 0 : this.step + 1);
    }, PACE);
  },

  /** Shows what went wrong in place of doing nothing. */
  async guarded(action) {
    const problem = by("problem");
    problem.hidden = true;
    try {
      await action();
    } catch (error) {
      problem.textContent = error.message;
      problem.hidden = false;
    }
  },
};

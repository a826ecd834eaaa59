// The Decompile view: assembly on the left, C on the right, and which line comes from which.
"use strict";

const LARGEST = 200_000; // characters; the server takes little more

const decompileView = {
  examples: [],
  text: "",

  async start() {
    by("edit").addEventListener("click", () => this.edit());
    if (baked) return this.showBaked();
    by("assembly").addEventListener("input", () => (by("examples").value = ""));
    by("examples").addEventListener("change", () => this.take(this.example().text));
    by("file").addEventListener("change", () => this.open(by("file").files[0]));
    by("program").addEventListener("submit", (event) => {
      event.preventDefault();
      this.decompile();
    });
    const drop = by("drop");
    drop.addEventListener("dragover", (event) => {
      event.preventDefault();
      drop.classList.add("over");
    });
    drop.addEventListener("dragleave", () => drop.classList.remove("over"));
    drop.addEventListener("drop", (event) => {
      event.preventDefault();
      drop.classList.remove("over");
      this.open(event.dataTransfer.files[0]);
    });
    const [models, examples] = await Promise.all([ask("api/models"), ask("api/examples")]);
    const names = models.filter((model) => model.kind === null).map((model) => model.name);
    by("decompiler").replaceChildren(...names.map((name) => new Option(name)));
    if (models[0].kind === null && !location.hash) openTab(by("tab-decompile"));
    by("no-decompiler").hidden = names.length > 0;
    by("decompile-it").disabled = names.length === 0;
    this.examples = examples;
    const titles = examples.map(({ title }) => new Option(title));
    by("examples").replaceChildren(new Option("your own", ""), ...titles);
    by("examples").value = examples[0].title;
    this.take(examples[0].text);
  },

  showBaked() {
    by("program").hidden = true;
    if (!baked.program) return;
    this.text = baked.text;
    this.show(baked.program, (i) => baked.candidates[i]);
    by("edit").hidden = true;
  },

  example() {
    return this.examples.find(({ title }) => title === by("examples").value) ?? { text: "" };
  },

  take(text) {
    by("assembly").value = text;
    this.edit();
  },

  async open(file) {
    if (!file) return;
    if (file.size > LARGEST)
      return this.fail(`${file.name} has ${file.size} bytes: at most ${LARGEST} are read here`);
    by("examples").value = "";
    this.take(await file.text());
  },

  edit() {
    by("assembly").hidden = false;
    by("assembly-lines").hidden = true;
    by("edit").hidden = true;
    by("functions").replaceChildren();
    by("trouble").hidden = true;
    this.fail("");
  },

  fail(message) {
    by("decompile-problem").textContent = message;
    by("decompile-problem").hidden = !message;
  },

  async decompile() {
    this.fail("");
    const text = by("assembly").value;
    const model = by("decompiler").value;
    by("decompile-it").disabled = true;
    try {
      const answer = await ask("api/decompile", { model, text });
      this.text = text;
      this.show(answer, async (i) => {
        const { candidates } = await ask("api/candidates", { model, text, function: i });
        return candidates;
      });
    } catch (error) {
      this.fail(error.message);
    } finally {
      by("decompile-it").disabled = false;
    }
  },

  /** All functions of the program; `more` gives the other candidates of one. */
  show({ functions, trouble }, more) {
    const lines = this.text.split(/\r\n|\r|\n/);
    if (lines.at(-1) === "") lines.pop();
    by("assembly-lines").replaceChildren(...lines.map((line) => element("li", "", line)));
    by("assembly").hidden = true;
    by("assembly-lines").hidden = false;
    by("edit").hidden = false;
    by("trouble").textContent = trouble ? `Nothing is verified: ${trouble}` : "";
    by("trouble").hidden = !trouble;
    this.shown = functions.map((answer, i) => new Decompiled(answer, () => more(i)));
    by("functions").replaceChildren(...this.shown.map((one) => one.node));
    this.link();
  },

  /** Lights the lines that belong together when one is pointed at or has the focus. */
  link() {
    const assembly = [...by("assembly-lines").children];
    const pairs = this.shown.flatMap((one) =>
      one.map.map(([c, from]) => [one.lines[c - 1], assembly[from - 1]]),
    );
    const partners = new Map();
    for (const [a, b] of pairs.flatMap(([c, line]) => [[c, line], [line, c]]))
      partners.set(a, [...(partners.get(a) ?? []), b]);
    for (const line of [...assembly, ...this.shown.flatMap((one) => one.lines)]) {
      const others = partners.get(line);
      line.classList.toggle("mapped", Boolean(others));
      line.classList.remove("lit");
      const light = (on) => {
        for (const lit of others ? [line, ...others] : []) lit.classList.toggle("lit", on);
        if (on && others) bringIntoView(others[0]);
      };
      line.onpointerenter = line.onfocus = () => light(true);
      line.onpointerleave = line.onblur = () => light(false);
    }
    for (const list of [by("assembly-lines"), ...this.shown.map((one) => one.list)])
      if (list) roving(list, [...list.children].filter((line) => partners.has(line)));
  },
};

/** One function's C, and the other candidates for it. */
class Decompiled {
  constructor(answer, more) {
    this.node = element("article", "function");
    this.heading = element("h3");
    this.list = null;
    this.show(answer);
    if (answer.error) return;
    const best = element("ol", "best");
    const button = element("button", "", "Other answers");
    button.type = "button";
    button.addEventListener("click", async () => {
      button.disabled = true;
      try {
        this.offer(best, await more());
        button.hidden = true;
      } catch (error) {
        decompileView.fail(error.message);
      }
      button.disabled = false;
    });
    this.node.append(button, best);
  }

  show({ name, c, verified, confidence, map, seconds, error }) {
    const mark = element("span", verified ? "verified" : "unverified");
    if (!error) {
      const state = verified ? "✓ verified: compiles to the same assembly" : "unverified";
      const sure = `confidence ${percent(confidence, 1)}`;
      mark.textContent = `${state} · ${sure} · ${seconds.toFixed(2)} s`;
    }
    this.heading.replaceChildren(element("span", "", name), mark);
    this.map = map ?? [];
    this.lines = (c ?? "").split("\n").slice(0, -1).map((line) => element("li", "", line));
    const body = error ? element("p", "problem", error) : element("ol", "code");
    body.append(...this.lines);
    if (!error) body.setAttribute("aria-label", `C of ${name}, line by line`);
    if (this.body) this.body.replaceWith(body);
    else this.node.append(this.heading, body);
    this.body = body;
    this.list = error ? null : body;
  }

  offer(best, candidates) {
    const items = candidates.map((answer) => {
      const item = element("li");
      const state = answer.verified ? "✓ verified" : "unverified";
      const button = element("button", "", `${state} · ${percent(answer.confidence, 2)}`);
      button.type = "button";
      button.addEventListener("click", () => {
        for (const other of best.querySelectorAll("button"))
          other.setAttribute("aria-pressed", String(other === button));
        this.show(answer);
        decompileView.link();
      });
      item.append(button);
      return item;
    });
    best.replaceChildren(...items);
  }
}

/** Scrolls the list that a line is in, and nothing else. */
function bringIntoView(line) {
  const list = line.parentElement;
  const [inner, outer] = [line.getBoundingClientRect(), list.getBoundingClientRect()];
  if (inner.top < outer.top) list.scrollTop -= outer.top - inner.top + 20;
  if (inner.bottom > outer.bottom) list.scrollTop += inner.bottom - outer.bottom + 20;
}

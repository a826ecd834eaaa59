// One model's answer to the question: its tokens, the way of each step, and the matrices behind it.
"use strict";

const ROLES = ["DATA", "KEY", "QUERY", "NOT RELEVANT"];
const LIKELIEST = 5; // tokens whose logits are listed
const PARTS = ["query", "key", "datum"];
const V_DW = "v_dw: weight on each position as a datum";

class Panel {
  constructor(model, choose) {
    this.model = model;
    this.node = by("panel").content.cloneNode(true).firstElementChild;
    this.find = (selector) => this.node.querySelector(selector);
    this.find(".name").textContent = model.name;
    const without = model.without ? `, without ${model.without}` : "";
    this.about = `${model.architecture}${without}, trained on ${model.benchmark}`;
    this.find(".about").textContent = this.about;
    this.choose = choose;
    this.step = 0;
    this.find(".matrix select").addEventListener("change", () => this.drawMatrix());
    watch(this.find(".matrix canvas"), (x, y) => this.readMatrix(x, y));
  }

  fail(message) {
    this.find(".columns").hidden = true;
    this.find(".problem").textContent = message;
    this.find(".problem").hidden = false;
  }

  show(raw) {
    this.record = unpack(raw);
    const { parameters, seconds } = raw;
    this.find(".about").textContent =
      `${this.about} · ${parameters.toLocaleString("en")} parameters · ` +
      `${(1000 * seconds).toFixed(0)} ms`;
    this.listInput();
    this.listOutput();
    this.charts = this.makeCharts();
    this.offerMatrices();
  }

  get length() {
    return this.record ? this.record.output.length : 0;
  }

  // Input and output tokens

  listInput() {
    const { tokens, arrays } = this.record;
    const strip = this.find(".input");
    this.find(".legend").hidden = !arrays.roles;
    strip.replaceChildren(
      ...tokens.map((token, i) => {
        const chip = element("button", "token", token);
        chip.type = "button";
        const lines = [`${token} · position ${i}`];
        if (arrays.roles) {
          const shares = [...arrays.roles.row(i)];
          const role = shares.indexOf(Math.max(...shares));
          chip.classList.add(`role-${role}`);
          chip.dataset.role = ROLES[role];
          chip.style.setProperty("--share", shares[role]);
          lines.push(...shares.map((p, r) => `${ROLES[r]} ${percent(p, 1)}`));
        }
        chip.setAttribute("aria-label", lines.join(", "));
        pointed(chip, lines);
        return chip;
      }),
    );
    roving(strip);
  }

  listOutput() {
    const { output, expected, confidence } = this.record;
    const wrong = output.filter((token, t) => token !== expected[t]).length;
    const missing = Math.max(0, expected.length - output.length);
    const verdict = this.find(".verdict");
    verdict.textContent =
      wrong + missing === 0
        ? "✓ as the exact solver says"
        : `✗ ${wrong} wrong` + (missing ? `, ${missing} missing` : "");
    verdict.classList.toggle("wrong", wrong + missing > 0);
    const strip = this.find(".output");
    const chips = output.map((token, t) => {
      const chip = element("button", "token", token);
      chip.type = "button";
      const lines = [`${token} · step ${t + 1}`, `probability ${percent(confidence[t], 2)}`];
      if (token !== expected[t]) {
        chip.classList.add("wrong");
        const due = expected[t] ?? "nothing more";
        lines.push(`wrong: the exact solver says ${due}`);
        chip.append(element("small", "", due));
      }
      chip.setAttribute("aria-label", lines.join(", "));
      pointed(chip, lines, () => this.choose(t));
      chip.addEventListener("click", () => this.choose(t));
      return chip;
    });
    for (const token of expected.slice(output.length)) {
      const gap = element("span", "token wrong missing", "∅");
      gap.append(element("small", "", token));
      gap.title = `missing: the exact solver says ${token}`;
      chips.push(gap);
    }
    strip.replaceChildren(...chips);
    roving(strip);
  }

  // The step

  go(step) {
    this.step = Math.min(step, this.length - 1);
    const { ways, tokens } = this.record;
    const way = ways[this.step];
    [...this.find(".output").children].forEach((chip, t) => {
      if (t === this.step) chip.setAttribute("aria-current", "step");
      else chip.removeAttribute("aria-current");
    });
    [...this.find(".input").children].forEach((chip, i) => {
      for (const part of PARTS) chip.classList.toggle(part, way[part] === i);
    });
    const said = (part, position) => `${part} ${tokens[position]} (${position})`;
    const stages = [];
    if (way.query !== null) stages.push(said("query", way.query));
    if (way.key !== null) stages.push(said("key", way.key));
    if (way.offset !== null) stages.push(`offset ${way.offset} from (${way.datum - way.offset})`);
    if (way.datum !== null) stages.push(said("datum", way.datum));
    this.find(".way").textContent = stages.join(" → ") || "this model does not point";
    this.drawWay();
    this.charts.forEach((chart) => chart());
    this.listLogits();
    this.drawMatrix();
  }

  /** Arcs over the input: the model's own way, and dashed the true one where it differs. */
  drawWay() {
    const way = this.record.ways[this.step];
    const truth = this.record.true_ways[this.step];
    const svg = this.find("svg");
    const base = svg.getBoundingClientRect();
    const chips = this.find(".input").children;
    const stops = ({ query, key, datum }) => [query, key, datum].filter((at) => at !== null);
    const place = (at) => {
      const box = chips[at].getBoundingClientRect();
      return [box.left + box.width / 2 - base.left, box.top - base.top];
    };
    const arcs = (positions, style) =>
      positions.slice(1).map((to, i) => {
        const [[x0, y0], [x1, y1]] = [place(positions[i]), place(to)];
        const rise = Math.min(34, 12 + Math.abs(x1 - x0) / 8);
        const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
        const peak = Math.min(y0, y1) - rise;
        path.setAttribute("d", `M${x0},${y0} C${x0},${peak} ${x1},${peak} ${x1},${y1 - 2}`);
        path.setAttribute("class", style);
        path.setAttribute("marker-end", "url(#arrow)");
        path.dataset.from = positions[i];
        path.dataset.to = to;
        return path;
      });
    const [own, right] = [stops(way), truth ? stops(truth) : []];
    const differs = truth && right.join() !== own.join();
    svg.replaceChildren(...arcs(own, "own"), ...(differs ? arcs(right, "true") : []));
  }

  makeCharts() {
    const { arrays, tokens } = this.record;
    const offsets = arrays.v_ind && Array.from({ length: arrays.v_ind.columns }, (_, i) => `${i}`);
    const wanted = [
      ["v_pw", "v_pw: weight on each position as a query", tokens],
      ["v_attn", "v_attn: weight on each position as an index", tokens],
      ["v_ind", "v_ind: weight on each offset", offsets],
      ["v_arr", "v_arr: weight on each position as the array's first element", tokens],
      ["positions", arrays.m_dp ? V_DW : "what each position gives its token", tokens],
    ].filter(([name]) => arrays[name]);
    const home = this.find(".bars");
    home.replaceChildren();
    return wanted.map(([name, title, names]) => {
      const figure = element("figure");
      const canvas = element("canvas");
      canvas.setAttribute("role", "img");
      const caption = element("figcaption");
      figure.append(caption, canvas);
      home.append(figure);
      let values, hit;
      watch(canvas, (x) => {
        const i = hit(x);
        return i === null ? null : [`${names[i]} · ${i}`, `${name} ${short(values[i])}`];
      });
      return () => {
        const way = this.record.ways[this.step];
        values = [...arrays[name].row(name === "v_arr" ? 0 : this.step)];
        let told = title;
        if (name === "positions" && arrays.resolver) {
          // They are parts of logits, of which only the differences count.
          const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
          values = values.map((value) => value - mean);
          told += `, less their mean ${short(mean)}`;
        }
        caption.textContent = told;
        const start = way.offset === null ? null : way.datum - way.offset;
        const marks = {
          v_ind: [way.offset],
          v_arr: [start],
        }[name] ?? PARTS.map((part) => way[part]);
        const most = values.indexOf(Math.max(...values));
        const largest = `largest ${short(values[most])} at ${names[most]}`;
        canvas.setAttribute("aria-label", `${told}; ${largest}`);
        hit = barChart(canvas, { values, names, marks: new Set(marks) });
      };
    });
  }

  listLogits() {
    const { arrays, names, output, expected } = this.record;
    const logits = [...arrays.logits.row(this.step)];
    const best = Math.max(...logits);
    const total = logits.reduce((sum, x) => sum + Math.exp(x - best), 0);
    const chosen = names.indexOf(output[this.step]);
    const due = names.indexOf(expected[this.step]);
    const order = [...logits.keys()].sort((a, b) => logits[b] - logits[a]);
    const listed = order.slice(0, LIKELIEST);
    if (due >= 0 && !listed.includes(due)) listed.push(due);
    const columns = [arrays.vocabulary, arrays.resolver, arrays.logits].map((array) =>
      array ? [...array.row(this.step)] : null,
    );
    const span = Math.max(
      ...listed.flatMap((i) => columns.map((c) => (c ? Math.abs(c[i] - c[chosen]) : 0))),
    );
    this.find(".logits tbody").replaceChildren(
      ...listed.map((i) => {
        const row = element("tr", i === chosen ? "chosen" : "");
        const head = element("th", "", names[i]);
        head.scope = "row";
        row.append(head);
        for (const values of columns) {
          const cell = element("td", "", values ? short(values[i]) : "–");
          if (values && span) {
            const bar = element("span", values[i] < values[chosen] ? "bar less" : "bar more");
            bar.style.width = `${(50 * Math.abs(values[i] - values[chosen])) / span}%`;
            cell.append(bar);
          }
          row.append(cell);
        }
        row.append(element("td", "", percent(Math.exp(logits[i] - best) / total, 2)));
        return row;
      }),
    );
  }

  // The matrices

  offerMatrices() {
    const offered = offeredPictures(this.record.arrays);
    const select = this.find(".matrix select");
    select.replaceChildren(...offered.map(([name, title]) => new Option(title, name)));
    this.find(".matrix").hidden = offered.length === 0;
  }

  drawMatrix() {
    if (this.find(".matrix").hidden) return;
    const shown = picture(this.find(".matrix select").value, this.record, this.step);
    const canvas = this.find(".matrix canvas");
    this.shown = { ...shown, hit: heatMap(canvas, shown) };
    const { matrix, mark, rows, columns, title } = shown;
    canvas.dataset.row = mark.row ?? "";
    canvas.dataset.column = mark.column ?? "";
    canvas.dataset.cells = JSON.stringify(mark.cells);
    let told = `${title}, ${matrix.rows} × ${matrix.columns}`;
    if (mark.row !== null && mark.column !== null) {
      const value = matrix.at(mark.row, mark.column);
      const above = matrix.column(mark.column).filter((other) => other > value).length;
      told =
        `${title}[${rows[mark.row]}, ${columns[mark.column]}] = ${short(value)}, ` +
        `number ${above + 1} of ${matrix.rows} in its column`;
    }
    this.find(".readout").textContent = told;
    canvas.setAttribute("aria-label", told);
  }

  readMatrix(x, y) {
    const found = this.shown?.hit(x, y);
    if (!found) return null;
    const [row, column] = found;
    const { rows, columns, rowTitle, columnTitle, matrix, title } = this.shown;
    return [
      `${rowTitle} ${rows[row]} · ${row}`,
      `${columnTitle} ${columns[column]} · ${column}`,
      `${title} ${short(matrix.at(row, column))}`,
    ];
  }
}

// What the page knows: asked of the server, or baked into the file it was exported to.
"use strict";

const by = (id) => document.getElementById(id);
const baked = JSON.parse(by("baked")?.textContent ?? "null");

const TRIES = 5; // while the server is busy

/** The server's answer to a GET, or to a POST if there is a body; its error as an Error. */
async function ask(path, body, tries = TRIES) {
  const post = {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  };
  let response;
  try {
    response = await fetch(path, body === undefined ? {} : post);
  } catch {
    throw new Error("the server does not answer: is permnet explore still running?");
  }
  if (response.status === 503 && tries > 1) {
    await new Promise((wake) => setTimeout(wake, 1000 * response.headers.get("Retry-After")));
    return ask(path, body, tries - 1);
  }
  const answer = await response.json().catch(() => ({ error: response.statusText }));
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

/** A matrix or a row of them: `at(i, j)`, `row(i)`. */
class Matrix {
  constructor(rows, columns, values) {
    Object.assign(this, { rows, columns, values });
  }

  static unpack({ shape, base64 }) {
    const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
    return new Matrix(shape[0], shape[1], new Float32Array(bytes.buffer));
  }

  /** The product of a column and a row. */
  static outer(column, row) {
    const values = new Float32Array(column.length * row.length);
    column.forEach((x, i) => row.forEach((y, j) => (values[i * row.length + j] = x * y)));
    return new Matrix(column.length, row.length, values);
  }

  at(i, j) {
    return this.values[i * this.columns + j];
  }

  row(i) {
    return this.values.subarray(i * this.columns, (i + 1) * this.columns);
  }

  column(j) {
    return Float32Array.from({ length: this.rows }, (_, i) => this.at(i, j));
  }

  /** Smallest and largest value. */
  get range() {
    let [low, high] = [Infinity, -Infinity];
    for (const value of this.values) {
      if (value < low) low = value;
      if (value > high) high = value;
    }
    return [low, high];
  }
}

/** A record with its arrays as matrices. */
function unpack(record) {
  const arrays = Object.entries(record.arrays).map(([name, raw]) => [name, Matrix.unpack(raw)]);
  return { ...record, arrays: Object.fromEntries(arrays) };
}

/** A new element with a class and a text: the only way user strings enter the page. */
function element(tag, style = "", text = "") {
  const made = document.createElement(tag);
  if (style) made.className = style;
  made.textContent = text;
  return made;
}

/** A number in at most four digits. */
function short(value) {
  const size = Math.abs(value);
  let text = value.toExponential(1);
  if (size >= 1000) text = value.toFixed(0);
  else if (size >= 0.001 || size === 0) text = value.toPrecision(3);
  return text.replace("-", "−");
}

/** A share of 1 in per cent. */
function percent(share, digits) {
  return `${(100 * share).toFixed(digits)} %`;
}

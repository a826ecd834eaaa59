// Pictures on canvas: a heat map and a row of bars, in the page's colours.
"use strict";

// Dark blue to yellow through grey: grows in lightness all the way, and is told apart by those
// who do not see red or green.
const SCALE = [[0, 34, 78], [67, 78, 108], [125, 124, 120], [188, 174, 108], [254, 232, 56]];

function colour(share) {
  const at = Math.min(Math.floor(share * (SCALE.length - 1)), SCALE.length - 2);
  const part = share * (SCALE.length - 1) - at;
  return SCALE[at].map((low, i) => Math.round(low + (SCALE[at + 1][i] - low) * part));
}

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const LABEL = "11px ui-monospace, monospace";
const WORDS = "12px system-ui, sans-serif";

/** A context to draw in at the screen's own resolution. */
function context(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.height = `${height}px`;
  const made = canvas.getContext("2d");
  made.scale(ratio, ratio);
  made.clearRect(0, 0, width, height);
  return made;
}

const images = new WeakMap(); // of matrices: painted once, whatever is marked on them

function image(matrix) {
  if (!images.has(matrix)) {
    const [low, high] = matrix.range;
    const pixels = new ImageData(matrix.columns, matrix.rows);
    matrix.values.forEach((value, i) => {
      const [r, g, b] = colour((value - low) / (high - low || 1));
      pixels.data.set([r, g, b, 255], 4 * i);
    });
    const painted = document.createElement("canvas");
    [painted.width, painted.height] = [matrix.columns, matrix.rows];
    painted.getContext("2d").putImageData(pixels, 0, 0);
    images.set(matrix, painted);
  }
  return images.get(matrix);
}

/**
 * A matrix with names along both sides, a scale under it, and marks: a row, a column, cells.
 * Returns a function from a point on the canvas to the cell under it.
 */
function heatMap(canvas, { matrix, title, rows, columns, rowTitle, columnTitle, mark }) {
  const [left, top, below] = [58, 58, 50];
  const width = canvas.parentElement.clientWidth;
  let cellWidth = Math.min(26, (width - left - 4) / matrix.columns);
  let cellHeight = Math.min(26, 430 / matrix.rows);
  if (matrix.rows === matrix.columns) cellWidth = cellHeight = Math.min(cellWidth, cellHeight);
  const [across, down] = [cellWidth * matrix.columns, cellHeight * matrix.rows];
  const draw = context(canvas, width, top + down + below);

  draw.imageSmoothingEnabled = false;
  draw.drawImage(image(matrix), left, top, across, down);

  const ring = (x, y, w, h, thick) => {
    draw.lineWidth = thick + 2;
    draw.strokeStyle = "#000";
    draw.strokeRect(x, y, w, h);
    draw.lineWidth = thick;
    draw.strokeStyle = "#fff";
    draw.strokeRect(x, y, w, h);
  };
  const box = (row, column, h, w, thick) => {
    const [x, y] = [left + column * cellWidth - thick, top + row * cellHeight - thick];
    ring(x, y, w * cellWidth + 2 * thick, h * cellHeight + 2 * thick, thick);
  };
  if (mark.row !== null) box(mark.row, 0, 1, matrix.columns, 0.5);
  if (mark.column !== null) box(0, mark.column, matrix.rows, 1, 0.5);
  for (const [row, column] of mark.cells) box(row, column, 1, 1, 1.5);

  // Names of all rows and columns where there is room, of those marked always.
  const name = (text, x, y, turn, strong) => {
    draw.save();
    draw.translate(x, y);
    if (turn) draw.rotate(-Math.PI / 2);
    draw.font = strong ? `bold ${LABEL}` : LABEL;
    draw.fillStyle = css(strong ? "--ink" : "--quiet");
    draw.textAlign = turn ? "left" : "right";
    draw.textBaseline = "middle";
    draw.fillText(text.length > 7 ? `${text.slice(0, 6)}…` : text, 0, 0);
    draw.restore();
  };
  rows.forEach((text, i) => {
    const marked = i === mark.row;
    const near = mark.row !== null && !marked && Math.abs(i - mark.row) * cellHeight < 9;
    if (marked || (cellHeight >= 10 && !near))
      name(text, left - 5, top + (i + 0.5) * cellHeight, false, marked);
  });
  columns.forEach((text, j) => {
    const marked = j === mark.column;
    const near = mark.column !== null && !marked && Math.abs(j - mark.column) * cellWidth < 9;
    if (marked || (cellWidth >= 10 && !near))
      name(text, left + (j + 0.5) * cellWidth, top - 5, true, marked);
  });

  draw.font = WORDS;
  draw.fillStyle = css("--quiet");
  draw.textBaseline = "alphabetic";
  draw.fillText(`${columnTitle} →`, left, 12);
  draw.save();
  draw.translate(11, top);
  draw.rotate(-Math.PI / 2);
  draw.textAlign = "right";
  draw.fillText(`← ${rowTitle}`, 0, 0);
  draw.restore();

  const [low, high] = matrix.range;
  const long = Math.min(220, width - left - 4);
  for (let x = 0; x < long; x++) {
    draw.fillStyle = `rgb(${colour(x / long)})`;
    draw.fillRect(left + x, top + down + 12, 1.5, 9);
  }
  draw.fillStyle = css("--quiet");
  draw.textAlign = "left";
  draw.fillText(short(low), left, top + down + 36);
  draw.textAlign = "right";
  draw.fillText(short(high), left + long, top + down + 36);
  draw.textAlign = "center";
  draw.fillText(title, left + long / 2, top + down + 36);

  return (x, y) => {
    const [row, column] = [Math.floor((y - top) / cellHeight), Math.floor((x - left) / cellWidth)];
    const inside = row >= 0 && row < matrix.rows && column >= 0 && column < matrix.columns;
    return inside ? [row, column] : null;
  };
}

/**
 * Values as bars from a common zero, those in `marks` (a set) in the colour of what is chosen.
 * Returns a function from a point on the canvas to the bar under it.
 */
function barChart(canvas, { values, names, marks }) {
  const [left, high, below] = [58, 52, 16];
  const width = canvas.parentElement.clientWidth;
  const step = Math.min(26, (width - left - 4) / values.length);
  const draw = context(canvas, width, high + below + 6);
  const most = Math.max(0, ...values);
  const least = Math.min(0, ...values);
  const place = (value) => 3 + (high * (most - value)) / (most - least || 1);

  draw.fillStyle = css("--rule");
  draw.fillRect(left, place(0) - 0.5, step * values.length, 1);
  draw.font = LABEL;
  values.forEach((value, i) => {
    const marked = marks.has(i);
    draw.fillStyle = css(marked ? "--accent" : "--bar");
    const [from, to] = [Math.min(place(value), place(0)), Math.max(place(value), place(0))];
    draw.fillRect(left + i * step, from, Math.max(step - (step > 4 ? 1 : 0), 0.8), to - from);
    if (marked || step >= 14) {
      draw.textAlign = "center";
      draw.fillStyle = css(marked ? "--ink" : "--quiet");
      const text = names[i];
      draw.fillText(text.length > 4 && !marked ? "·" : text, left + (i + 0.5) * step, high + 17);
    }
  });
  draw.textAlign = "right";
  draw.fillStyle = css("--quiet");
  draw.textBaseline = "middle";
  if (most > 0) draw.fillText(short(most), left - 6, Math.max(place(most), 6));
  if (least < 0) draw.fillText(short(least), left - 6, Math.min(place(least), high));

  return (x) => {
    const i = Math.floor((x - left) / step);
    return i >= 0 && i < values.length ? i : null;
  };
}

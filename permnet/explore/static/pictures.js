// The matrices that a record offers, with the names along them and what a step marks in them.
"use strict";

const PICTURES = {
  m_dp: "M_dp: from queries to data",
  m_dk: "M_dk: from keys to data",
  m_kp: "M_kp: from queries to keys",
  m_prob: "M_prob: v_arr × v_ind",
  index_embedding: "Index embedding",
  attention: "Query attention",
  positions: "What each position gives its token",
};

/** Names and titles of the pictures that can be drawn from these arrays. */
function offeredPictures(arrays) {
  const there = (name) => arrays[name] || (name === "m_prob" && arrays.v_arr);
  return Object.entries(PICTURES).filter(([name]) => there(name));
}

/** What `heatMap` draws for a step. */
function picture(name, { arrays, tokens, names, output, ways }, step) {
  const { query, key, datum, offset } = ways[step];
  const count = (length) => Array.from({ length }, (_, i) => `${i}`);
  const made = (title, matrix, [rowTitle, rows, row], [columnTitle, columns, column]) => ({
    title,
    matrix,
    rows,
    columns,
    rowTitle,
    columnTitle,
    mark: { row, column, cells: row === null || column === null ? [] : [[row, column]] },
  });
  const data = ["datum", tokens, datum];
  const keys = ["key", tokens, key];
  const queries = ["query", tokens, query];
  if (name === "m_dp") return made("M_dp", arrays.m_dp, data, queries);
  if (name === "m_dk") return made("M_dk", arrays.m_dk, data, keys);
  if (name === "m_kp") return made("M_kp", arrays.m_kp, keys, queries);
  const steps = ["step", output, step];
  if (name === "attention")
    return made("attention", arrays.attention, steps, ["position", tokens, null]);
  if (name === "positions")
    return made("weight", arrays.positions, steps, ["position", tokens, datum]);
  const offsets = ["offset", count(arrays.v_ind.columns), offset];
  if (name === "index_embedding") {
    const token = query === null ? null : names.indexOf(tokens[query]);
    return made("weight", arrays.index_embedding, ["token", names, token], offsets);
  }
  const start = offset === null ? null : datum - offset;
  const matrix = Matrix.outer([...arrays.v_arr.row(0)], [...arrays.v_ind.row(step)]);
  const shown = made("M_prob", matrix, ["first element", tokens, start], offsets);
  if (datum !== null)
    // The antidiagonal that is summed for the datum.
    shown.mark.cells = offsets[1].map((_, j) => [datum - j, j]).filter(([i]) => i >= 0);
  return shown;
}

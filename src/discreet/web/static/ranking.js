// Scores of all items, the best of them, how sure they are, and which ratings are behind them.

import { foldIn, shown } from "./fold_in.js";
import { weighTable } from "./table.js";

// Scores of all items for somebody's ratings, and what each of these adds to the score of one item.
export function weigh(side, items, values) {
  if (side.table !== null) return weighTable(side, items, values);
  const folded = foldIn(side, items, values);
  let parts = null;
  return {
    scores: scores(side, folded.coefficients),
    pulls: (item) => pulls(side, parts ??= folded.parts(), item),
  };
}

// One number for each item; the order of a list follows these, before they are brought into the rating range.
export function scores(side, coefficients) {
  const { count, rank, factors, offsets, centre } = side;
  const result = new Float64Array(count);
  const vector = Float64Array.from(coefficients).subarray(1);
  for (let item = 0, place = 0; item < count; item++) {
    let sum = 0;
    for (let k = 0; k < rank; k++, place++) sum += factors[place] * vector[k];
    result[item] = centre + offsets[item] + shown(side, item) * coefficients[0] + sum;
  }
  return result;
}

// The n best that are not seen; equal scores by rising position.
export function best(values, n, seen) {
  const kept = [];
  for (let item = 0; item < values.length; item++) {
    const full = kept.length === n;
    if ((full && !(values[item] > values[kept[n - 1]])) || seen.has(item)) continue;
    let place = full ? n - 1 : kept.length;
    while (place > 0 && values[kept[place - 1]] < values[item]) place--;
    kept.splice(place, 0, item);
    if (full) kept.pop();
  }
  return kept;
}

// A predicted rating lies in the range of the ratings; scores stay as they are.
export function clipped(side, value) {
  return side.goal === "rate" ? Math.min(Math.max(value, side.scale[0]), side.scale[1]) : value;
}

// What each rating adds to an item's score, in the order of the history.
export function pulls(side, parts, item) {
  const factors = side.factors.subarray(item * side.rank, (item + 1) * side.rank);
  return parts.map((part) => {
    let sum = shown(side, item) * part[0];
    for (let k = 0; k < side.rank; k++) sum += factors[k] * part[1 + k];
    return sum;
  });
}

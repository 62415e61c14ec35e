// From a person's own history to their coefficients: the rules of discreet.model.fold_in, one by one.
//
// A score is centre + offset_j + shown_j c_0 + v_j . (c_1, ..., c_rank). Every rule also says what each rating adds to
// the coefficients: `base` and all `parts` together are the coefficients, so their products with an item are what each
// rating adds to its score.

import { factorise, substitute } from "./linear.js";
import { opinion } from "./table.js";

// items: positions in rising order; values: ratings (1 for a click). Gives { coefficients, base, parts() }.
export function foldIn(side, items, values) {
  const order = Array.from(items, (_, k) => k).sort((a, b) => items[a] - items[b]);
  const sorted = order.map((k) => items[k]);
  const given = order.map((k) => (side.goal === "rank" ? opinion(side, values[k]) : values[k]));
  const found = RULES[side.rule.kind](side, sorted, given);
  const parts = () => {
    const inOrder = found.parts();
    const result = new Array(items.length);
    order.forEach((k, place) => { result[k] = inOrder[place]; });
    return result;
  };
  return { coefficients: found.coefficients, base: found.base, parts };
}

// How much an item shows of the first coefficient.
export function shown(side, item) {
  if (side.rule.kind === "OwnMean") return side.share[item];
  return side.rule.kind === "Ridge" || side.rule.kind === "Clicks" ? 1 : 0;
}

function row(side, item) {
  return side.factors.subarray(item * side.rank, (item + 1) * side.rank);
}

const above = (side, items, values) => items.map((item, k) => values[k] - side.centre - side.offsets[item]);

const growth = (items, exponent) => Math.max(items.length, 1) ** exponent;

const padded = (vector, first = 0) => Float64Array.from([first, ...vector]);

// (sum f f^T + gram + diag(ridge)) x = sum t f + rhs, and what each t adds to x.
function solve(rows, targets, ridge, gram = null, rhs = null) {
  const d = ridge.length;
  const A = gram === null ? new Float64Array(d * d) : Float64Array.from(gram);
  const b = rhs === null ? new Float64Array(d) : Float64Array.from(rhs);
  rows.forEach((f, k) => {
    for (let i = 0; i < d; i++) {
      b[i] += targets[k] * f[i];
      for (let j = 0; j <= i; j++) A[i * d + j] += f[i] * f[j];
    }
  });
  for (let i = 0; i < d; i++) A[i * d + i] += ridge[i];
  const regular = factorise(A, d);
  const solved = (right) => (regular ? substitute(A, d, right) : new Float64Array(d));
  return {
    x: solved(b),
    base: solved(rhs === null ? new Float64Array(d) : rhs),
    parts: () => rows.map((f, k) => solved(Float64Array.from(f, (one) => targets[k] * one))),
  };
}

function ridge(side, items, values) {
  const { offset_penalty: offset, factor_penalty: factor, count_exponent: exponent } = side.rule;
  const penalties = new Float64Array(1 + side.rank).fill(factor * growth(items, exponent));
  penalties[0] = offset * growth(items, exponent);
  const rows = items.map((item) => padded(row(side, item), 1));
  const { x, base, parts } = solve(rows, above(side, items, values), penalties);
  return { coefficients: x, base, parts };
}

function clicks(side, items, values) {
  const { gravity, factor_penalty: factor, count_exponent: exponent } = side.rule;
  const penalties = new Float64Array(side.rank).fill(factor * growth(items, exponent));
  const targets = items.map((item, k) => values[k] - side.offsets[item]);
  const gram = side.squares.map((one) => gravity * one);
  const rhs = side.product.map((one) => -gravity * one);
  const { x, base, parts } = solve(items.map((item) => row(side, item)), targets, penalties, gram, rhs);
  return { coefficients: padded(x), base: padded(base), parts: () => parts().map((part) => padded(part)) };
}

function ownMean(side, items, values) {
  const { factor_penalty: factor, count_exponent: exponent } = side.rule;
  const penalties = new Float64Array(side.rank).fill(factor * growth(items, exponent));
  const { x, base, parts } = solve(items.map((item) => row(side, item)), above(side, items, values), penalties);
  const shares = values.map((value) => (value - side.centre) / values.length);
  const mean = shares.reduce((sum, one) => sum + one, 0);
  return {
    coefficients: padded(x, mean),
    base: padded(base),
    parts: () => parts().map((part, k) => padded(part, shares[k])),
  };
}

const SWEEPS = 200;
const TOLERANCE = 1e-5;

// Coordinate descent as discreet.kernels.nonnegative does it; on the coordinates that stay above zero the solution is
// linear in the ratings, which gives the parts.
function nonNegative(side, items, values) {
  const d = side.rank;
  const penalty = side.rule.factor_penalty * growth(items, side.rule.count_exponent);
  const targets = above(side, items, values);
  const rows = items.map((item) => row(side, item));
  const gram = new Float64Array(d * d);
  const right = new Float64Array(d);
  rows.forEach((f, k) => {
    for (let i = 0; i < d; i++) {
      right[i] += targets[k] * f[i];
      for (let j = 0; j < d; j++) gram[i * d + j] += f[i] * f[j];
    }
  });
  const u = new Float64Array(d);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    let largest = 0;
    let moved = 0;
    for (let i = 0; i < d; i++) {
      const next = Math.max(0, u[i] + (right[i] - penalty * u[i]) / (gram[i * d + i] + penalty));
      const step = next - u[i];
      if (step !== 0) {
        for (let j = 0; j < d; j++) right[j] -= step * gram[j * d + i];
        u[i] = next;
      }
      moved = Math.max(moved, Math.abs(step));
      largest = Math.max(largest, next);
    }
    if (moved <= TOLERANCE * largest) break;
  }
  const parts = () => {
    const kept = Array.from(u.keys()).filter((i) => u[i] > 0);
    const narrow = rows.map((f) => kept.map((i) => f[i]));
    return solve(narrow, targets, new Float64Array(kept.length).fill(penalty)).parts().map((part) => {
      const whole = new Float64Array(1 + d);
      kept.forEach((i, place) => { whole[1 + i] = part[place]; });
      return whole;
    });
  };
  return { coefficients: padded(u), base: new Float64Array(1 + d), parts };
}

const norm = (vector) => Math.sqrt(vector.reduce((sum, one) => sum + one * one, 0));

// The steps of a Frank-Wolfe run, replayed. Bounds on rows shrink everything by common factors; given those, each
// rating's share of the row moves on its own, which gives the parts.
function frankWolfe(side, items, values) {
  const { nuclear_bound: nuclear, row_bound: bound } = side.rule;
  const steps = side.rank;
  const targets = above(side, items, values);
  const rows = items.map((item) => row(side, item));
  const decays = [];
  const clips = [];
  const shrinks = [];
  const weights = new Float64Array(1 + steps);
  let fit = targets.map(() => 0);
  for (let t = 0; t < steps; t++) {
    const { gain, decay } = stride(side.eigenvalues[t], nuclear, steps);
    const away = fit.map((one, k) => one - targets[k]);
    const clip = Math.min(1, bound / Math.max(norm(away), 1e-300));
    const weight = -gain * away.reduce((sum, one, k) => sum + one * clip * rows[k][t], 0);
    const moved = fit.map((one, k) => decay * one + weight * rows[k][t]);
    const shrink = Math.min(1, bound / Math.max(norm(moved), 1e-300));
    fit = moved.map((one) => shrink * one);
    weights[1 + t] = weight;
    for (let s = 0; s <= t; s++) weights[1 + s] *= shrink * (s < t ? decay : 1);
    decays.push(decay);
    clips.push(gain * clip);
    shrinks.push(shrink);
  }
  const alone = (only) => {
    const part = new Float64Array(1 + steps);
    let own = targets.map(() => 0);
    for (let t = 0; t < steps; t++) {
      const along = own.reduce((sum, one, k) => sum + (one - (k === only ? targets[k] : 0)) * rows[k][t], 0);
      const weight = -clips[t] * along;
      own = own.map((one, k) => shrinks[t] * (decays[t] * one + weight * rows[k][t]));
      part[1 + t] = weight;
      for (let s = 0; s <= t; s++) part[1 + s] *= shrinks[t] * (s < t ? decays[t] : 1);
    }
    return part;
  };
  return { coefficients: weights, base: new Float64Array(1 + steps), parts: () => targets.map((_, k) => alone(k)) };
}

function stride(eigenvalue, nuclear, steps) {
  if (!(eigenvalue > 0)) return { gain: 0, decay: 1 };
  return { gain: nuclear / (steps * Math.sqrt(eigenvalue)), decay: 1 - 1 / steps };
}

const RULES = {
  Ridge: ridge, Clicks: clicks, OwnMean: ownMean, NonNegative: nonNegative, FrankWolfeReplay: frankWolfe,
};

// A table of weights: what each title of a history adds to others (discreet.web.table says how it is packed).

const ON = 255;

// Compressed rows over all titles.
export function readTable(arrays, count) {
  const [head, lengths, steps] = ["head", "lengths", "steps"].map((name) => arrays[name].data);
  const packed = arrays.weights.data;
  const scales = arrays.weight_scales?.data ?? null;
  const largest = packed instanceof Int8Array ? 127 : 32767;
  const starts = new Int32Array(count + 1);
  head.forEach((item, row) => { starts[item + 1] = lengths[row]; });
  for (let item = 0; item < count; item++) starts[item + 1] += starts[item];
  const others = new Int32Array(packed.length);
  const weights = new Float32Array(packed.length);
  let from = 0;
  let entry = 0;
  for (const length of lengths) {
    let place = -1;
    for (let k = 0; k < length; k++, entry++) {
      let step = 1;
      for (; steps[from] === ON; from++) step += ON;
      place += step + steps[from++];
      others[entry] = head[place];
      const value = packed[entry];
      weights[entry] = scales === null ? value : ((value * Math.abs(value)) / largest ** 2) * scales[place];
    }
  }
  return { starts, others, weights };
}

// How far a rating speaks for more of the kind, or against it; without ratings 1 is liked and -1 is not for me.
export function opinion({ scale, opinions }, value) {
  if (scale === null) return value < 0 ? opinions[0] : opinions[1];
  const [low, high] = scale;
  const along = ((value - low) / (high - low)) * (opinions.length - 1);
  const place = Math.min(Math.floor(along), opinions.length - 2);
  return opinions[place] + (opinions[place + 1] - opinions[place]) * (along - place);
}

// Scores of all titles, and what each rating adds to one of them.
export function weighTable(side, items, values) {
  const { table: { starts, others, weights } } = side;
  const scores = Float64Array.from(side.offsets);
  const said = values.map((value) => opinion(side, value));
  const order = Array.from(items, (_, k) => k).sort((a, b) => items[a] - items[b]);
  for (const k of order) {
    for (let entry = starts[items[k]]; entry < starts[items[k] + 1]; entry++) {
      scores[others[entry]] += said[k] * weights[entry];
    }
  }
  const pulls = (item) => Array.from(items, (one, k) => {
    const entry = others.subarray(starts[one], starts[one + 1]).indexOf(item);
    return entry < 0 ? 0 : said[k] * weights[starts[one] + entry];
  });
  return { scores, pulls };
}

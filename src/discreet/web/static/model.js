// The released model as `discreet.web.packed` packs it: safetensors, compressed, with everything else as JSON.

import { readTable } from "./table.js";

const KINDS = {
  I8: Int8Array, U8: Uint8Array, I16: Int16Array, I32: Int32Array, F32: Float32Array, F64: Float64Array,
};
const NAMES = ["none", "unknown", "guess"];

// Bytes of a file as it was before compression; a host may have unpacked it already.
export async function unpacked(bytes) {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

export function readModel(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = Number(view.getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
  const arrays = {};
  const start = bytes.byteOffset + 8 + length;
  const { __metadata__: words, ...tensors } = header;
  for (const [name, { dtype, shape, data_offsets: [from, to] }] of Object.entries(tensors)) {
    arrays[name] = { shape, data: new KINDS[dtype](bytes.buffer.slice(start + from, start + to)) };
  }
  const page = JSON.parse(words.page);
  if (page.format !== "discreet-page" || page.version !== 1) throw new Error("this page cannot read the model");
  return itemSide(page, arrays);
}

function itemSide(page, arrays) {
  const data = (name) => arrays[name]?.data ?? null;
  const count = page.titles.length;
  const common = { ...page, count, offsets: data("offsets"), order: data("order"), marks: null };
  if (!arrays.factors) return { ...common, table: readTable(arrays, count) };
  const rank = arrays.factors.shape[1];
  return {
    ...common,
    table: null,
    rank,
    factors: factors(arrays, count, rank),
    share: data("share"),
    squares: data("squares"),
    product: data("product"),
    eigenvalues: data("eigenvalues"),
    marks: data("marks") && Array.from(data("marks"), (number) => NAMES[number]),
  };
}

// Whole numbers times the scale of their item.
function factors(arrays, count, rank) {
  const { data } = arrays.factors;
  if (!arrays.factor_scales) return data;
  const scales = arrays.factor_scales.data;
  const whole = new Float32Array(count * rank);
  for (let item = 0, place = 0; item < count; item++) {
    for (let k = 0; k < rank; k++, place++) whole[place] = data[place] * scales[item];
  }
  return whole;
}

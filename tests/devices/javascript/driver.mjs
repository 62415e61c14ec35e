/* Runs the cases of a JSON file against the module: node driver.mjs MODULE CASES. Numbers that matter to the last bit
 * travel as 16 hexadecimal digits. */
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const js = await import(pathToFileURL(process.argv[2]));
const cases = JSON.parse(readFileSync(process.argv[3], "utf8"));

const bits = new DataView(new ArrayBuffer(8));
const double = (text) => (bits.setBigUint64(0, BigInt("0x" + text)), bits.getFloat64(0));
const hex = (value) => (bits.setFloat64(0, value), bits.getBigUint64(0).toString(16).padStart(16, "0"));
const bytes = (text) => js.fromHex(text);
const ratings = (pairs) => new Map(pairs.map(([item, value]) => [item, double(value)]));
const asked = (text) => js.Question.fromJson(bytes(text));
const side = (text) => (text === null ? null : js.ItemSide.fromBytes(bytes(text)));

/** Bytes that were written down, and how many of them were taken. */
class Tape {
  constructor(text) {
    this.left = bytes(text);
    this.used = 0;
    this.take = (count) => {
      if (count > this.left.length) throw new Error("the tape has ended");
      const taken = this.left.slice(0, count);
      this.left = this.left.slice(count);
      this.used += count;
      return taken;
    };
  }
}

const DO = {
  sha256: ({ data }) => js.toHex(js.sha256(bytes(data))),
  threshold: ({ epsilon }) => String(js.flipThreshold(double(epsilon))),
  question: ({ text }) => {
    const found = asked(text);
    return { json: found.toJson(), dimension: found.dimension };
  },
  terms: ({ text }) => js.Terms.fromJson(bytes(text)).toJson(),
  place: ({ text, device }) => {
    const found = asked(text);
    return [found.takesPart(bytes(device)), ...found.place(bytes(device))];
  },
  truth: ({ text, items, values, device, released }) =>
    hex(js.truth(asked(text), items, values.map(double), bytes(device), side(released))),
  answer: ({ text, rated, device, released, tape }) => {
    const coins = new Tape(tape);
    const bit = js.answer(asked(text), ratings(rated), bytes(device), side(released), coins.take);
    const { task, round } = asked(text);
    return { bit, used: coins.used, report: js.report(task, round, bytes(device), bit) };
  },
  side: ({ released }) => {
    const found = side(released);
    const arrays = ["popularity", "offsets", "factors"].map((name) => Array.from(found[name], hex));
    const rule = [found.centre, found.offsetPenalty, found.factorPenalty, ...found.range].map(hex);
    return [found.round, found.items, found.rank, arrays, rule];
  },
  recommend: ({ rated, released, range, n }) =>
    js.recommend(ratings(rated), side(released), range.map(double), n).map(([item, rating]) => [item, hex(rating)]),
  steps,
};

/** A device of its own, step by step; a step that is refused says so and the next one follows. */
async function steps({ tape, list }) {
  const coins = new Tape(tape);
  const device = new js.Device(new js.MemoryStore(), coins.take);
  const DEVICE = {
    rate: ({ rated }) => device.rate(ratings(rated)),
    limit: ({ epsilon }) => device.limit(epsilon),
    enrol: async ({ text }) => js.toHex(await device.enrol(js.Terms.fromJson(bytes(text)))),
    leave: ({ task }) => device.leave(task),
    answer: async ({ text }) => (({ bit, sent }) => [bit, sent])(await device.answer(asked(text))),
    sent: ({ task, round }) => device.markSent(task, round),
    transcript: () => device.transcript(),
  };
  const results = [];
  for (const step of list) {
    try {
      results.push((await DEVICE[step.do](step)) ?? null);
    } catch (error) {
      results.push({ refused: error.message });
    }
  }
  return { results, used: coins.used };
}

const results = [];
for (const one of cases) {
  try {
    results.push({ ok: await DO[one.do](one) });
  } catch (error) {
    const known = error instanceof js.Refused || error instanceof RangeError;
    results.push(known ? { refused: error.message } : { broken: error.stack });
  }
}
process.stdout.write(JSON.stringify(results));

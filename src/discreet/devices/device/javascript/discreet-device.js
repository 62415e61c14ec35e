/* A device in JavaScript: one ES module, no dependency, for browsers and Node.
 *
 * The same mechanism as the Python files beside it (question.py, item_side.py, answer.py,
 * store.py, client.py): given the same bytes and the same coins it gives the same answers, to the last
 * bit, and refuses the same things. tests/devices/javascript compares the two.
 *
 * Privacy. Unit: one person with all ratings. Relation: replace them all. What leaves is one bit a question, and
 * whatever the ratings each bit has a chance of at least 1 / (1 + e^epsilon) (proofs/rotated.md). Three things carry
 * that over to this language:
 *
 * - The coin. crypto.getRandomValues is the one source of randomness: the Web Crypto API demands cryptographically
 *   strong numbers, seeded by the operating system, in every browser and in Node; it is synchronous, never answers
 *   with fewer bytes than asked for, and throws instead of giving weak ones. Math.random is predictable (a few outputs
 *   of V8's generator give away the rest), and who predicts the coin reads the bit behind it. An answer takes exactly
 *   8 bytes, read as a big-endian number as Python's secrets.randbits(64) reads them, when it is drawn and never
 *   otherwise. A page whose scripts were replaced can replace the generator too: like any program, this one is only as
 *   honest as whoever serves it.
 * - The flip. How many of the 2^63 coins flip the bit is a whole number, computed with whole numbers alone: Math.exp
 *   may differ between engines, BigInt may not.
 * - The sign. It is made of +, -, * and / in the order of the Python code; IEEE 754 fixes their results. A division by
 *   zero, an error in Python, is one here: it makes a tie, which the coin decides.
 */

export const COIN_BYTES = 8;
export const DEVICE_ID_BYTES = 16;
export const KINDS = ["popularity", "offsets", "factors"];
export const PACE_SECONDS = 1;

const MAX_ITEMS = 1 << 22;
const MAX_COORDINATES = 1 << 26;
const MAX_QUESTION_BYTES = 4096;
const MAX_ROUNDS = 10000;
const MAX_EPSILON = 1000;
const MAX_HEADER = 4096;
const MAX_RANK = 64;
const TASK = /^[a-z0-9-]{1,64}$/;
const DIGEST = /^[0-9a-f]{64}$/;

/** Something came that is not of the agreed form, or an answer would be outside of what was agreed. */
export class Refused extends Error {}

function demand(holds, why) {
  if (!holds) throw new Refused(why);
}

/* ---- JSON from a server that is not trusted: one object, no field twice, no NaN or infinity; 1 is not 1.0 ---- */

/** A number that was written with a fraction or an exponent: Python reads it as a float, never as an int. */
class Float {
  constructor(value) {
    this.value = value;
  }
}

const SPACE = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?/y;
const TEXT = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const WORD = /true|false|null/y;
const DEEPEST = 100;

class Reader {
  constructor(text) {
    this.text = text;
    this.at = 0;
  }

  take(pattern) {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found !== null) this.at += found[0].length;
    return found;
  }

  next(sign) {
    this.take(SPACE);
    const there = this.text[this.at] === sign;
    if (there) this.at += 1;
    this.take(SPACE);
    return there;
  }

  value(depth) {
    demand(depth <= DEEPEST, "it is nested too deeply");
    if (this.next("{")) return this.object(depth);
    if (this.next("[")) return this.list(depth);
    const text = this.take(TEXT);
    if (text !== null) return JSON.parse(text[0]);
    const number = this.take(NUMBER);
    if (number !== null) return read(number);
    const word = this.take(WORD);
    demand(word !== null, `it is no JSON at character ${this.at}`);
    return JSON.parse(word[0]);
  }

  list(depth) {
    const found = [];
    if (this.next("]")) return found;
    do found.push(this.value(depth + 1));
    while (this.next(","));
    demand(this.next("]"), "a list has no end");
    return found;
  }

  object(depth) {
    const found = new Map();
    if (this.next("}")) return found;
    do {
      const name = this.take(TEXT);
      demand(name !== null && this.next(":"), "a field has no name");
      const key = JSON.parse(name[0]);
      demand(!found.has(key), "a field is given twice");
      found.set(key, this.value(depth + 1));
    } while (this.next(","));
    demand(this.next("}"), "an object has no end");
    return found;
  }
}

function read([text, fraction, exponent]) {
  if (fraction !== undefined || exponent !== undefined) return new Float(Number(text));
  const value = Number(text);
  return Number.isSafeInteger(value) ? value + 0 : BigInt(text);
}

/** The JSON object in a text or in bytes, as a Map; refused if it is anything else. */
function readObject(text) {
  const reader = new Reader(typeof text === "string" ? text : decode(text));
  reader.take(SPACE);
  const found = reader.value(0);
  reader.take(SPACE);
  demand(reader.at === reader.text.length, "there is more after the JSON");
  demand(found instanceof Map, "it is no object");
  return found;
}

function decode(bytes) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    throw new Refused("it is not UTF-8", { cause: error });
  }
}

const isNumber = (value) => value instanceof Float || typeof value === "number";
const toFloat = (value) => (value instanceof Float ? value.value : value);
const isWhole = (value, low, high) => Number.isInteger(value) && low <= value && value <= high;

function hasFields(fields, names) {
  return fields instanceof Map && fields.size === names.length && names.every((name) => fields.has(name));
}

/** Number as Python writes a float: the same shortest digits, another rule for exponents. */
function floatText(value) {
  if (Object.is(value, -0)) return "-0.0";
  if (value === 0) return "0.0";
  const [digits, power] = value.toExponential().split("e");
  const exponent = Number(power);
  if (exponent < -4 || exponent >= 16) {
    return `${digits}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
  }
  const sign = value < 0 ? "-" : "";
  const plain = digits.replace("-", "").replace(".", "");
  if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${plain}`;
  const whole = plain.slice(0, exponent + 1).padEnd(exponent + 1, "0");
  return `${sign}${whole}.${plain.slice(exponent + 1) || "0"}`;
}

/* ---- SHA-256 (FIPS 180-4): crypto.subtle is asynchronous, and missing on pages without https ---- */

const PRIMES = [];
for (let number = 2; PRIMES.length < 64; number++) {
  if (PRIMES.every((prime) => number % prime !== 0)) PRIMES.push(number);
}

/** The first 32 bits of the fraction of a prime's square or cube root, by whole numbers. */
function rootBits(prime, power) {
  const wanted = BigInt(prime) << BigInt(32 * power);
  let low = 0n;
  for (let bit = 1n << 36n; bit > 0n; bit >>= 1n) {
    if ((low + bit) ** BigInt(power) <= wanted) low += bit;
  }
  return Number(low & 0xffffffffn);
}

const START = PRIMES.slice(0, 8).map((prime) => rootBits(prime, 2));
const ROUNDS = PRIMES.map((prime) => rootBits(prime, 3));

export function sha256(message) {
  const padded = new Uint8Array(((message.length + 8) >> 6 << 6) + 64);
  padded.set(message);
  padded[message.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(message.length / 0x20000000));
  view.setUint32(padded.length - 4, (message.length << 3) >>> 0);
  const state = Int32Array.from(START);
  const words = new Int32Array(64);
  const turn = (word, by) => (word >>> by) | (word << (32 - by));
  for (let start = 0; start < padded.length; start += 64) {
    for (let i = 0; i < 16; i++) words[i] = view.getInt32(start + 4 * i);
    for (let i = 16; i < 64; i++) {
      const [early, late] = [words[i - 15], words[i - 2]];
      const small = turn(early, 7) ^ turn(early, 18) ^ (early >>> 3);
      const large = turn(late, 17) ^ turn(late, 19) ^ (late >>> 10);
      words[i] = words[i - 16] + small + words[i - 7] + large;
    }
    let [a, b, c, d, e, f, g, h] = state;
    for (let i = 0; i < 64; i++) {
      const choice = (e & f) ^ (~e & g);
      const first = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + choice + ROUNDS[i] + words[i]) | 0;
      const second = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((value, i) => (state[i] += value));
  }
  const digest = new DataView(new ArrayBuffer(32));
  state.forEach((word, i) => digest.setInt32(4 * i, word));
  return new Uint8Array(digest.buffer);
}

const encode = (text) => new TextEncoder().encode(text);
const joined = (...parts) => Uint8Array.from(parts.flatMap((part) => Array.from(part)));
const big4 = (value) => [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255];

export function toHex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function fromHex(text) {
  demand(typeof text === "string" && /^(?:[0-9a-f]{2})*$/.test(text), "this is not hexadecimal");
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

/* ---- what a server may ask in one round, and the place each device is given in it (question.py) ---- */

const FIELDS = ["task", "round", "kind", "epsilon", "seed", "rotations", "items", "rank", "range", "participants"];

export class Question {
  constructor(fields) {
    for (const name of FIELDS) this[name] = fields[name];
    checkQuestion(this);
    Object.freeze(this.range);
    Object.freeze(this.participants);
    Object.freeze(this);
  }

  static fromJson(text) {
    const length = typeof text === "string" ? Array.from(text).length : text.length;
    demand(length <= MAX_QUESTION_BYTES, `a question has at most ${MAX_QUESTION_BYTES} bytes, this one ${length}`);
    const fields = readObject(text);
    demand(hasFields(fields, FIELDS), `a question has exactly the fields ${FIELDS.join(", ")}`);
    const known = Object.fromEntries(fields);
    for (const name of ["range", "participants"]) {
      demand(Array.isArray(known[name]) && known[name].length === 2, `${name} of a question must be a list of two`);
    }
    // Whether a number was written as a float matters for all fields but these.
    demand(isNumber(known.epsilon) && known.range.every(isNumber), "epsilon and range of a question must be numbers");
    return new Question({ ...known, epsilon: toFloat(known.epsilon), range: known.range.map(toFloat) });
  }

  /** Length after padding: the smallest power of two that holds all coordinates. */
  get dimension() {
    let size = 1;
    while (size < this.items * Math.max(this.rank, 1)) size *= 2;
    return size;
  }

  /** Whether this device is asked at all; follows from its pseudonym alone. */
  takesPart(device) {
    const digest = sha256(joined(encode("discreet/part/" + this.task), checkedId(device)));
    const [index, count] = this.participants;
    return digest.reduce((rest, byte) => (rest * 256 + byte) % count, 0) === index;
  }

  /** Rotation and coordinate that this device answers about; follows from public things alone. */
  place(device) {
    const digest = sha256(joined(encode("discreet/place/"), this.salt(), checkedId(device)));
    const modulo = (bytes, by) => bytes.reduce((rest, byte) => (rest * 256 + byte) % by, 0);
    return [modulo(digest.subarray(0, 8), this.rotations), modulo(digest.subarray(8, 16), this.dimension)];
  }

  /** 256 signs of one rotation, as bits, most significant first; 1 means minus. */
  signBlock(rotation, block) {
    return sha256(joined(encode("discreet/sign/"), this.salt(), big4(rotation), big4(block)));
  }

  /** The question in its one canonical form. */
  toJson() {
    const [low, high] = this.range.map(floatText);
    return (
      `{"epsilon":${floatText(this.epsilon)},"items":${this.items},"kind":"${this.kind}",` +
      `"participants":[${this.participants.join(",")}],"range":[${low},${high}],"rank":${this.rank},` +
      `"rotations":${this.rotations},"round":${this.round},"seed":"${this.seed}","task":"${this.task}"}`
    );
  }

  salt() {
    return joined(fromHex(this.seed), big4(this.round));
  }
}

function checkQuestion(question) {
  const { task, round, kind, epsilon, seed, rotations, items, rank, range, participants } = question;
  const must = (holds, name, wanted) => demand(holds, `${name} of a question must be ${wanted}`);
  must(typeof task === "string" && TASK.test(task), "task", "1 to 64 of a-z, 0-9 and -");
  must(isWhole(round, 1, 2 ** 32 - 1), "round", "a whole number from 1");
  must(KINDS.includes(kind), "kind", `one of ${KINDS.join(", ")}`);
  must(typeof epsilon === "number" && epsilon > 0 && epsilon <= 20, "epsilon", "above 0, at most 20");
  must(typeof seed === "string" && DIGEST.test(seed), "seed", "64 digits of 0-9 and a-f");
  must(isWhole(rotations, 1, 256) && (rotations & (rotations - 1)) === 0, "rotations", "a power of two from 1 to 256");
  must(isWhole(items, 1, MAX_ITEMS), "items", `a whole number from 1 to ${MAX_ITEMS}`);
  const [least, most] = kind === "factors" ? [1, MAX_RANK] : [0, 0];
  must(isWhole(rank, least, most), "rank", "1 to 64 for factors and 0 for anything else");
  must(items * Math.max(rank, 1) <= MAX_COORDINATES, "rank", `at most ${MAX_COORDINATES} / items`);
  must(rises(range), "range", "two finite numbers, the lower first");
  must(isWhole(participants[1], 1, 1 << 20), "participants", "an index and a count from 1 to 1048576");
  must(isWhole(participants[0], 0, participants[1] - 1), "participants", "an index below the count");
}

const rises = ([low, high]) => low < high && [low, high, high - low].every(Number.isFinite);

function checkedId(device) {
  demand(
    device instanceof Uint8Array && device.length === DEVICE_ID_BYTES,
    `a device's pseudonym is ${DEVICE_ID_BYTES} bytes`,
  );
  return device;
}

/* ---- what a device agreed to when it joined a task (question.py) ---- */

const TERMS = ["task", "epsilon", "rounds", "items", "range", "catalogue"];

export class Terms {
  constructor(fields) {
    for (const name of TERMS) this[name] = fields[name];
    const { task, epsilon, rounds, items, range, catalogue } = this;
    demand(typeof task === "string" && TASK.test(task), "the task's name must be 1 to 64 of a-z, 0-9 and -");
    demand(epsilon > 0 && epsilon <= MAX_EPSILON, `epsilon of the terms must be above 0 and at most ${MAX_EPSILON}`);
    demand(isWhole(rounds, 1, MAX_ROUNDS), `rounds of the terms must be a whole number from 1 to ${MAX_ROUNDS}`);
    demand(isWhole(items, 1, MAX_ITEMS), `items of the terms must be a whole number from 1 to ${MAX_ITEMS}`);
    demand(
      typeof catalogue === "string" && DIGEST.test(catalogue),
      "catalogue of the terms must be a digest: 64 digits of 0-9 and a-f",
    );
    demand(rises(range), "range of the terms must be two numbers, the lower first");
    Object.freeze(this.range);
    Object.freeze(this);
  }

  static fromJson(text) {
    const fields = readObject(text);
    demand(hasFields(fields, TERMS), `terms have exactly the fields ${TERMS.join(", ")}`);
    const { range, epsilon, ...others } = Object.fromEntries(fields);
    const numbers = Array.isArray(range) && range.length === 2 && [...range, epsilon].every(isNumber);
    demand(numbers, "epsilon and both ends of the range must be numbers");
    return new Terms({ ...others, range: range.map(toFloat), epsilon: toFloat(epsilon) });
  }

  toJson() {
    const [low, high] = this.range.map(floatText);
    return (
      `{"catalogue":"${this.catalogue}","epsilon":${floatText(this.epsilon)},"items":${this.items},` +
      `"range":[${low},${high}],"rounds":${this.rounds},"task":"${this.task}"}`
    );
  }

  check(question) {
    demand(
      question.task === this.task &&
        question.items === this.items &&
        question.range.every((end, i) => end === this.range[i]),
      "the question is about another task, catalogue or range than was agreed",
    );
    demand(question.round <= this.rounds, `the question is of round ${question.round}; ${this.rounds} were agreed`);
  }
}

/* ---- the released item side (item_side.py): single precision, every size checked first ---- */

const ARRAYS = ["popularity", "offsets", "factors"];
const SIDE = ["round", "items", "rank", "range", "sizes", "centre", "offset_penalty", "factor_penalty"];
const NOTHING = new Float32Array(0);

/** Most bytes that the item side of a catalogue of this size can have. */
export function largestFile(items) {
  return 4 + MAX_HEADER + 4 * (2 * items + Math.min(MAX_RANK * items, MAX_COORDINATES));
}

export class ItemSide {
  constructor(round, items, rank = 0, arrays = {}, rule = {}) {
    Object.assign(this, { round, items, rank, popularity: NOTHING, offsets: NOTHING, factors: NOTHING }, arrays);
    Object.assign(this, { centre: 0, offsetPenalty: 0, factorPenalty: 1, range: null }, rule);
    const whole = isWhole(round, 0, 2 ** 32) && isWhole(items, 1, MAX_ITEMS) && isWhole(rank, 0, MAX_RANK);
    demand(whole, "round, items or rank of a released item side is out of range");
    demand(
      items * Math.max(rank, 1) <= MAX_COORDINATES,
      `a released item side has at most ${MAX_COORDINATES} numbers in one array`,
    );
    for (const name of ARRAYS) {
      const length = items * (name === "factors" ? rank : 1);
      const array = this[name];
      const fits = array instanceof Float32Array && (array.length === 0 || array.length === length);
      demand(fits, `${name} must be ${length} numbers of single precision, or none`);
      demand(array.every(Number.isFinite), `${name} has entries that are not finite`);
    }
    const numbers = [this.centre, this.offsetPenalty, this.factorPenalty];
    demand(numbers.every(Number.isFinite), "centre and penalties must be finite numbers");
    demand(this.range === null || rises(this.range), "range of a released item side must be two finite numbers, the lower first");
    demand(
      this.offsetPenalty >= 0 && this.factorPenalty > 0,
      "the offset penalty must not be negative, the factor penalty must be above zero",
    );
    demand(rank === 0 || this.factors.length > 0, "a released item side of rank 1 or more has factors");
    Object.freeze(this);
  }

  /** Read a released item side; anything else is refused, whole or not at all. */
  static fromBytes(data) {
    const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
    let start = data.length < 4 ? Infinity : 4 + view.getUint32(0, true);
    demand(start <= Math.min(4 + MAX_HEADER, data.length), "this is not a released item side");
    const fields = readObject(data.subarray(4, start));
    demand(hasFields(fields, SIDE), `a released item side has exactly the fields ${SIDE.join(", ")}`);
    const { round, items, rank, range, sizes, ...numbers } = Object.fromEntries(fields);
    const spans = Array.isArray(range) && range.length === 2 && range.every(isNumber);
    demand(spans && Object.values(numbers).every(isNumber), "range, centre and penalties must be numbers");
    const sized = Array.isArray(sizes) && sizes.length === 3 && sizes.every((size) => isWhole(size, 0, MAX_COORDINATES));
    demand(
      sized && start + 4 * sizes.reduce((sum, size) => sum + size) === data.length,
      "a released item side does not have the size it says",
    );
    const arrays = {};
    ARRAYS.forEach((name, at) => {
      arrays[name] = Float32Array.from({ length: sizes[at] }, (_, i) => view.getFloat32(start + 4 * i, true));
      start += 4 * sizes[at];
    });
    const [centre, offsetPenalty, factorPenalty] = ["centre", "offset_penalty", "factor_penalty"].map((name) =>
      toFloat(numbers[name]),
    );
    return new ItemSide(round, items, rank, arrays, { centre, offsetPenalty, factorPenalty, range: range.map(toFloat) });
  }
}

/* ---- folding a device's ratings in (item_side.py): the same sums in the same order ---- */

/** Offset and vector that minimise the squared residuals plus the two penalties. */
export function foldIn(items, values, side) {
  const rank = side.rank;
  const size = rank + 1;
  const right = new Array(size).fill(0);
  if (items.length === 0) return right;
  const matrix = Array.from({ length: size }, () => new Array(size).fill(0));
  const row = new Array(size).fill(1);
  items.forEach((item, position) => {
    const target = values[position] - side.centre - (side.offsets.length ? side.offsets[item] : 0);
    for (let d = 0; d < rank; d++) row[d + 1] = side.factors[item * rank + d];
    for (let i = 0; i < size; i++) {
      right[i] += row[i] * target;
      for (let j = 0; j <= i; j++) matrix[i][j] += row[i] * row[j];
    }
  });
  matrix[0][0] += side.offsetPenalty;
  for (let i = 1; i < size; i++) matrix[i][i] += side.factorPenalty;
  solve(matrix, right);
  return right;
}

function residuals(items, values, side, coefficients) {
  const rank = side.rank;
  return items.map((item, position) => {
    let rest = values[position] - side.centre - (side.offsets.length ? side.offsets[item] : 0) - coefficients[0];
    for (let d = 0; d < rank; d++) rest -= coefficients[d + 1] * side.factors[item * rank + d];
    return rest;
  });
}

/** Cholesky without square roots, in place; only the lower triangle is read. */
function solve(matrix, right) {
  const size = right.length;
  for (let i = 0; i < size; i++) {
    for (let j = 0; j < i; j++) {
      for (let k = 0; k < j; k++) matrix[i][j] -= matrix[i][k] * matrix[j][k] * matrix[k][k];
      matrix[i][j] = quotient(matrix[i][j], matrix[j][j]);
    }
    for (let k = 0; k < i; k++) matrix[i][i] -= matrix[i][k] * matrix[i][k] * matrix[k][k];
  }
  for (let i = 0; i < size; i++) {
    for (let k = 0; k < i; k++) right[i] -= matrix[i][k] * right[k];
  }
  for (let i = size - 1; i >= 0; i--) {
    right[i] = quotient(right[i], matrix[i][i]);
    for (let k = i + 1; k < size; k++) right[i] -= matrix[k][i] * right[k];
  }
}

function quotient(value, by) {
  if (by === 0) throw new RangeError("division by zero"); // as in Python
  return value / by;
}

/* ---- a device's answer (answer.py) ---- */

/** Random bytes of the operating system; anything predictable voids the promise. */
export function randomBytes(count) {
  return globalThis.crypto.getRandomValues(new Uint8Array(count));
}

/** One bit, 0 or 1, that is epsilon-LDP for the question's epsilon.
 *
 * ratings: a Map of item index to rating; side: the item side released so far, needed for factors. A refusal follows
 * from question, pseudonym and the sizes of side alone, never from the ratings.
 */
export function answer(question, ratings, device, side = null, random = randomBytes) {
  demand(question.takesPart(device), "this question is for other devices");
  checkSizes(question, side);
  let value = 0;
  try {
    value = truth(question, ...usableRatings(question, ratings), device, side);
  } catch {
    value = 0; // whatever it is, it depends on the ratings: nobody may notice
  }
  const bytes = random(COIN_BYTES);
  return respond(value, question.epsilon, bytes.reduce((word, byte) => (word << 8n) | BigInt(byte), 0n));
}

/** The device's coordinate of its rotated vector, up to a positive factor: what respond hides. Private. */
export function truth(question, items, values, device, side = null) {
  const [entries, repeat] = vector(question, items, values, side);
  const [rotation, coordinate] = question.place(device);
  const blocks = new Map();
  let total = 0;
  entries.forEach((value, position) => {
    const index = items[Math.floor(position / repeat)] * repeat + (position % repeat);
    const block = index >> 8;
    if (!blocks.has(block)) blocks.set(block, question.signBlock(rotation, block));
    let minus = (blocks.get(block)[(index & 255) >> 3] >> (7 - (index & 7))) & 1;
    for (let common = index & coordinate; common !== 0; common &= common - 1) minus ^= 1;
    total += minus ? -value : value;
  });
  return total;
}

/** Randomised response on the sign of value; a tie is decided by the coin, a word of 64 bits. */
export function respond(value, epsilon, word) {
  const bit = value === 0 ? Number(word & 1n) : Number(value > 0);
  return bit ^ Number(word >> 1n < flipThreshold(epsilon));
}

/** How many of the 2^63 outcomes of the coin flip the bit: 1 / (1 + e^epsilon) of them, rounded up. */
export function flipThreshold(epsilon) {
  const one = 1n << 128n;
  const step = BigInt(Math.floor(epsilon * 2 ** 128)); // exact: a power of two does not round
  let [total, term] = [one, one];
  for (let count = 1n; term > 0n; count++) {
    term = (term * step) / (count << 128n);
    total += term;
  }
  const whole = (1n << 63n) * one;
  return (whole + total + one - 1n) / (total + one);
}

function vector(question, items, values, side) {
  if (question.kind === "popularity") return [items.map(() => 1), 1];
  const by = question.kind === "offsets" || side === null ? new ItemSide(0, question.items) : side;
  const coefficients = foldIn(items, values, by);
  const left = residuals(items, values, by, coefficients);
  if (question.kind === "offsets") return [left, 1];
  return [left.flatMap((rest) => coefficients.slice(1).map((own) => rest * own)), question.rank];
}

function checkSizes(question, side) {
  if (question.kind !== "factors") return;
  demand(
    side !== null && side.items === question.items && side.rank === question.rank,
    "a question about factors needs a released item side of the same size and rank",
  );
}

function usableRatings(question, ratings) {
  const [low, high] = question.range;
  const inside = [...ratings].filter(
    ([item, value]) => 0 <= item && item < question.items && low <= value && value <= high,
  );
  if (!inside.every(([item, value]) => Number.isInteger(item) && typeof value === "number")) {
    throw new TypeError("ratings are numbers by whole numbers");
  }
  inside.sort((one, other) => one[0] - other[0]);
  return [inside.map(([item]) => item), inside.map(([, value]) => value)];
}

/** What is sent, and nothing else: the same text as the Python device's. */
export function report(task, round, device, bit) {
  return JSON.stringify({ task, round, device: toHex(device), bit });
}

/* ---- recommendations, which cost nothing (item_side.py) ---- */

/**
 * The n best items, best first, and their predictions: by popularity times predicted rating above the lowest. The same
 * popularity for all items means that noise drowned it: then there is no list.
 */
export function recommend(ratings, side, range, n = 10) {
  if (side.popularity.length > 1 && side.popularity.every((one) => one === side.popularity[0])) return [];
  const items = [];
  for (let item = 0; item < side.items; item++) if (!ratings.has(item)) items.push(item);
  const [own, scores] = predictions(ratings, side, items);
  const known = side.popularity.length > 0;
  const often = items.map((item) => (known ? side.popularity[item] : 0));
  const lowest = range[0] + own;
  const worth = scores.map((score, at) => (known ? often[at] * (score - lowest) : score));
  const key = worth.map((value) => (Number.isNaN(value) ? -Infinity : value));
  const order = items.map((_, at) => at);
  // No subtraction: infinity less itself is no number.
  const falls = (one, other) => (one > other ? -1 : one < other ? 1 : 0);
  order.sort((one, other) => falls(key[one], key[other]) || falls(often[one], often[other]) || one - other);
  return order.slice(0, Math.max(n, 0)).map((at) => [items[at], clipped(scores[at], range)]);
}

function predictions(ratings, side, items) {
  const rated = [...ratings.keys()].sort((one, other) => one - other);
  const inside = rated.every((item) => Number.isInteger(item) && 0 <= item && item < side.items);
  demand(inside, `an item is outside of the catalogue of ${side.items}`);
  const values = rated.map((item) => ratings.get(item));
  const coefficients = foldIn(rated, values, side);
  const base = side.centre + coefficients[0];
  const scores = items.map((item) => {
    let score = base + (side.offsets.length ? side.offsets[item] : 0);
    for (let d = 0; d < side.rank; d++) score += coefficients[d + 1] * side.factors[item * side.rank + d];
    return score;
  });
  return [coefficients[0], scores];
}

function clipped(score, [low, high]) {
  const raised = low > score ? low : score;
  return high < raised ? high : raised;
}

/* ---- what was spent, added exactly: whole multiples of 2^-1074, the smallest double ---- */

function exact(value) {
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, value);
  const word = bits.getBigUint64(0);
  const [exponent, fraction] = [(word >> 52n) & 0x7ffn, word & ((1n << 52n) - 1n)];
  demand(value >= 0 && exponent < 0x7ffn, "an epsilon is a finite number from 0");
  return exponent === 0n ? fraction : (fraction | (1n << 52n)) << (exponent - 1n);
}

/** The nearest double to an exact sum. */
function nearest(sum) {
  const surplus = Math.max(0, sum.toString(2).length - 64);
  const dropped = (sum >> BigInt(surplus)) << BigInt(surplus) !== sum;
  let value = Number((sum >> BigInt(surplus)) | (dropped ? 1n : 0n));
  for (let left = surplus - 1074; left < 0; left += 537) value *= 2 ** Math.max(left, -537);
  return value;
}

/* ---- the device's own file (store.py): drawn once, charged and stored before it is sent ---- */

const EMPTY = { version: 1, catalogue: null, cap: null, ratings: new Map(), tasks: new Map() };

/** State that ends with the program: for Node, and for people who want to leave nothing behind. */
export class MemoryStore {
  #state = structuredClone(EMPTY);

  /** Let a function work on a copy of the state; what it leaves is kept if it returns, and nothing if it throws. */
  async change(work) {
    const state = structuredClone(this.#state);
    const result = work(state);
    this.#state = state;
    return result;
  }
}

/** State in the browser's IndexedDB, one record.
 *
 * Transactions that write are run one after the other, over all tabs of the origin, and durability "strict" asks the
 * browser to have them on disk before they count as done: two tabs cannot draw two answers to one question, and
 * none is sent that could be forgotten. Whoever clears the site's data clears the pseudonym with it: the device comes
 * back as a new one, and what the old one spent still counts for the person.
 */
export class BrowserStore {
  #database;

  static async open(name = "discreet-device") {
    const request = indexedDB.open(name, 1);
    request.onupgradeneeded = () => request.result.createObjectStore("state");
    const store = new BrowserStore();
    store.#database = await settled(request);
    return store;
  }

  change(work) {
    return new Promise((resolve, reject) => {
      const transaction = this.#database.transaction("state", "readwrite", { durability: "strict" });
      const table = transaction.objectStore("state");
      const kept = table.get("device");
      let result, failure;
      kept.onsuccess = () => {
        try {
          const state = kept.result ?? structuredClone(EMPTY);
          demand(state.version === EMPTY.version, "this browser's device was written by another version");
          result = work(state);
          table.put(state, "device");
        } catch (error) {
          failure = error;
          transaction.abort();
        }
      };
      transaction.oncomplete = () => resolve(result);
      transaction.onabort = () => reject(failure ?? transaction.error);
    });
  }
}

function settled(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/** One person's device: ratings, what was agreed, every answer given so far. */
export class Device {
  #store;
  #random;

  constructor(store, random = randomBytes) {
    this.#store = store;
    this.#random = random;
  }

  /** Write ratings down, over what was there for these items; a Map of item index to rating. */
  rate(ratings) {
    return this.#store.change((state) => {
      for (const [item, rating] of ratings) {
        demand(Number.isInteger(item) && Number.isFinite(rating), "ratings are finite numbers by item index");
        state.ratings.set(item, rating);
      }
    });
  }

  ratings() {
    return this.#store.change((state) => state.ratings);
  }

  /** Most that all answers to all tasks together may cost; null for no such limit. */
  limit(epsilon) {
    return this.#store.change((state) => {
      demand(epsilon === null || (Number.isFinite(epsilon) && epsilon > 0), "a cap is a finite number above 0");
      state.cap = epsilon;
    });
  }

  /** Agree to a task's terms, once; gives the pseudonym for this task, which is random. */
  enrol(terms) {
    return this.#store.change((state) => {
      const known = state.tasks.get(terms.task);
      pin(state, terms.catalogue);
      if (known !== undefined) {
        demand(known.terms === terms.toJson(), `task ${terms.task} now has other terms than this device agreed to`);
        return known.device;
      }
      if (state.cap !== null) {
        const promised = [...state.tasks.values()].reduce((sum, task) => sum + promise(task), 0n);
        demand(
          promised + exact(terms.epsilon) <= exact(state.cap),
          `the task asks for epsilon ${terms.epsilon}; of the cap of ${state.cap} over all tasks ` +
            `${nearest(promised)} is promised already`,
        );
      }
      const device = this.#random(DEVICE_ID_BYTES);
      state.tasks.set(terms.task, { device, terms: terms.toJson(), left: false, rounds: new Map(), released: null });
      return device;
    });
  }

  /** The pseudonym for a task. */
  pseudonym(task) {
    return this.#store.change((state) => joinedTask(state, task).device);
  }

  /** Answer no more questions of a task; what it was promised and has not spent is free for others. */
  leave(task) {
    return this.#store.change((state) => {
      joinedTask(state, task).left = true;
    });
  }

  /** The one answer to a question: the stored one, or one drawn, charged and stored now. */
  answer(question, side = null) {
    return this.#store.change((state) => {
      const task = joinedTask(state, question.task);
      const asked = question.toJson();
      const known = task.rounds.get(question.round);
      if (known !== undefined) {
        demand(known.asked === asked, `round ${question.round} came with another question before`);
        return { bit: known.bit, sent: known.sent, device: task.device };
      }
      Terms.fromJson(task.terms).check(question);
      let bit = null;
      if (question.takesPart(task.device)) {
        demand(!task.left, `this device has left task ${question.task}`);
        afford(state, task, question);
        bit = answer(question, state.ratings, task.device, side, this.#random);
      }
      task.rounds.set(question.round, { asked, epsilon: question.epsilon, bit, sent: false });
      return { bit, sent: false, device: task.device };
    });
  }

  markSent(task, round) {
    return this.#store.change((state) => {
      joinedTask(state, task).rounds.get(round).sent = true;
    });
  }

  /** Keep the latest released item side, for the next question and for recommendations. */
  keepReleased(task, bytes) {
    return this.#store.change((state) => {
      const side = ItemSide.fromBytes(bytes);
      const kept = joinedTask(state, task);
      const terms = Terms.fromJson(kept.terms);
      const fits = side.items === terms.items && side.range.every((end, i) => end === terms.range[i]);
      demand(fits, "the collector sent the item side of another catalogue or range");
      kept.released = { round: side.round, bytes };
      return side;
    });
  }

  /** The best items by what was released last; nothing is sent. */
  recommend(task, n = 10) {
    return this.#store.change((state) => {
      const kept = joinedTask(state, task);
      demand(kept.released !== null, "nothing has been released to this device yet");
      const terms = Terms.fromJson(kept.terms);
      const [low, high] = terms.range;
      const own = [...state.ratings].filter(([item, value]) => item < terms.items && low <= value && value <= high);
      return recommend(new Map(own), ItemSide.fromBytes(kept.released.bytes), terms.range, n);
    });
  }

  /** All that was agreed, asked, answered and spent, as the Python device's command "transcript" writes it. */
  transcript() {
    return this.#store.change((state) => ({
      ratings: state.ratings.size,
      cap: state.cap,
      spent: nearest([...state.tasks.values()].reduce((sum, task) => sum + spent(task), 0n)),
      tasks: [...state.tasks.keys()].sort().map((name) => written(name, state.tasks.get(name))),
    }));
  }
}

function pin(state, digest) {
  state.catalogue ??= digest;
  demand(
    state.catalogue === digest,
    `this is about another item list (digest ${digest.slice(0, 12)}...) than this device numbers its ratings by`,
  );
}

function joinedTask(state, name) {
  demand(state.tasks.has(name), `this device has not joined task ${name}`);
  return state.tasks.get(name);
}

function spent(task) {
  const answers = [...task.rounds.values()].filter((round) => round.bit !== null);
  return answers.reduce((sum, round) => sum + exact(round.epsilon), 0n);
}

const promise = (task) => (task.left ? spent(task) : exact(Terms.fromJson(task.terms).epsilon));

function afford(state, task, question) {
  const cost = exact(question.epsilon);
  const agreed = exact(Terms.fromJson(task.terms).epsilon);
  demand(
    spent(task) + cost <= agreed,
    `the answer would cost ${question.epsilon}; ${nearest(agreed - spent(task))} of the agreed are left`,
  );
  if (state.cap === null) return;
  const total = [...state.tasks.values()].reduce((sum, one) => sum + spent(one), 0n);
  demand(
    total + cost <= exact(state.cap),
    `the answer would cost ${question.epsilon}; ${nearest(total)} of the cap of ${state.cap} over all tasks is spent`,
  );
}

function written(name, task) {
  const rounds = [...task.rounds].sort(([one], [other]) => one - other);
  return {
    task: name,
    agreed: Terms.fromJson(task.terms).epsilon,
    spent: nearest(spent(task)),
    left: task.left,
    device: toHex(task.device),
    rounds: rounds.map(([round, { asked, epsilon, bit, sent }]) => ({
      round,
      epsilon,
      bit,
      sent,
      asked: JSON.parse(asked),
    })),
  };
}

/* ---- a device's part in a task (client.py): a page of the collector's own origin ---- */

/** Connection to a collector; every size is limited. */
export class Connection {
  #url;
  #headers;

  constructor(url, token = null) {
    const parts = new URL(url);
    const near = ["localhost", "127.0.0.1", "[::1]"].includes(parts.hostname);
    demand(parts.protocol === "https:" || (parts.protocol === "http:" && near), `${url}: only https goes there`);
    this.#url = parts.origin;
    this.#headers = token === null ? {} : { Authorization: `Bearer ${token}` };
  }

  get(path, limit = 65536) {
    return this.#ask(path, { method: "GET" }, limit);
  }

  post(path, body) {
    return this.#ask(path, { method: "POST", body }, 65536, { "Content-Type": "application/json" });
  }

  async #ask(path, options, limit, headers = {}) {
    const quiet = { credentials: "omit", cache: "no-store", redirect: "error", referrerPolicy: "no-referrer" };
    const response = await fetch(this.#url + path, {
      ...options,
      ...quiet,
      headers: { ...this.#headers, ...headers },
    });
    const body = await limited(response, limit);
    if (response.status < 300) return body;
    const why = new TextDecoder().decode(body.subarray(0, 200));
    throw Object.assign(new Refused(`the collector refused (${response.status}): ${why}`), {
      status: response.status,
    });
  }
}

async function limited(response, limit) {
  const [parts, reader] = [[], response.body?.getReader()];
  let length = 0;
  for (let part = await reader?.read(); part && !part.done; part = await reader.read()) {
    length += part.value.length;
    if (length > limit) {
      await reader.cancel();
      throw new Refused(`the collector sent over ${limit} bytes`);
    }
    parts.push(part.value);
  }
  const body = new Uint8Array(length);
  parts.reduce((at, part) => (body.set(part, at), at + part.length), 0);
  return body;
}

/** Agree to a task's terms, unless all of its answers together could cost more than mostEpsilon. */
export async function join(device, connection, task, mostEpsilon, catalogue = null) {
  const terms = Terms.fromJson(await connection.get(`/v1/tasks/${encodeURIComponent(task)}`));
  demand(terms.task === task, "the collector sent the terms of another task");
  demand(catalogue === null || terms.catalogue === catalogue, "the task is about another item list");
  demand(
    terms.epsilon <= mostEpsilon,
    `the task asks for epsilon ${terms.epsilon}; this device gives at most ${mostEpsilon}`,
  );
  await device.enrol(terms);
  return terms;
}

/** Answer the open round, at most once however often this is called; the bit is stored before it is sent.
 *
 * How long the work took tells how many ratings there are, so the answer waits for the next multiple of pace seconds.
 */
export async function answerRound(device, connection, task, pace = PACE_SECONDS) {
  demand(Number.isFinite(pace) && pace >= 0, "the pace must be a finite number of seconds from 0");
  let question;
  try {
    question = Question.fromJson(await connection.get(`/v1/tasks/${encodeURIComponent(task)}/question`));
  } catch (error) {
    if (error.status === 410) return { result: "task has ended", round: 0 };
    throw error;
  }
  demand(question.task === task, "the collector sent another task's question");
  let side = null;
  if (question.kind === "factors" && question.round > 1 && question.takesPart(await device.pseudonym(task))) {
    side = await fetchReleased(device, connection, task, question.round - 1, question.items);
  }
  const started = performance.now();
  const given = await device.answer(question, side);
  if (given.bit === null) return { result: "not asked", round: question.round };
  if (given.sent) return { result: "already answered", round: question.round };
  await wait(started, 1000 * pace);
  const result = await send(connection, report(task, question.round, given.device, given.bit));
  await device.markSent(task, question.round);
  return { result, round: question.round };
}

/** The item side after a round, kept on the device. */
export async function fetchReleased(device, connection, task, round, items) {
  const path = `/v1/tasks/${encodeURIComponent(task)}/released/${round}`;
  const side = await device.keepReleased(task, await connection.get(path, largestFile(items)));
  demand(side.round === round, "the collector sent the item side of another round");
  return side;
}

async function send(connection, body) {
  try {
    await connection.post("/v1/reports", body);
  } catch (error) {
    if (error.status === 410) return "too late";
    throw error;
  }
  return "answered";
}

async function wait(started, pace) {
  if (pace === 0) return;
  const passed = performance.now() - started;
  const until = Math.max(1, Math.ceil(passed / pace)) * pace;
  await new Promise((resolve) => setTimeout(resolve, until - passed));
}

// Titles that have all words of a question, as forgiving as people need (discreet.web.search forgives less).

const NUMERALS = { ii: "2", iii: "3", iv: "4", v: "5", vi: "6", vii: "7", viii: "8", ix: "9", xi: "11" };
const SLIPS_FROM = 4; // letters of a word in which a slip is looked for: shorter ones are near too much

export function plain(text) {
  const letters = text.normalize("NFKD").replace(/\p{M}/gu, "").replace(/[^\p{L}\p{N}]+/gu, " ").toLowerCase();
  return letters.trim().split(" ").map((word) => (Object.hasOwn(NUMERALS, word) ? NUMERALS[word] : word)).join(" ");
}

export class Search {
  constructor(titles, order) {
    this.order = order;
    this.titles = Array.from(order, (item) => ` ${plain(titles[item])} `);
  }

  // Positions, those first that are, begin with or have the words as they stand; where no title has them, those that
  // have them run together, and then those that have them but for one slip.
  find(text, most) {
    const words = plain(text).split(" ").filter((word) => word !== "");
    if (words.length === 0) return [];
    const found = [[], [], [], [], [], []];
    this.titles.forEach((title, place) => {
      if (words.every((word) => title.includes(word))) found[fit(title, words)].push(this.order[place]);
    });
    const exact = found.flat();
    return (exact.length ? exact : this.forgiving(words)).slice(0, most);
  }

  forgiving(words) {
    const those = (holds) => Array.from(this.order).filter((_, place) => holds(this.titles[place]));
    const together = words.join("");
    const run = together.length < SLIPS_FROM ? [] : those((title) => title.replaceAll(" ", "").includes(together));
    if (run.length) return run;
    const near = (beginnings) => those((title) =>
      words.every((word) => title.includes(word) || nearlyIn(word, title.trim().split(" "), beginnings)));
    const whole = near(false);
    return whole.length ? whole : near(true);
  }
}

// 0 for the title itself to 5 for words somewhere inside of others.
function fit(title, words) {
  const whole = ` ${words.join(" ")}`;
  const kinds = [
    title === `${whole} `,
    title.startsWith(`${whole} `),
    words.every((word) => title.includes(` ${word} `)),
    title.startsWith(whole),
    words.every((word) => title.includes(` ${word}`)),
    true,
  ];
  return kinds.indexOf(true);
}

// Whether a word, or one's beginning, is there but for one letter: another, too many, missing, or two swapped.
function nearlyIn(word, others, beginnings) {
  if (word.length < SLIPS_FROM) return false;
  return others.some((other) => oneSlip(word, beginnings ? other.slice(0, word.length) : other));
}

function oneSlip(one, other) {
  let at = 0;
  while (at < Math.min(one.length, other.length) && one[at] === other[at]) at++;
  const [left, right] = [one.slice(at), other.slice(at)];
  const swapped = left.slice(1, 2) + left.slice(0, 1) === right.slice(0, 2) && left.slice(2) === right.slice(2);
  return left.slice(1) === right.slice(1) || left === right.slice(1) || left.slice(1) === right || swapped;
}

// Titles that have all words of a question, whatever the case and the accents; as discreet.service.search finds them.

export function plain(text) {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").replace(/[^\p{L}\p{N}]+/gu, " ").toLowerCase().trim();
}

export class Search {
  constructor(titles, order) {
    this.order = order;
    this.titles = Array.from(order, (item) => ` ${plain(titles[item])} `);
  }

  // Positions, those first that are, begin with or have the words as they stand.
  find(text, most) {
    const words = plain(text).split(" ").filter((word) => word !== "");
    if (words.length === 0) return [];
    const found = [[], [], [], [], [], []];
    this.titles.forEach((title, place) => {
      if (words.every((word) => title.includes(word))) found[fit(title, words)].push(this.order[place]);
    });
    return found.flat().slice(0, most);
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

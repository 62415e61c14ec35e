// Titles that have all words of a question, whatever the case and the accents; as discreet.service.search finds them.

export function plain(text) {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").replace(/[^\p{L}\p{N}]+/gu, " ").toLowerCase().trim();
}

export class Search {
  constructor(titles, order) {
    this.order = order;
    this.titles = Array.from(order, (item) => ` ${plain(titles[item])}`);
  }

  // Positions, those first that begin with the question, then those whose words begin with its words.
  find(text, most) {
    const words = plain(text).split(" ").filter((word) => word !== "");
    if (words.length === 0) return [];
    const whole = ` ${words.join(" ")}`;
    const starts = words.map((word) => ` ${word}`);
    const found = [[], [], []];
    this.titles.forEach((title, place) => {
      if (!words.every((word) => title.includes(word))) return;
      const fit = title.startsWith(whole) ? 0 : starts.every((start) => title.includes(start)) ? 1 : 2;
      found[fit].push(this.order[place]);
    });
    return found.flat().slice(0, most);
  }
}

// What the person said: a line for each title, with its rating and a way to take it back.

import { element, find } from "./element.js";

const MOST_STEPS = 11;

// What can be said of a title: ratings (whole numbers, halves, or ten steps), or whether it is liked where what is not
// counts too; null where having taken it says all.
export function choices({ scale, table }) {
  if (scale === null) return table === null ? null : [[1, "Like"], [-1, "Not for me"]];
  return steps(scale).map((value) => [value, shownRating(value)]);
}

function steps([low, high]) {
  for (const size of [1, 0.5]) {
    const count = (high - low) / size;
    if (Number.isInteger(count) && Number.isInteger(low / size) && count < MOST_STEPS) {
      return Array.from({ length: count + 1 }, (_, k) => low + k * size);
    }
  }
  return Array.from({ length: MOST_STEPS }, (_, k) => low + ((high - low) * k) / (MOST_STEPS - 1));
}

export const shownRating = (value) => String(Math.round(value * 100) / 100);

// history: Map of position to rating, or to undefined for a title that is not rated yet.
export function showHistory(history, side, { rate, remove }, focus = null) {
  const offered = choices(side);
  const rows = [...history].map(([item, rating]) => {
    const title = side.titles[item];
    const row = element("li", { "data-item": item }, element("span", { class: "title", id: `title-${item}` }, title));
    if (offered) row.append(ratingChoice(item, rating, offered, title, rate));
    row.append(
      element("button", { type: "button", class: "remove", "aria-label": `Remove ${title}`, onclick: () => remove(item) },
        element("span", { "aria-hidden": "true" }, "×")),
    );
    return row;
  });
  find("history").replaceChildren(...rows);
  if (focus !== null) focusOn(focus);
}

function ratingChoice(item, rating, offered, title, rate) {
  const set = element("fieldset", { class: "rating" },
    element("legend", { class: rating === undefined ? "ask" : "unseen" },
      rating === undefined ? "How was it?" : `Your rating of ${title}`));
  const pills = element("div", { class: "pills" });
  offered.forEach(([value, label], k) => {
    const id = `rate-${item}-${k}`;
    const input = element("input", {
      type: "radio", name: `rate-${item}`, id, value: String(value), checked: rating === value,
      onchange: () => rate(item, value, id),
    });
    pills.append(input, element("label", { for: id }, label));
  });
  set.append(pills);
  return set;
}

function focusOn(id) {
  const wanted = find(id) ?? document.querySelector(`[data-item="${id}"] input, [data-item="${id}"] button`);
  (wanted ?? find("search")).focus();
}

// What the person said: a line for each title, with its rating and a way to take it back.

import { element, find } from "./element.js";

const MOST_STEPS = 11;

// Ratings to choose from: whole numbers, halves, or ten steps; null for models of what people take.
export function steps(scale) {
  if (scale === null) return null;
  const [low, high] = scale;
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
  const choices = steps(side.scale);
  const rows = [...history].map(([item, rating]) => {
    const title = side.titles[item];
    const row = element("li", { "data-item": item }, element("span", { class: "title", id: `title-${item}` }, title));
    if (choices) row.append(ratingChoice(item, rating, choices, title, rate));
    row.append(
      element("button", { type: "button", class: "remove", "aria-label": `Remove ${title}`, onclick: () => remove(item) },
        element("span", { "aria-hidden": "true" }, "×")),
    );
    return row;
  });
  find("history").replaceChildren(...rows);
  if (focus !== null) focusOn(focus);
}

function ratingChoice(item, rating, choices, title, rate) {
  const set = element("fieldset", { class: "rating" },
    element("legend", { class: rating === undefined ? "ask" : "unseen" },
      rating === undefined ? "How was it?" : `Your rating of ${title}`));
  const pills = element("div", { class: "pills" });
  choices.forEach((value, k) => {
    const id = `rate-${item}-${k}`;
    const input = element("input", {
      type: "radio", name: `rate-${item}`, id, value: String(value), checked: rating === value,
      onchange: () => rate(item, value, id),
    });
    pills.append(input, element("label", { for: id }, shownRating(value)));
  });
  set.append(pills);
  return set;
}

function focusOn(id) {
  const wanted = find(id) ?? document.querySelector(`[data-item="${id}"] input, [data-item="${id}"] button`);
  (wanted ?? find("search")).focus();
}

// The recommendations: title, how good, what is not known, why.

import { element, find } from "./element.js";
import { shownRating } from "./history.js";

const MOST_PULLS = 6;
const MARKS = {
  unknown: "hardly known: next to nothing was learnt about it",
  guess: "new: known by its features alone",
};

// entries: { item, title, score, mark, fresh }; context: goal, highest rating.
export function showList(entries, context, { know, why }) {
  const open = new Set([...document.querySelectorAll("#list .why:not([hidden])")].map(({ id }) => id));
  find("list").replaceChildren(...entries.map((entry) => line(entry, context, { know, why }, open)));
}

function line(entry, context, { know, why }, open) {
  const id = `why-${entry.item}`;
  const panel = element("div", { class: "why", id });
  const toggle = element("button", {
    type: "button", class: "quiet", "aria-controls": id, "aria-label": `Why is ${entry.title} here?`,
    onclick: () => show(panel.hidden),
  }, "Why");
  const show = (shown) => {
    if (shown && panel.childElementCount === 0) panel.append(...reasons(why(entry.item), context));
    panel.hidden = !shown;
    toggle.setAttribute("aria-expanded", String(shown));
  };
  show(open.has(id));
  return element("li", { class: entry.fresh ? "fresh" : null },
    element("div", { class: "what" },
      element("span", { class: "title" }, entry.title),
      entry.fresh ? element("span", { class: "tag" }, "new here") : null,
      context.goal === "rate" ? rating(entry, context) : null,
      sureness(entry)),
    element("div", { class: "acts" },
      ...answers(context).map(([label, value]) => element("button", {
        type: "button", class: "quiet", "aria-label": `${label}: ${entry.title}`, onclick: () => know(entry.item, value),
      }, label)),
      toggle),
    panel);
}

// What can be said of a title in the list.
function answers({ rated, table }) {
  return rated || !table ? [["I know it", undefined]] : [["Like", 1], ["Not for me", -1]];
}

function rating(entry, context) {
  return element("span", { class: "score" },
    element("span", { class: "unseen" }, "expected rating "),
    entry.score.toFixed(1),
    element("span", { class: "of" }, ` of ${shownRating(context.high)}`));
}

function sureness({ mark }) {
  return MARKS[mark] ? element("div", { class: "sure" }, MARKS[mark]) : null;
}

function reasons({ before, pulls: all }, { goal, rated, table }) {
  const pulls = table ? all.filter(({ pull }) => pull !== 0) : all;
  const unit = (value) => (goal === "rate" ? value.toFixed(2) : (100 * value).toFixed(1));
  if (all.length === 0) return [element("p", {}, "Because people in general like it. You have not rated anything yet.")];
  if (pulls.length === 0) return [element("p", {}, "Because people in general like it. Nothing you said speaks for it or against it.")];
  const largest = Math.max(...pulls.map(({ pull }) => Math.abs(pull)), 1e-12);
  const strongest = [...pulls].sort((a, b) => Math.abs(b.pull) - Math.abs(a.pull)).slice(0, MOST_PULLS);
  const rows = strongest.map(({ title, rating: value, pull }) => {
    const bar = element("span", { class: pull < 0 ? "bar down" : "bar", "aria-hidden": "true" });
    bar.style.width = `${(60 * Math.abs(pull)) / largest}%`;
    const said = value === null ? `you ${table ? "like" : "chose"} ${title}`
      : rated ? `your ${shownRating(value)} for ${title}` : `${title} is not for you`;
    return element("li", {}, element("span", {}, `${pull < 0 ? "−" : "+"}${unit(Math.abs(pull))}  ${said}`), bar);
  });
  const rest = all.length > rows.length ? ` The other ${all.length - rows.length} ${table ? "say little or nothing of it" : "of your ratings matter less"}.` : "";
  return [
    element("p", {}, table ? "What you said of these titles speaks for it or against it, in points:"
      : `For everybody it has ${unit(before)}${goal === "rate" ? "" : " points"}; your ratings pull it up or down:`),
    element("ul", {}, ...rows),
    element("p", { class: "soft" }, `Remove one, and see what changes.${rest}`),
  ];
}

// The page: loads the released model, seals itself, and works lists out from what the person says.

import { element, find } from "./element.js";
import { showHistory } from "./history.js";
import { showList } from "./list.js";
import { readModel, unpacked } from "./model.js";
import { best, clipped, weigh } from "./ranking.js";
import { Search } from "./search.js";
import { setUpSearch } from "./search_box.js";
import { say, sealPage } from "./seal.js";

const LENGTH = 10;
const KNOWN = 8;

function start(side) {
  const history = new Map();
  let listed = null;

  const rated = () => [...history].filter(([, rating]) => rating !== undefined);

  const compute = () => {
    const begun = performance.now();
    const items = rated().map(([item]) => item);
    const { scores, pulls } = weigh(side, items, rated().map(([, rating]) => rating));
    const top = side.lists ? best(scores, LENGTH, new Set(history.keys())) : [];
    const entries = top.map((item) => {
      const score = clipped(side, scores[item]);
      return {
        item,
        title: side.titles[item],
        score,
        mark: side.marks === null ? "none" : side.marks[item],
        fresh: listed !== null && !listed.has(item),
      };
    });
    const took = performance.now() - begun;
    return { items, scores, pulls, entries, took };
  };

  const why = ({ items, scores, pulls }) => (item) => {
    const all = items.length ? pulls(item) : [];
    const before = scores[item] - all.reduce((sum, one) => sum + one, 0);
    const told = items.map((one, k) => ({
      title: side.titles[one], rating: side.scale === null && history.get(one) > 0 ? null : history.get(one), pull: all[k],
    }));
    return { before, pulls: told };
  };

  const update = () => {
    const now = compute();
    const { entries } = now;
    const context = {
      goal: side.goal, high: side.scale === null ? 1 : side.scale[1], rated: side.scale !== null, table: side.table !== null,
    };
    showList(entries, context, { know: add, why: why(now) });
    const mine = now.items.length > 0;
    find("list-title").textContent = mine ? "For you" : "For everybody";
    find("list-about").textContent = !side.lists
      ? "Nothing was learnt: no title's popularity stands out of the noise, so there is no list to give."
      : mine
      ? `From ${now.items.length === 1 ? "one title" : `${now.items.length} titles`} that you know.`
      : "What people in general like best. It becomes yours with the first thing you say.";
    find("news").textContent = entries.length ? `The list has changed. First: ${entries[0].title}.` : "No titles are left.";
    find("took").textContent = `${side.count.toLocaleString("en")} titles weighed in ${Math.max(now.took, 0.1).toFixed(1)} ms, on this device.`;
    find("list").dataset.milliseconds = String(now.took);
    listed = new Set(entries.map(({ item }) => item));
  };

  const redraw = (focus) => {
    showHistory(history, side, { rate, remove }, focus);
    find("known").hidden = history.size > 0;
  };

  function add(item, value = side.scale === null ? 1 : undefined) {
    if (!history.has(item)) history.set(item, value);
    redraw(String(item));
    update();
  }

  function rate(item, value, focus) {
    history.set(item, value);
    redraw(focus);
    update();
  }

  function remove(item) {
    history.delete(item);
    redraw("search");
    update();
  }

  setUpSearch(new Search(side.titles, side.order), side.titles, (item) => history.has(item), (item) => add(item));
  find("known").querySelector("ul").replaceChildren(...Array.from(side.order.slice(0, KNOWN), (item) => element("li", {},
    element("button", { type: "button", class: "chip", onclick: () => add(item) }, side.titles[item]))));
  update();
  find("news").textContent = "";
}

function showPromise({ statement, digest, method, precision, notes }) {
  find("promise-lead").textContent = statement.private
    ? "This list comes from what other people did. Noise was added while it was learnt, which limits how much of what any one of them did can show in it. How much at most:"
    : "This model was made without a promise to the people in its data.";
  find("promise").replaceChildren(...statement.answers.map(({ question, short, more }) => element("div", {},
    element("dt", {}, question), element("dd", {}, element("strong", {}, short), element("span", {}, ` ${more}`)))));
  find("attack").textContent = [statement.attack, `In the terms of the field: ${statement.headline}.`].filter(Boolean).join(" ");
  find("about").textContent = [
    `Model ${digest.slice(0, 12)}, method ${method}, numbers as ${precision}.`, ...notes.map((note) => `${note}.`),
  ].join(" ");
}

function setUpTheme() {
  const button = find("theme");
  const root = document.documentElement;
  const dark = () => (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const show = () => button.setAttribute("aria-pressed", String(dark()));
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    show();
  });
  show();
}

setUpTheme();
try {
  const answer = await fetch("model.bin");
  if (!answer.ok) throw new Error(`the model was answered with ${answer.status}`);
  const side = readModel(await unpacked(new Uint8Array(await answer.arrayBuffer())));
  sealPage();
  showPromise(side);
  start(side);
  document.querySelector("main").hidden = false;
  document.documentElement.dataset.ready = "true";
} catch (error) {
  say("broken", location.protocol === "file:"
    ? "Browsers do not let a page read files beside it. Serve the folder instead: python -m http.server --directory FOLDER"
    : `The model could not be loaded: ${error.message}`);
}

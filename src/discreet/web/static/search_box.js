// The search field with its list of titles: a combobox, by keyboard or by finger.

import { element, find } from "./element.js";

const MOST = 8;

export function setUpSearch(search, titles, isTaken, choose) {
  const input = find("search");
  const list = find("found");
  let found = [];
  let active = -1;

  const close = () => {
    list.hidden = true;
    found = [];
    active = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };

  const mark = (place) => {
    active = place;
    [...list.children].forEach((option, k) => option.setAttribute("aria-selected", String(k === place)));
    const option = list.children[place];
    if (!option) return;
    input.setAttribute("aria-activedescendant", option.id);
    option.scrollIntoView({ block: "nearest" });
  };

  const pick = (item) => {
    input.value = "";
    close();
    find("found-news").textContent = "";
    choose(item);
  };

  const show = () => {
    found = search.find(input.value, MOST);
    list.replaceChildren(...found.map((item, k) => {
      const taken = isTaken(item);
      const option = element(
        "li",
        { role: "option", id: `found-${k}`, "aria-selected": "false", onpointerdown: (event) => event.preventDefault(),
          onclick: () => pick(item) },
        titles[item],
      );
      if (taken) option.append(element("span", { class: "soft" }, " · rated"));
      return option;
    }));
    active = -1;
    input.removeAttribute("aria-activedescendant");
    const asked = input.value.trim() !== "";
    list.hidden = found.length === 0;
    input.setAttribute("aria-expanded", String(found.length > 0));
    const count = found.length === MOST ? `${MOST} or more titles` : found.length === 1 ? "1 title" : `${found.length} titles`;
    find("found-news").textContent = !asked ? "" : found.length ? `${count}; arrow keys choose.` : "No title has these words.";
  };

  input.addEventListener("input", show);
  input.addEventListener("focus", () => { if (input.value) show(); });
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" && found.length) mark((active + 1) % found.length);
    else if (event.key === "ArrowUp" && found.length) mark((Math.max(active, 0) + found.length - 1) % found.length);
    else if (event.key === "Enter" && found.length) pick(found[Math.max(active, 0)]);
    else if (event.key === "Escape") { input.value = ""; close(); } else return;
    event.preventDefault();
  });
}

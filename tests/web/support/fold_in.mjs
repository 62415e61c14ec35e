// Reads a packed model and histories, and writes what the page would compute: node fold_in.mjs STATIC MODEL HISTORIES
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [folder, modelFile, historiesFile] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(`${folder}/${name}`).href);
const { readModel, unpacked } = await load("model.js");
const { foldIn } = await load("fold_in.js");
const { best, clipped, pulls, scores } = await load("ranking.js");

const side = readModel(await unpacked(new Uint8Array(readFileSync(modelFile))));
const histories = JSON.parse(readFileSync(historiesFile, "utf8"));
const answers = histories.map(({ items, values, pulled }) => {
  const { coefficients, base, parts } = foldIn(side, items, values);
  const values_ = scores(side, coefficients);
  const top = best(values_, 10, new Set(items));
  const answer = {
    coefficients: Array.from(coefficients),
    top,
    scores: top.map((item) => clipped(side, values_[item])),
    marks: side.marks && top.map((item) => side.marks[item]),
  };
  if (pulled) {
    const all = parts();
    answer.raw = values_[top[0]];
    answer.unpulled = scores(side, base)[top[0]];
    answer.pulls = pulls(side, all, top[0]);
  }
  return answer;
});
process.stdout.write(JSON.stringify(answers));

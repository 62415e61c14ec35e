// Reads a packed model and histories, and writes what the page would compute: node fold_in.mjs STATIC MODEL HISTORIES
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [folder, modelFile, historiesFile] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(`${folder}/${name}`).href);
const { readModel, unpacked } = await load("model.js");
const { foldIn } = await load("fold_in.js");
const { best, clipped, scores, weigh } = await load("ranking.js");

const side = readModel(await unpacked(new Uint8Array(readFileSync(modelFile))));
const histories = JSON.parse(readFileSync(historiesFile, "utf8"));
const answers = histories.map(({ items, values, pulled }) => {
  const weighed = weigh(side, items, values);
  const top = best(weighed.scores, 10, new Set(items));
  const answer = {
    top,
    scores: top.map((item) => clipped(side, weighed.scores[item])),
    marks: side.marks && top.map((item) => side.marks[item]),
  };
  const folded = side.table === null ? foldIn(side, items, values) : null;
  if (folded) answer.coefficients = Array.from(folded.coefficients);
  if (pulled) {
    answer.raw = weighed.scores[top[0]];
    answer.unpulled = (folded ? scores(side, folded.base) : side.offsets)[top[0]];
    answer.pulls = weighed.pulls(top[0]);
  }
  return answer;
});
process.stdout.write(JSON.stringify(answers));

// node search.mjs STATIC QUESTIONS: what the page's search finds, for { titles, order, questions } of a file.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [folder, file] = process.argv.slice(2);
const { Search } = await import(pathToFileURL(`${folder}/search.js`).href);
const { titles, order, questions } = JSON.parse(readFileSync(file, "utf8"));
const search = new Search(titles, order);
process.stdout.write(JSON.stringify(questions.map((text) => search.find(text, 1000))));

// Opens pages in headless Chromium, for benchmarks/pages.py.
//
//   node pages.mjs content CHROMIUM PAGE.html     what the page shows, in its order, as JSON
//   node pages.mjs measure CHROMIUM PAGES.json    what is to be said of each page, as JSON
//   node pages.mjs open CHROMIUM PAGES.json       only the milliseconds that each takes to open
//
// PAGES.json: {"rounds": 15, "pages": {"name": "/path.html", …}}. What a page wants of the network
// is counted and refused, so that no time hangs on a connection.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(new URL("../tests/report/package.json", import.meta.url));
const { chromium } = require("playwright-core");

const [task, executablePath, given] = process.argv.slice(2);
const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
// The printable width of an A4 page, in CSS pixels.
const PAPER = 680;
// What a page builds by script after it was loaded is there by then.
const SETTLED = 1000;
const WINDOW = { viewport: { width: 1280, height: 900 }, offline: true };
// A machine may have much else to do.
const PATIENCE = 60_000;

const browser = await chromium.launch({
  executablePath,
  args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"],
});

async function open(path, options = {}) {
  const context = await browser.newContext({ ...WINDOW, ...options });
  context.setDefaultTimeout(PATIENCE);
  const requests = [];
  const tab = await context.newPage();
  tab.on("request", (request) => requests.push(request.url()));
  await tab.goto(pathToFileURL(path).href);
  if (options.javaScriptEnabled !== false) await tab.waitForTimeout(SETTLED);
  return { context, tab, requests };
}

// From the call to the second frame after everything was loaded: by the clock, and by what the
// page's process took of a processor meanwhile, on which nothing else that runs has a bearing.
async function milliseconds(path) {
  const context = await browser.newContext(WINDOW);
  context.setDefaultTimeout(PATIENCE);
  const tab = await context.newPage();
  const session = await context.newCDPSession(tab);
  await session.send("Performance.enable");
  const began = performance.now();
  await tab.goto(pathToFileURL(path).href);
  await tab.evaluate(
    () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
  );
  const clock = performance.now() - began;
  const { metrics } = await session.send("Performance.getMetrics");
  const processor = 1000 * metrics.find(({ name }) => name === "ProcessTime").value;
  await context.close();
  return { clock, processor };
}

// Who goes first changes from round to round; the round before the first is thrown away.
async function times({ pages, rounds }) {
  const names = Object.keys(pages);
  const found = Object.fromEntries(names.map((name) => [name, { clock: [], processor: [] }]));
  for (let round = -1; round < rounds; round++) {
    for (let place = 0; place < names.length; place++) {
      const name = names[(place + round + 1) % names.length];
      // A browser that got stuck, which a busy machine makes happen, is asked once more.
      const took = await milliseconds(pages[name]).catch(() => milliseconds(pages[name]));
      if (round < 0) continue;
      found[name].clock.push(took.clock);
      found[name].processor.push(took.processor);
    }
  }
  return found;
}

// Headings, paragraphs, tables with their cells, and figures, each once.
async function content(path) {
  const { context, tab } = await open(path);
  const found = await tab.evaluate(() => {
    const text = (one) => one.textContent.replace(/\s+/g, " ").trim();
    // A cell that spans rows stands in each of them, as it does in a data frame.
    const matrix = (rows) => {
      const cells = rows.map(() => []);
      rows.forEach((row, down) => {
        let across = 0;
        for (const cell of row.cells) {
          while (cells[down][across] !== undefined) across++;
          for (let y = 0; y < cell.rowSpan && down + y < rows.length; y++)
            for (let x = 0; x < cell.colSpan; x++) cells[down + y][across + x] = x ? "" : text(cell);
        }
      });
      return cells;
    };
    const parts = [];
    const blocks = "h1,h2,h3,h4,h5,h6,p,li,dt,dd,table,img";
    for (const one of document.querySelector("main").querySelectorAll(blocks)) {
      if (one.parentElement.closest("table, h1, h2, h3, h4, h5, h6")) continue;
      const name = one.localName;
      if (name === "table") {
        parts.push({
          kind: "table",
          caption: one.caption ? text(one.caption) : "",
          columns: matrix([...one.tHead.rows]).at(-1),
          rows: matrix([...one.tBodies].flatMap((body) => [...body.rows])),
        });
      } else if (name === "img") parts.push({ kind: "figure", source: one.src, text: one.alt });
      else if (/^h\d$/.test(name)) parts.push({ kind: "heading", level: +name[1], text: text(one) });
      else if (!one.querySelector(blocks)) parts.push({ kind: "text", text: text(one) });
    }
    return parts;
  });
  await context.close();
  return found;
}

// Broken rules of the accessibility engine, with the number of elements that break each.
async function violations(path, colorScheme) {
  const { context, tab } = await open(path, { colorScheme, bypassCSP: true });
  await tab.evaluate(() => document.querySelectorAll("details").forEach((one) => (one.open = true)));
  await tab.evaluate(readFileSync(require.resolve("axe-core/axe.min.js"), "utf8"));
  const found = await tab.evaluate(async (tags) => {
    const { violations } = await globalThis.axe.run(document, {
      runOnly: { type: "tag", values: tags },
      resultTypes: ["violations"],
    });
    return Object.fromEntries(violations.map((rule) => [rule.id, rule.nodes.length]));
  }, TAGS);
  await context.close();
  return found;
}

async function words(path, javaScriptEnabled) {
  const { context, tab } = await open(path, { javaScriptEnabled });
  const text = await tab.locator("body").innerText();
  await context.close();
  return text.split(/\s+/).filter(Boolean).length;
}

// How far the page can be scrolled sideways on a phone; and what is cut off on paper.
async function layout(path) {
  const { context, tab } = await open(path, { viewport: { width: 320, height: 640 } });
  const sideways = await tab.evaluate(() => {
    globalThis.scrollTo({ left: 100000, behavior: "instant" });
    return Math.round(globalThis.scrollX);
  });
  await tab.setViewportSize({ width: PAPER, height: 1000 });
  await tab.emulateMedia({ media: "print", colorScheme: "dark" });
  const paper = await tab.evaluate(() => {
    // A box that scrolls on screen cuts on paper.
    const cut = (one) => {
      const { left, right, width } = one.getBoundingClientRect();
      if (!width || !one.checkVisibility()) return false;
      let edge = document.documentElement.clientWidth;
      for (let box = one.parentElement; box; box = box.parentElement) {
        if (getComputedStyle(box).overflowX !== "visible")
          edge = Math.min(edge, box.getBoundingClientRect().right);
      }
      return right > edge + 1;
    };
    const shown = [...document.querySelectorAll("table, img, svg")].filter((one) =>
      one.checkVisibility(),
    );
    return { shown: shown.length, cut: shown.filter(cut).length };
  });
  await context.close();
  return { sideways, paper };
}

// Whether a script runs that was smuggled into the page's text.
async function injected(path) {
  const { context, tab } = await open(path);
  const policy = await tab.evaluate(
    () => document.querySelector('meta[http-equiv="Content-Security-Policy" i]')?.content ?? "",
  );
  const ran = await tab.evaluate(() => {
    const script = document.createElement("script");
    script.textContent = "globalThis.smuggled = true";
    document.body.append(script);
    return globalThis.smuggled === true;
  });
  await context.close();
  return { policy, ran };
}

async function measure({ pages, rounds }) {
  const opened = await times({ pages, rounds });
  const found = {};
  for (const [name, path] of Object.entries(pages)) {
    const { context, requests } = await open(path);
    await context.close();
    found[name] = {
      milliseconds: opened[name],
      requests: requests.filter((url) => !/^(data|blob):/.test(url)),
      axe: { light: await violations(path, "light"), dark: await violations(path, "dark") },
      words: { with: await words(path, true), without: await words(path, false) },
      injected: await injected(path),
      ...(await layout(path)),
    };
  }
  return found;
}

const tasks = { content, measure, open: times };
const asked = task === "content" ? given : JSON.parse(readFileSync(given, "utf8"));
const answer = await tasks[task](asked);
await browser.close();
console.log(JSON.stringify(answer));

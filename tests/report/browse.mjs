// Opens a page in headless Chromium and reports, as JSON, what pytest then judges.
//
//   node browse.mjs CHROMIUM PAGE.html INJECTED.html FOLDER
//   node browse.mjs CHROMIUM PAGE.html
//
// INJECTED is the page with a script smuggled in; downloads and the PDF go to FOLDER. Without them
// it is no report, and looked at for what every page must meet.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [executablePath, page, injected, folder] = process.argv.slice(2);
const address = pathToFileURL(page).href;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
const WIDTHS = [320, 640, 768, 1280];
// The printable width of an A4 page with the margins of the style, in CSS pixels.
const PAPER = 680;

const browser = await chromium.launch({
  executablePath,
  args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"],
});

async function open(options, url = address) {
  const context = await browser.newContext(options);
  const tab = await context.newPage();
  const seen = { requests: [], errors: [] };
  tab.on("request", (request) => seen.requests.push(request.url().slice(0, 200)));
  tab.on("console", (message) => seen.errors.push(message.text().slice(0, 300)));
  tab.on("pageerror", (error) => seen.errors.push(String(error).slice(0, 300)));
  await tab.goto(url);
  return { context, tab, seen };
}

const unfold = (tab) =>
  tab.evaluate(() => document.querySelectorAll("details").forEach((one) => (one.open = true)));

// Elements that stick out of the window, other than what lies in a box of its own that scrolls.
const overflow = (tab) =>
  tab.evaluate(() => {
    const root = document.documentElement;
    const out = [...document.body.querySelectorAll("*")]
      .filter((one) => !one.closest(".scroll") || one.matches(".scroll"))
      .filter((one) => !one.closest(".hidden, .links i, .skip, .sprite"))
      .filter((one) => one.getBoundingClientRect().right > root.clientWidth + 1);
    return {
      sideways: root.scrollWidth - root.clientWidth,
      outside: out.slice(0, 5).map((one) => `${one.tagName}.${one.className} in ${one.closest("[id]")?.id}`),
    };
  });

async function accessibility(colorScheme) {
  const { context, tab } = await open({ colorScheme, bypassCSP: true });
  // All of it as it is when it has been scrolled to: what is not laid out yet has no true place.
  await tab.addStyleTag({ content: "* { content-visibility: visible !important; }" });
  await unfold(tab);
  await tab.evaluate(axe);
  const found = await tab.evaluate(async (tags) => {
    const { violations, passes, testEngine } = await globalThis.axe.run(document, {
      runOnly: { type: "tag", values: tags },
      resultTypes: ["violations"],
    });
    return {
      engine: testEngine.version,
      passed: passes.map((rule) => rule.id),
      violations: violations.map((rule) => ({
        rule: rule.id,
        count: rule.nodes.length,
        first: rule.nodes[0].html.slice(0, 200),
        why: rule.nodes[0].failureSummary,
      })),
    };
  }, TAGS);
  await context.close();
  return found;
}

async function visibleText(javaScriptEnabled) {
  const { context, tab } = await open({ javaScriptEnabled });
  const text = await tab.locator("body").innerText();
  await context.close();
  return text;
}

async function structure(tab) {
  return tab.evaluate(() => {
    const ids = [...document.querySelectorAll("[id]")].map((one) => one.id);
    const known = new Set(ids);
    const visible = (one) => one.checkVisibility();
    return {
      title: document.title,
      language: document.documentElement.lang,
      policy: document.querySelector('meta[http-equiv="Content-Security-Policy"]')?.content,
      background: getComputedStyle(document.body).backgroundColor,
      scripts: document.scripts.length,
      styled: document.querySelectorAll("[style]").length,
      handlers: [...document.querySelectorAll("*")].filter((one) =>
        [...one.attributes].some((attribute) => attribute.name.startsWith("on")),
      ).length,
      headings: [...document.querySelectorAll("h1,h2,h3,h4,h5,h6")].map((one) => ({
        level: +one.tagName[1],
        text: one.textContent.trim(),
      })),
      repeated: ids.filter((id, place) => ids.indexOf(id) !== place),
      ids,
      dead: [...document.querySelectorAll("a[href]")]
        .map((one) => one.getAttribute("href"))
        .filter((href) => !href.startsWith("data:"))
        .filter((href) => !href.startsWith("#") || !known.has(href.slice(1))),
      unlabelled: [...document.querySelectorAll("[aria-labelledby]")].filter(
        (one) => !known.has(one.getAttribute("aria-labelledby")),
      ).length,
      images: [...document.images].map((one) => ({
        alt: one.alt,
        caption:
          one.closest(".exhibit")?.querySelector("figcaption")?.textContent.trim() ??
          one.closest("li")?.textContent.trim() ??
          "",
        // A small one says in a sentence what its claim shows in numbers.
        claim: one.closest(".findings li")?.querySelector(".source a")?.getAttribute("href") ?? "",
        text: one.closest(".exhibit")?.querySelector("details")?.textContent.trim() ?? "",
        numbers: one.closest(".exhibit")?.querySelectorAll("details tbody tr").length ?? 0,
        width: one.naturalWidth,
        shown: visible(one),
        source: one.currentSrc,
      })),
      tables: [...document.querySelectorAll("table")].map((one) => ({
        caption: one.caption?.textContent.trim() ?? "",
        unscoped: one.querySelectorAll("th:not([scope])").length,
        heads: one.querySelectorAll("thead th[scope=col]").length,
        boxed: !!one.closest('.scroll[role="region"][tabindex="0"][aria-label]'),
      })),
      boxes: [...document.querySelectorAll(".scroll")].map((one) => one.getAttribute("aria-label")),
      text: document.body.textContent,
    };
  });
}

// The first stop of the Tab key, and where it leads; then the outline that focus draws.
async function keyboard(tab) {
  await tab.keyboard.press("Tab");
  const skip = await tab.evaluate(() => {
    const one = document.activeElement;
    const box = one.getBoundingClientRect();
    return { href: one.getAttribute("href"), text: one.textContent, top: box.top, left: box.left };
  });
  await tab.keyboard.press("Enter");
  const target = await tab.evaluate(() => document.querySelector(":target")?.id ?? null);
  await tab.keyboard.press("Tab");
  const outline = await tab.evaluate(() => {
    const style = getComputedStyle(document.activeElement);
    return { style: style.outlineStyle, width: parseFloat(style.outlineWidth) };
  });
  return { ...skip, target, outline };
}

// Chromium lets a page start ten downloads, then asks the user: take a new page before that.
const DOWNLOADS_A_PAGE = 8;

async function downloads() {
  const saved = {};
  for (let place = 0, total = 1; place < total; ) {
    const { context, tab } = await open({ javaScriptEnabled: false, acceptDownloads: true });
    await unfold(tab); // the answers' table is folded
    const links = tab.locator("a[download]");
    total = await links.count();
    for (const end = Math.min(place + DOWNLOADS_A_PAGE, total); place < end; place++) {
      const waiting = tab.waitForEvent("download");
      await links.nth(place).click();
      const download = await waiting;
      saved[download.suggestedFilename()] = join(folder, `${place}.csv`);
      await download.saveAs(saved[download.suggestedFilename()]);
    }
    await context.close();
  }
  return saved;
}

// What the filter leaves, with the style alone; a claim that a link leads to is shown all the same.
async function filter() {
  const { context, tab } = await open({ javaScriptEnabled: false });
  const claims = (selector) => tab.locator(`.claim${selector}:visible`).count();
  const found = { all: await claims("") };
  await tab.locator("#only-refuted").check();
  found.refuted = await claims(".refuted");
  found.others = await claims(":not(.refuted)");
  found.empty = await tab.locator(".stretch:visible:not(:has(.claim.refuted))").count();
  found.told = await tab.locator(".filtered").isVisible();
  found.hidden = await tab.locator(".claim:not(.refuted)").first().getAttribute("id");
  await tab.goto(`${address}#${found.hidden}`);
  found.target = await tab.locator(`[id="${found.hidden}"]`).isVisible();
  await tab.emulateMedia({ media: "print" });
  found.paper = await claims("");
  await tab.emulateMedia({ media: "screen" });
  await tab.locator("#only-lesson-b").check();
  found.both = await claims(":not(:target)");
  found.elsewhere = await tab.locator(".lesson:not(.in-b) .claim:not(:target):visible").count();
  await tab.locator(".filtered button").click();
  found.reset = await claims("");
  await context.close();
  return found;
}

async function injection() {
  const { context, tab, seen } = await open({}, pathToFileURL(injected).href);
  await tab.waitForTimeout(100);
  const ran = await tab.evaluate(() => ({
    title: document.title,
    marked: globalThis.injected ?? null,
    coloured: getComputedStyle(document.querySelector("#smuggled")).color,
    there: document.querySelectorAll("script").length,
  }));
  await context.close();
  return { ...ran, requests: seen.requests, refused: seen.errors };
}

// How bright each figure is where it is painted, and which share of it is painted: the page carries
// one drawing for both themes, and this is the one that is seen.
const painted = (tab) =>
  tab.evaluate(() =>
    Promise.all(
      [...document.images].map(async (one) => {
        await one.decode();
        const canvas = document.createElement("canvas");
        canvas.width = 120;
        canvas.height = Math.ceil((120 * one.naturalHeight) / one.naturalWidth);
        const context = canvas.getContext("2d", { willReadFrequently: true });
        context.drawImage(one, 0, 0, canvas.width, canvas.height);
        const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
        let [light, opaque] = [0, 0];
        for (let place = 0; place < data.length; place += 4) {
          const [red, green, blue, alpha] = data.slice(place, place + 4);
          light += (alpha * (red + green + blue)) / 3;
          opaque += alpha;
        }
        return { brightness: light / opaque, share: opaque / 255 / (data.length / 4) };
      }),
    ),
  );

async function paper() {
  const { context, tab } = await open({ viewport: { width: PAPER, height: 1000 } });
  await tab.emulateMedia({ media: "print", colorScheme: "dark" });
  const found = await tab.evaluate(() => {
    const right = document.documentElement.clientWidth + 1;
    const cut = [...document.querySelectorAll("table, img, pre, code, p")]
      .filter((one) => one.checkVisibility() && !one.closest(".hidden"))
      .filter((one) => one.getBoundingClientRect().right > right);
    return {
      cut: cut.slice(0, 5).map((one) => `${one.tagName} in ${one.closest("[id]")?.id}`),
      background: getComputedStyle(document.body).backgroundColor,
      // Chromium leaves what is folded out of boxes on paper, unless the style says otherwise.
      equivalents: [...document.querySelectorAll(".equivalent > p")].map(
        (one) => one.checkVisibility(),
      ),
    };
  });
  found.painted = await painted(tab);
  await tab.pdf({ path: join(folder, "report.pdf"), preferCSSPageSize: true });
  await context.close();
  return found;
}

const { context, tab, seen } = await open({ viewport: { width: 1280, height: 900 } });
const result = { light: await structure(tab), requests: seen.requests, errors: seen.errors };
result.painted = { light: await painted(tab) };
result.keyboard = await keyboard(tab);
result.widths = {};
for (const folded of [true, false]) {
  if (!folded) await unfold(tab);
  for (const width of WIDTHS) {
    await tab.setViewportSize({ width, height: 900 });
    result.widths[`${width} px, ${folded ? "folded" : "unfolded"}`] = await overflow(tab);
  }
}
await context.close();
result.axe = { light: await accessibility("light"), dark: await accessibility("dark") };
if (!injected) {
  await browser.close();
  console.log(JSON.stringify(result));
  process.exit();
}
const dark = await open({ colorScheme: "dark" });
result.dark = await structure(dark.tab);
result.painted.dark = await painted(dark.tab);
await dark.context.close();
result.visible = { with: await visibleText(true), without: await visibleText(false) };
result.downloads = await downloads();
result.filter = await filter();
result.injection = await injection();
result.paper = await paper();
await browser.close();
console.log(JSON.stringify(result));

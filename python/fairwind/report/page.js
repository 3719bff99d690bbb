"use strict";

/** Unpack what Python has compressed with zlib and written in base 64. */
async function unpacked(id) {
  const text = document.getElementById(id).textContent;
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).text();
}

const AXIS_WIDTH = 104; // an axis with its labels and title, in pixels
const GAP = 30; // between panels

/** Give the width of the plots of a chart, without their axes; 0 where they fit their content. */
function plotWidth(chart) {
  const plot = chart.spec ?? chart;
  return typeof plot.width === "number" ? plot.width : 0;
}

/** Fit a chart into so many pixels: fewer panels in a row, narrower plots. */
function fitted(chart, width, isAlone = true) {
  const parts = chart.vconcat ?? chart.hconcat ?? chart.concat ?? [];
  parts.forEach((part) => fitted(part, width, false));
  const plot = chart.spec ?? chart;
  if (plotWidth(chart) > width - AXIS_WIDTH) {
    plot.width = Math.max(160, width - AXIS_WIDTH);
    if (isAlone && plot === chart && typeof plot.height === "number") {
      // Only a single plot can measure its own axis.
      plot.width = width;
      plot.autosize = { type: "fit-x", contains: "padding" };
    }
  }
  if (chart.columns && (chart.facet || chart.concat)) {
    const hasOwnAxes = chart.concat || chart.resolve?.scale?.y === "independent";
    const widest = Math.max(plotWidth(chart), ...parts.map(plotWidth));
    const panel = widest + (hasOwnAxes ? AXIS_WIDTH : GAP);
    const fit = Math.floor((width - (hasOwnAxes ? 0 : AXIS_WIDTH - GAP)) / panel);
    // Rows of four are halved, so that none is left with a single panel.
    const even = chart.columns === 4 && fit === 3 ? 2 : fit;
    chart.columns = Math.max(1, Math.min(chart.columns, even));
  }
  return chart;
}

const LEGEND_ABOVE = 800; // narrower pages have no room for a legend beside the plots

/** Give the charts that a chart consists of. */
function partsOf(chart) {
  const lists = [chart.layer, chart.vconcat, chart.hconcat, chart.concat];
  return [chart.spec, ...lists.flatMap((list) => list ?? [])].filter(Boolean);
}

const LEGEND_LETTERS = 36; // longer labels are broken into lines: see plots/theme.py

/** Give the number of letters of the longest line in the legend of colours. */
function longestName(chart) {
  const names = chart.encoding?.color?.scale?.domain ?? [];
  const lengths = partsOf(chart).map(longestName);
  return Math.max(0, ...lengths, ...names.map((name) => Math.min(LEGEND_LETTERS, String(name).length)));
}

/** Give every legend of a chart, which may say otherwise, so many columns. */
function setColumns(chart, columns) {
  for (const channel of Object.values(chart.encoding ?? {})) {
    if (channel.legend?.columns > columns) {
      channel.legend.columns = columns;
    }
  }
  partsOf(chart).forEach((part) => setColumns(part, columns));
}

/** Set how legends stand on a page that is so wide. */
function withLegend(chart, width) {
  const config = (chart.config ??= {});
  const legend = (config.legend ??= {});
  if (width < LEGEND_ABOVE) {
    const name = 7 * longestName(chart) + 60; // in pixels, with its sign
    const columns = Math.max(1, Math.min(4, Math.floor(width / name)));
    Object.assign(legend, { orient: "top", columns });
    setColumns(chart, columns);
  }
  return chart;
}

async function draw(place, specification) {
  const name = place.dataset.figure;
  const width = place.closest(".wide").clientWidth;
  const chart = withLegend(structuredClone(specification), width);
  const legendWidth = width < LEGEND_ABOVE ? 0 : 7 * longestName(chart) + 70;
  place.textContent = "";
  try {
    await window.vegaEmbed(place, fitted(chart, width - legendWidth), {
      // What can be zoomed has thousands of marks: as elements of the page they took a second for
      // each turn of the wheel.
      renderer: chart.params ? "canvas" : "svg",
      actions: { export: true, source: false, compiled: false, editor: false },
      downloadFileName: name,
    });
  } catch (error) {
    place.textContent = `Error: the figure ${name} could not be drawn: ${error.message}`;
  }
}

async function drawAll(specifications) {
  for (const place of document.querySelectorAll(".chart")) {
    await draw(place, specifications[place.dataset.figure]);
  }
  document.documentElement.dataset.drawn = String(window.innerWidth);
}

async function drawFigures() {
  const places = document.querySelectorAll(".chart");
  if (places.length > 0) {
    try {
      const [code, text] = await Promise.all([unpacked("drawing-code"), unpacked("specifications")]);
      const script = document.createElement("script");
      script.textContent = code;
      document.body.append(script);
      const specifications = JSON.parse(text);
      await drawAll(specifications);
      redrawOnResize(specifications);
    } catch (error) {
      for (const place of places) {
        place.textContent = `Error: this browser cannot unpack the figures: ${error.message}`;
      }
    }
  }
  document.documentElement.dataset.drawn ??= String(window.innerWidth);
}

function redrawOnResize(specifications) {
  let timer;
  let drawn = window.innerWidth;
  window.addEventListener("resize", () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (window.innerWidth !== drawn) {
        drawn = window.innerWidth;
        drawAll(specifications);
      }
    }, 250);
  });
}

/** Order of two cells: numbers by their value, missing ones last, anything else as text. */
function compared(one, other, isNumber, sign) {
  if (isNumber) {
    const [a, b] = [one, other].map((text) => parseFloat(text.replaceAll(",", "")));
    if (Number.isNaN(a) || Number.isNaN(b)) {
      return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
    }
    return sign * (a - b);
  }
  return sign * one.localeCompare(other, "en", { numeric: true });
}

function sortTable(table, place, sign) {
  const header = table.tHead.rows[0].cells[place];
  const isNumber = header.classList.contains("number");
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row) => [row.cells[place].dataset.value ?? row.cells[place].textContent, row]);
  rows.sort(([one], [other]) => compared(one, other, isNumber, sign));
  body.append(...rows.map(([, row]) => row));
  for (const cell of table.tHead.rows[0].cells) {
    cell.removeAttribute("aria-sort");
  }
  header.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
}

function makeSortable(table) {
  [...table.tHead.rows[0].cells].forEach((header, place) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...header.childNodes);
    header.append(button);
    button.addEventListener("click", () => {
      sortTable(table, place, header.getAttribute("aria-sort") === "ascending" ? -1 : 1);
    });
  });
}

function listContents() {
  const list = document.querySelector("nav ol");
  for (const section of document.querySelectorAll("main > section[id]")) {
    const link = document.createElement("a");
    link.href = `#${section.id}`;
    link.textContent = section.querySelector("h2").textContent;
    const item = document.createElement("li");
    item.append(link);
    list.append(item);
  }
  document.querySelector("nav details").open = window.innerWidth >= 600;
}

/** What is folded away is printed, except for the previews of tables. */
function printWhole() {
  window.addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("main details:not(#tables details)")) {
      if (!details.open) {
        details.open = true;
        details.dataset.printed = "";
      }
    }
  });
  window.addEventListener("afterprint", () => {
    for (const details of document.querySelectorAll("details[data-printed]")) {
      details.open = false;
      delete details.dataset.printed;
    }
  });
}

document.querySelectorAll("table.sortable").forEach(makeSortable);
listContents();
printWhole();
drawFigures();

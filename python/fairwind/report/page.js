"use strict";
const specifications = JSON.parse(document.getElementById("specifications").textContent);
for (const place of document.querySelectorAll(".chart")) {
  const name = place.dataset.figure;
  place.textContent = "";
  window.vegaEmbed(place, specifications[name], {
    renderer: "svg",
    actions: { export: true, source: false, compiled: false, editor: false },
    downloadFileName: name,
  }).catch((error) => {
    place.textContent = `Error: the figure ${name} could not be drawn: ${error.message}`;
  });
}

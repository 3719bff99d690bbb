"use strict";
const specifications = JSON.parse(document.getElementById("specifications").textContent);
for (const place of document.querySelectorAll(".chart")) {
  const name = place.dataset.figure;
  place.textContent = "";
  const specification = specifications[name];
  window.vegaEmbed(place, specification, {
    // What can be zoomed has thousands of marks: as elements of the page they took a second for each turn of the wheel.
    renderer: specification.params ? "canvas" : "svg",
    actions: { export: true, source: false, compiled: false, editor: false },
    downloadFileName: name,
  }).catch((error) => {
    place.textContent = `Error: the figure ${name} could not be drawn: ${error.message}`;
  });
}

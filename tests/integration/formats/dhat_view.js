// usage: node dhat_view.js DH_VIEW_JS DATA_FILE
// Loads a file into valgrind's viewer of DHAT's data as its page does, in a made-up document, shows
// it by every metric, and prints what the viewer then knows as JSON.
"use strict";
const fs = require("fs");
const vm = require("vm");

class Element {
  constructor() {
    this.childNodes = [];
    this.classList = { contains: () => false, toggle() {}, add() {} };
  }
  appendChild(child) {
    child.parentNode = this;
    this.childNodes.push(child);
  }
  replaceChild(next, old) {
    this.childNodes[this.childNodes.indexOf(old)] = next;
    next.parentNode = this;
  }
  cloneNode() {
    return new Element();
  }
  get selectedIndex() {
    return this.childNodes.findLastIndex((option) => option.selected);
  }
  text() {
    return (this.textContent || "") + this.childNodes.map((child) => child.text()).join("");
  }
}

const context = vm.createContext({
  document: {
    body: new Element(),
    location: { search: "" },
    createElement: () => new Element(),
    createTextNode(text) {
      const node = new Element();
      node.textContent = text;
      return node;
    },
  },
  performance,
  URLSearchParams,
});
vm.runInContext(fs.readFileSync(process.argv[2], "utf8"), context);
context.dataText = fs.readFileSync(process.argv[3], "utf8");

// Names that the viewer declares are seen by scripts of the same context alone.
vm.runInContext(
  `
  var seen = {};
  onLoad();
  gData = JSON.parse(dataText);
  buildTree();
  for (const option of gSelect.childNodes) {
    if (option.disabled) continue;
    option.selected = true;
    displayTree(0, 0, 0);
    option.selected = false;
  }
  gSelect.childNodes[1].selected = true;
  displayTree(0, 0, 0);
  seen.root = gRoot;
  seen.text = gMainDiv.text();
  `,
  context
);
const { root, text } = context.seen;
console.log(
  JSON.stringify({
    totalBytes: root._totalBytes,
    totalBlocks: root._totalBlocks,
    peakBytes: root._atTGmaxBytes,
    endBytes: root._atTEndBytes,
    endBlocks: root._atTEndBlocks,
    text,
  })
);

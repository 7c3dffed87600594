// The book's search, without a server: book_sections.js, which book.py writes, holds [url, title, text] of each section.
"use strict";
(() => {
  const base = document.currentScript.src.replace(/[^/]*$/, ""), menu = document.querySelector(".wy-side-nav-search");
  const made = (name, values) => Object.assign(document.createElement(name), values);
  const input = made("input", {type: "search", id: "search", placeholder: "Search", autocomplete: "off"});
  const found = made("div", {id: "found", className: "rst-content"});
  found.setAttribute("aria-live", "polite");
  menu.append(input);
  document.querySelector("[role=main]").before(found);
  let sections = null;
  const load = () => sections || (sections = new Promise(done => {
    document.head.append(made("script", {src: base + "book_sections.js", onload: () => done(window.book_sections)}));
  }));
  const excerpt = (text, word) => {
    const at = Math.max(text.toLowerCase().indexOf(word) - 60, 0);
    return (at ? "… " : "") + text.slice(at, at + 180) + (at + 180 < text.length ? " …" : "");
  };
  input.oninput = async () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean), all = await load();
    if (words.join(" ") != input.value.toLowerCase().trim().replace(/\s+/g, " ")) return;  // more was typed meanwhile
    const count = (text, word) => text.toLowerCase().split(word).length - 1;
    const scored = input.value.trim().length < 2 ? [] : all.map(([url, title, text]) => {
      const each = words.map(word => 10 * count(title, word) + count(text, word));
      return {url, title, text, score: Math.min(...each) && each.reduce((a, b) => a + b)};
    }).filter(one => one.score).sort((a, b) => b.score - a.score).slice(0, 20);
    found.replaceChildren(...(words.length && !scored.length ? [made("p", {textContent: "Nothing was found."})] : scored.map(one => {
      const part = made("p", {});
      part.append(made("a", {href: base + one.url, textContent: one.title}), made("br", {}), excerpt(one.text, words[0]));
      return part;
    })));
  };
})();

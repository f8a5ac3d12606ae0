"use strict";
// The content anew, unless somebody is at work in it.
async function refresh() {
  const busy = document.activeElement.closest("main *")
    || document.querySelector("main details[open]") || String(getSelection());
  if (document.hidden || busy) return;
  try {
    const answer = await fetch(location.href);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const main = page.querySelector("main");
    if (!answer.ok || !main) throw new Error(answer.statusText);
    document.querySelector("main").replaceWith(main);
    document.title = page.title;
    delete document.documentElement.dataset.stale;
  } catch {
    document.documentElement.dataset.stale = "";
  }
}
setInterval(refresh, 10000);

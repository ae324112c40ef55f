(function () {
  "use strict";
  // A page opened from a file may have no storage; the choice then lasts until the page is closed.
  var root = document.documentElement, key = "plimsoll-theme";
  root.classList.add("js");
  try {
    var kept = localStorage.getItem(key);
    if (kept === "light" || kept === "dark") root.dataset.theme = kept;
  } catch (e) { /* not allowed here */ }
  function dark() {
    return root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }
  document.addEventListener("DOMContentLoaded", function () {
    var button = document.getElementById("theme");
    function say() {
      button.textContent = dark() ? "Light theme" : "Dark theme";
    }
    button.hidden = false;
    say();
    button.addEventListener("click", function () {
      root.dataset.theme = dark() ? "light" : "dark";
      try { localStorage.setItem(key, root.dataset.theme); } catch (e) { /* not allowed here */ }
      say();
      document.dispatchEvent(new CustomEvent("themechange"));
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", function () {
      say();
      document.dispatchEvent(new CustomEvent("themechange"));
    });
    // Unfold details before printing, because paper cannot be clicked.
    addEventListener("beforeprint", function () {
      document.querySelectorAll("details.print").forEach(function (d) { d.open = true; });
    });
    // Clicking on a PromQL expression selects all of it, which needs no clipboard permission.
    document.querySelectorAll("pre.promql").forEach(function (pre) {
      pre.addEventListener("click", function () {
        if (String(getSelection()) === "") getSelection().selectAllChildren(pre);
      });
    });
  });
})();

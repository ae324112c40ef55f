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
    // Copying through a selection also works in a page opened from a file.
    document.querySelectorAll("pre").forEach(function (pre) {
      var copy = document.createElement("button");
      copy.type = "button";
      copy.className = "copy";
      copy.textContent = "Copy";
      copy.addEventListener("click", function () {
        var chosen = getSelection(), done = false;
        chosen.selectAllChildren(pre);
        try { done = document.execCommand("copy"); } catch (e) { /* not allowed here */ }
        if (done) chosen.removeAllRanges();
        copy.textContent = done ? "Copied" : "Selected";
        setTimeout(function () { copy.textContent = "Copy"; }, 2000);
      });
      pre.parentNode.insertBefore(copy, pre);
    });
    // A link to something folded unfolds it.
    function unfold() {
      var id = decodeURIComponent(location.hash.slice(1));
      var at = id && document.getElementById(id);
      for (var d = at; d; d = d.parentElement) if (d.tagName === "DETAILS") d.open = true;
      var own = at && at.querySelector && at.querySelector("details.fix");
      if (own) own.open = true;
    }
    addEventListener("hashchange", unfold);
    unfold();
    // Clicking on a PromQL expression selects all of it, which needs no clipboard permission.
    document.querySelectorAll("pre.promql").forEach(function (pre) {
      pre.addEventListener("click", function () {
        if (String(getSelection()) === "") getSelection().selectAllChildren(pre);
      });
    });
  });
})();

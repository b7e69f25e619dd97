// Open the entries of methods for a link to one of them: not all browsers do.
function openTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const folded = target?.closest("details:not([open])");
  if (folded) {
    folded.open = true;
    target.scrollIntoView();
  }
}
addEventListener("hashchange", openTarget);
addEventListener("DOMContentLoaded", openTarget);

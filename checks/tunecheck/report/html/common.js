// What every page does: copies a remedy, opens everything on paper.
(() => {
  document.addEventListener("click", async (event) => {
    const button = event.target instanceof Element ? event.target.closest(".copy") : null;
    if (!button) return;
    let done = false;
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      done = true;
    } catch {
      getSelection().selectAllChildren(button.previousElementSibling);
      done = document.execCommand("copy");
    }
    button.textContent = done ? "Copied" : "Selected";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });

  // On paper nothing can be opened.
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    for (const element of closed) element.open = true;
  });
  addEventListener("afterprint", () => { for (const element of closed) element.open = false; });
})();

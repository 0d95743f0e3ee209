// What every page does: copies a command, opens what a link leads to, opens everything on paper.
(() => {
  document.addEventListener("click", async (event) => {
    const button = event.target instanceof Element ? event.target.closest(".copy") : null;
    if (!button) return;
    let done = false;
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      done = true;
    } catch {
      getSelection().selectAllChildren(button.parentElement.querySelector("code"));
      done = document.execCommand("copy");
    }
    button.textContent = done ? "Copied" : "Selected";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });

  // What a link leads to may be closed, or filtered away.
  const show = (hash) => {
    const target = hash.length > 1 ? document.getElementById(hash.slice(1)) : null;
    if (!target) return;
    const form = document.getElementById("filter");
    if (form && target.closest("[hidden]")) {
      form.reset();
      form.dispatchEvent(new Event("input"));
    }
    for (let at = target; at; at = at.parentElement) if (at instanceof HTMLDetailsElement) at.open = true;
    target.scrollIntoView();
  };
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a[href^='#']") : null;
    if (link) show(link.hash);
  });
  show(location.hash);

  // On paper nothing can be opened.
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    for (const element of closed) element.open = true;
  });
  addEventListener("afterprint", () => { for (const element of closed) element.open = false; });
})();

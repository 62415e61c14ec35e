// After the model is loaded the page gives up its right to connect to anything, for good, and lets anybody try.
//
// A policy that a script adds comes on top of what the page was served with: the browser takes the strictest of all.

import { element, find } from "./element.js";

const NOTHING = "default-src 'none'; base-uri 'none'; form-action 'none'";

export function sealPage() {
  document.head.append(element("meta", { "http-equiv": "Content-Security-Policy", content: NOTHING }));
  say("closed", "Sealed: this page can no longer send or fetch anything. What you rate stays here, and is gone when you close it.");
  const button = find("try");
  button.hidden = false;
  button.addEventListener("click", () => putToTheTest(button));
}

export function say(state, text) {
  find("seal").dataset.state = state;
  find("seal-text").textContent = text;
}

async function putToTheTest(button) {
  button.disabled = true;
  // One after the other: a report of the first must not be taken for one of the second.
  const refused = [await blocked(() => fetch("?test")), await beaconBlocked(), await imageBlocked()].every(Boolean);
  if (refused) say("closed", "Tried to send a request three ways just now: your browser refused each. You can also cut the network; the page goes on.");
  else say("broken", "A request went out. Do not trust this page with anything.");
  button.disabled = false;
}

async function blocked(attempt) {
  try {
    await attempt();
    return false;
  } catch {
    return true;
  }
}

// sendBeacon says "queued" even where the policy then stops it, so the browser's own report of that is what counts.
function beaconBlocked() {
  return reported("connect-src", () => navigator.sendBeacon("?test", "x"));
}

function imageBlocked() {
  return reported("img-src", () => { new Image().src = "?test"; });
}

function reported(directive, attempt) {
  return new Promise((resolve) => {
    const heard = (event) => {
      if (!event.effectiveDirective.startsWith(directive)) return;
      done(true);
    };
    const done = (answer) => {
      document.removeEventListener("securitypolicyviolation", heard);
      clearTimeout(timer);
      resolve(answer);
    };
    const timer = setTimeout(() => done(false), 2000);
    document.addEventListener("securitypolicyviolation", heard);
    attempt();
  });
}

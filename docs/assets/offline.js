// Search without a server: a page from the disk may not start workers, so one runs in a frame.
"use strict";
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.documentElement.append(frame);
      const inside = this.inside = frame.contentWindow;
      inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }));
      inside.importScripts = (...urls) => Promise.all(urls.map(add));
      const add = source => new Promise(done => {
        const script = inside.document.createElement("script");
        script.src = source;
        script.onload = done;
        inside.document.body.append(script);
      });
      this.waiting = [];
      add(url).then(() => {
        this.ready = true;
        for (const data of this.waiting) this.postMessage(data);
      });
    }
    postMessage(data) {
      if (this.ready) this.inside.dispatchEvent(new MessageEvent("message", { data }));
      else this.waiting.push(data);
    }
    terminate() {}
  };
}

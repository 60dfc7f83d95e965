// Keeps the page's own files, so that it opens without a network. Another build has another name, and
// takes the place of the one before as a whole, once no page of that one is open.
"use strict";
const CACHE = "astra-{{build}}";
const FILES = [{{files}}];

self.addEventListener("install", (event) => {
    const fill = async () => {
        const cache = await caches.open(CACHE);
        await cache.addAll(FILES.map((name) => new Request(name, { cache: "no-cache" })));
    };
    event.waitUntil(fill());
});

self.addEventListener("activate", (event) => {
    const clean = async () => {
        const names = await caches.keys();
        await Promise.all(names.filter((n) => n.startsWith("astra-") && n !== CACHE).map((n) => caches.delete(n)));
        await self.clients.claim();
    };
    event.waitUntil(clean());
});

self.addEventListener("fetch", (event) => {
    if (event.request.method !== "GET") return;
    const answer = async () => {
        const cache = await caches.open(CACHE);
        return (await cache.match(event.request, { ignoreSearch: true })) || fetch(event.request);
    };
    event.respondWith(answer());
});

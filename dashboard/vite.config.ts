// Builds the dashboard into dist/dashboard. Addresses in it are relative, so that it works under any path. Nothing is inlined: the
// content security policy allows files of its own origin and nothing else.
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  root: here("."),
  base: "./",
  build: {
    outDir: here("../dist/dashboard"),
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: ["chrome123", "firefox121", "safari17.5"],
    sourcemap: false,
    reportCompressedSize: false,
  },
});

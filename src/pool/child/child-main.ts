// What a child process runs when its supervisor was made by createSupervisor.
import { loadModule } from "./load-module.js";
import { type LoadedWork, runChild } from "./run-child.js";

runChild(() => loadModule<LoadedWork>(process.argv[2]!));

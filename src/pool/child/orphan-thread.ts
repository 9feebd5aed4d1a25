// Ends a child whose supervisor is gone while a handler blocks the main loop: there nothing else could. Waits longer than the main loop needs to
// end by itself, and less than a lease lasts.
import { systemClock } from "../../base/clock.js";

const LOOK_MS = 1_000;
const LOOKS_AS_ORPHAN = 4;

const supervisor = process.ppid;
let looks = 0;

const look = () => {
  looks = process.ppid === supervisor ? 0 : looks + 1;
  if (looks >= LOOKS_AS_ORPHAN) process.kill(process.pid, "SIGKILL");
  systemClock.after(LOOK_MS, look);
};
look();

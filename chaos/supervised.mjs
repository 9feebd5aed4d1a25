// The config of the supervisor: that of all, and that no job is poison.
import config from "./config.mjs";

export default { ...config, crashesMax: 1_000 };

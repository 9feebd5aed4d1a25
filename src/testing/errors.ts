// What goes wrong in a test and nowhere else.
import { FairmillError } from "../base/errors.js";

/** A drain of a test kit ran more jobs than it may, and more are due. */
export class DrainEndlessError extends FairmillError {
  override readonly name = "DrainEndlessError";
  constructor(ran: number) {
    super(
      "FAIRMILL_DRAIN_ENDLESS",
      `${ran} jobs ran and more are due. Do handlers enqueue jobs of their own kind without end? Otherwise raise \`jobsMax\` of \`drain\`.`,
    );
  }
}

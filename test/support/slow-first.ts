// The order of the test files: the longest first, so that none of them is left alone at the end while the other cores wait. vitest would go by what the
// last run took, which a fresh clone does not know, and then by the size of the file, which says nothing.
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { LONGEST } from "./longest.js";

export default class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) => {
      const found = LONGEST.findIndex((name) => moduleId.replaceAll("\\", "/").endsWith(`/test/${name}`));
      return found === -1 ? LONGEST.length : found;
    };
    // A stable sort: the others keep their order.
    return (await super.sort(files)).sort((one, other) => place(one) - place(other));
  }
}

// All refusals that an enqueue may meet: of the core and of the features. Clients and workers import this file, so the table is complete before
// the first statement is sent.
import { batchRefusals } from "../batches/batch-errors.js";
import { budgetRefusals } from "../budgets/budget-errors.js";
import { duplicateRefusals } from "../core/enqueue/duplicate-error.js";
import { creditRefusals } from "../credits/credit-errors.js";
import { addRefusals } from "../db/refusals.js";
import { limitRefusals } from "../limits/limit-errors.js";

addRefusals({ ...duplicateRefusals, ...limitRefusals, ...creditRefusals, ...budgetRefusals, ...batchRefusals });

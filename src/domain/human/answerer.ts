import * as z from 'zod'
import { isAutomatic } from './decided-by.ts'

/** Who answers, as said with an answer: anybody, but not in the name of the machine. */
export const Answerer = z
  .string()
  .min(1)
  .max(40)
  .refine(by => !isAutomatic(by) && by !== 'nobody', 'an answer is not by the machine')
  .default('human')

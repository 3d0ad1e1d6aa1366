import * as z from 'zod'

/** What a brain would answer, shown to the person who decides. To a permission: `allow` or `deny`. */
export const Suggestion = z.object({
  /** One for each part of a question: a label, labels where several may be chosen, or free text. */
  answer: z.array(z.union([z.string(), z.array(z.string())])),
  /** 0 to 1. */
  confidence: z.number(),
  /** The brain's name. */
  by: z.string(),
  reasoning: z.string().optional(),
})
export type Suggestion = z.infer<typeof Suggestion>
